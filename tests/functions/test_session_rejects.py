"""Why a PDU session is rejected, its back-off timer, and where its DNN is looked for."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.aggregates import ue_aggregate
from schemas.gprs_timer import gprs_timer_3
from schemas.subscriber import Dnn, PduSessionType, SubscribedSlice
from tests.functions.site import MESSAGE, Site
from tests.functions.world import N4_NETWORK, OTHER_SLICE, SLICE, UPF

REJECT = "pdu-session-establishment-reject"
BOTH = (SLICE, OTHER_SLICE)


def rejected(site: Site) -> dict[str, Any]:
    """Return the PDU SESSION ESTABLISHMENT REJECT that the UE got last."""
    container: dict[str, Any] = site.hear()[-1]["payload-container"]
    assert container[MESSAGE] == REJECT
    return container


def reasons(site: Site) -> str:
    """Return the notes and the reasons of released sessions in the log of the UE."""
    texts = [
        str(getattr(event, "text", getattr(event, "reason", "")))
        for step in site.world.steps[ue_aggregate(site.phone.supi)]
        for event in step.events
    ]
    return "\n".join(texts)


# Why


def test_a_upf_that_does_not_answer_is_named() -> None:
    site = Site()
    site.upfs.silent = True
    site.ask()
    upf, *_ = asked = site.world.pfcp.popleft()
    site.world.unanswered(*asked)
    assert rejected(site)["5gsm-cause"] == "insufficient-resources"
    assert f"UPF {upf} does not answer" in reasons(site)


def test_a_upf_that_refuses_is_named() -> None:
    site = Site()
    site.upfs.silent = site.upfs.full = True
    site.ask()
    upf, *_ = site.world.pfcp[0]
    site.upfs.silent = False
    site.upfs.serve()
    assert rejected(site)["5gsm-cause"] == "insufficient-resources"
    assert f"UPF {upf} refuses: No resources available" in reasons(site)


def test_upfs_that_cannot_be_used_are_named() -> None:
    site = Site()
    site.world.upfs = {}
    site.ask()
    assert rejected(site)["5gsm-cause"] == "insufficient-resources"
    assert f"no UPF of internet can be used: {UPF}" in reasons(site)


def test_a_dnn_that_no_upf_serves_is_named() -> None:
    site = Site(dnns=(Dnn("iot"),))
    site.ask(transport={"dnn": "iot"})
    assert rejected(site)["5gsm-cause"] == "missing-or-unknown-dnn-in-a-slice"
    assert f"no UPF is configured for iot in slice {SLICE}" in reasons(site)


# T3396


def with_t3396(seconds: int) -> Site:
    timers = replace(N4_NETWORK.timers, t3396=seconds)
    site = Site(network=replace(N4_NETWORK, timers=timers))
    site.world.upfs = {}
    return site


def test_insufficient_resources_have_a_back_off_timer() -> None:
    """6.4.1.4.2; and UEs that are rejected together do not return together."""
    site = with_t3396(20)
    values: set[int] = set()
    for psi in range(1, 13):
        site.ask(psi, psi)
        values.add(rejected(site)["back-off-timer-value"])
    assert min(values) >= 20
    assert max(values) <= gprs_timer_3(40)
    assert len(values) > 3


def test_a_gnb_without_resources_too() -> None:
    site = Site()
    site.ask()
    site.hear()
    site.set_up_fails("PDUSessionResourceSetup")
    assert 8 <= rejected(site)["back-off-timer-value"] <= 16
    assert "the gNB has no resources: radioNetwork: radio-resources-not-available" in reasons(site)


@pytest.mark.parametrize(("seconds", "request_"), [(0, {}), (20, {"pdu-session-type": "ethernet"})])
def test_no_back_off_timer(seconds: int, request_: dict[str, Any]) -> None:
    site = with_t3396(seconds)
    site.ask(**request_)
    assert "back-off-timer-value" not in rejected(site)


@pytest.mark.parametrize("seconds", [0, 1, 62, 63, 931, 3_599, 7_200, 10**7])
def test_each_value_of_a_gprs_timer_3_can_be_encoded(seconds: int) -> None:
    value = gprs_timer_3(seconds)
    assert value >= min(seconds, 31 * 36_000)
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 1, "5gsm-cause": 26}
    octets = wire.nas_encode({MESSAGE: REJECT, **head, "back-off-timer-value": value})
    assert wire.nas_decode(octets)["back-off-timer-value"] == value


# The DNN without an S-NSSAI


def two_slices(default: tuple[str, ...], other: tuple[str, ...]) -> Site:
    types = (PduSessionType.IPV4,)
    slices = (
        SubscribedSlice(SLICE, True, tuple(Dnn(name, types) for name in default)),
        SubscribedSlice(OTHER_SLICE, False, tuple(Dnn(name, types) for name in other)),
    )
    requested = [{"sst": one.sst, **({"sd": one.sd} if one.sd else {})} for one in BOTH]
    return Site(slices=slices, requested=requested, tac=2)


@pytest.mark.parametrize(
    ("default", "other", "asked", "chosen"),
    [
        (("internet",), ("ims",), "ims", OTHER_SLICE),
        (("internet",), ("ims",), "IMS", OTHER_SLICE),
        (("internet",), ("ims",), "internet", SLICE),
        (("internet", "ims"), ("ims",), "ims", SLICE),
        (("internet",), ("ims",), None, SLICE),
        ((), ("ims",), None, OTHER_SLICE),
    ],
)
def test_a_dnn_is_looked_for_in_all_allowed_slices(
    default: tuple[str, ...], other: tuple[str, ...], asked: str | None, chosen: Any
) -> None:
    site = two_slices(default, other)
    assert set(site.world.ue().allowed_nssai) == set(BOTH)
    site.ask(transport={"dnn": asked} if asked else {"dnn": None})
    session = site.session()
    assert session.nssai == chosen
    assert session.dnn in (*default, *other)
    site.world.verify()


def test_a_dnn_of_the_subscription_in_another_case_than_that_of_the_upf() -> None:
    """TS 23.003 9.1: it is the same data network, so no address is given twice."""
    one_upf = replace(N4_NETWORK, upfs=N4_NETWORK.upfs[:1])
    site = Site(dnns=(Dnn("Internet", (PduSessionType.IPV4,)),), network=one_upf)
    site.ask(1, transport={"dnn": "INTERNET"})
    site.set_up("PDUSessionResourceSetup", 1)
    site.ask(2, transport={"dnn": "INTERNET"})
    first, second = (session.address.ipv4 for session in site.world.ue().sessions)
    assert first != second
    site.world.verify()


@pytest.mark.parametrize(
    "transport",
    [{"dnn": "nowhere"}, {"dnn": "ims", "s-nssai": {"sst": SLICE.sst, "sd": SLICE.sd}}],
)
def test_a_dnn_that_no_allowed_slice_has(transport: dict[str, Any]) -> None:
    """An S-NSSAI of the UE is kept to."""
    site = two_slices(("internet",), ("ims",))
    site.ask(transport=transport)
    heard = site.hear()[-1]
    assert heard["5gmm-cause"] == "dnn-not-supported-or-not-subscribed-in-the-slice"
    assert site.world.ue().sessions == ()


def test_a_message_that_is_not_forwarded_comes_back_as_it_was() -> None:
    """TS 24.501 5.4.5.3.1 h: with its IEs in the order of the UE, and those that it repeats."""
    site = Site()
    octets = bytes.fromhex("2e0501c1ffff7b000480000c009128015b91590102")
    tree = {
        MESSAGE: "ul-nas-transport",
        "payload-container-type": "n1-sm-information",
        "payload-container": {"octets": octets.hex()},
        "pdu-session-id": 5,
        "request-type": "initial-request",
        "dnn": "nowhere",
    }
    site.phone.say(tree)
    pdu = site.world.downlink[-1][2]
    nas = next(ie["NAS-PDU"] for ie in wire.ngap_decode(pdu)["ies"] if "NAS-PDU" in ie)
    assert site.phone.security is not None
    plain = site.phone.security.unprotect(bytes.fromhex(nas), downlink=True).plain
    assert octets in plain
    assert wire.nas_decode(plain)["5gmm-cause"].startswith("dnn-not-supported")
