"""Values that a codec refuses: the output is left out and noted, and the UE goes on."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.decision.env import Env
from functions.decision.ue_decision import UeDecision
from schemas.aggregates import ue_aggregate
from schemas.gmm.events import SqnResynchronised
from schemas.network import Network
from schemas.nitz import Nitz
from schemas.subscriber import Ambr, Dnn
from tests.functions.site import MESSAGE, Site
from tests.functions.world import N4_NETWORK

GOOD = Dnn("internet")


def notes(site: Site) -> list[str]:
    return [
        str(event.text)
        for step in site.world.steps[ue_aggregate(site.phone.supi)]
        for event in step.events
        if hasattr(event, "text")
    ]


def goes_on(site: Site) -> None:
    """Check that the UE has its session, becomes idle, is paged and comes back."""
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    assert len(site.world.pages) == 1
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    assert site.session().user_plane == "on"


@pytest.mark.parametrize(
    "bad",
    [
        replace(GOOD, arp_priority=99),
        replace(GOOD, five_qi=999),
        replace(GOOD, name="a" * 63 + "." + "b" * 63),
    ],
)
def test_a_session_that_the_gnb_cannot_be_asked_for(bad: Dnn) -> None:
    """A store may have subscriptions that no import would accept."""
    pools = tuple(
        replace(upf, pools=tuple(replace(pool, dnn=bad.name) for pool in upf.pools[:1]))
        for upf in N4_NETWORK.upfs
    )
    site = Site(dnns=(bad,), network=replace(N4_NETWORK, upfs=pools))
    site.ask(transport={"dnn": None})
    reject = site.hear()[-1]["payload-container"]
    assert (reject[MESSAGE], reject["5gsm-cause"]) == (
        "pdu-session-establishment-reject",
        "insufficient-resources",
    )
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    assert any("PDU session 1 at the gNB is left out" in text for text in notes(site))
    assert site.world.ue().connection is not None
    site.world.verify()


def test_one_of_two_sessions() -> None:
    site = Site()
    site.establish(1)
    site.establish(2)
    site.idle()
    name, ue = ue_aggregate(site.phone.supi), site.world.ue()
    sessions = (replace(ue.sessions[0], arp_priority=99), ue.sessions[1])
    site.world.states[name] = replace(ue, sessions=sessions)
    heard = site.service_request(**{"uplink-data-status": [1, 2]})
    assert heard[-1][MESSAGE] == "service-accept"
    site.phone.ngap("InitialContextSetupResponse")
    (setup,) = site.hear()
    items = setup["PDUSessionResourceSetupListSUReq"]
    assert [item["pDUSessionID"] for item in items] == [2]
    site.set_up("PDUSessionResourceSetup", 2)
    assert (site.session(1).user_plane, site.session(2).user_plane) == ("off", "on")


def test_a_session_that_the_upf_cannot_be_asked_for() -> None:
    site = Site(network=replace(N4_NETWORK, n4_address="core.example"))
    site.ask()
    assert site.hear()[-1]["payload-container"]["5gsm-cause"] == "insufficient-resources"
    assert site.world.ue().sessions == ()
    assert any(text.startswith("PDU session 1 at ") for text in notes(site))
    site.world.verify()


@pytest.mark.parametrize(
    "network", [replace(N4_NETWORK, nitz=Nitz("n" * 600, "", ()))], ids=["NITZ"]
)
def test_a_reconciler_of_the_ue(network: Network) -> None:
    site = Site(network=network)
    goes_on(site)
    left_out = [text for text in notes(site) if text.startswith("configuration update is left")]
    assert left_out
    steps = site.world.steps[ue_aggregate(site.phone.supi)]
    assert len(left_out) <= len(steps)  # at most one for each event of the UE
    before = len(steps)
    site.world.advance(30)
    assert len(steps) <= before + 1  # it starts no timer for another attempt
    site.world.verify()


@pytest.mark.parametrize(
    "rate", [1, 300_300_000, 66_001_000, 1_073_741_824, 4_000_000_000_000, 0, -1, 10**18]
)
def test_session_ambrs(rate: int) -> None:
    """TS 24.501 9.11.4.14: from the establishment on, and in a change while the session lives."""
    site = Site(dnns=(replace(GOOD, ambr=Ambr(rate, rate)),))
    site.ask()
    accept = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]
    told = accept["session-ambr"]["dl-kbps"] * 1000
    assert told >= min(max(rate, 0), 10**18)
    site.set_up()
    site.world.verify()
    other = Site()
    other.establish()
    other.idle()
    other.subscribe(Ambr(rate, rate))
    other.service_request(**{"uplink-data-status": [1]})
    other.set_up("InitialContextSetup")
    command = other.hear()[-1]["PDUSessionResourceModifyListModReq"][0]["nas"]
    assert command["session-ambr"]["ul-kbps"] * 1000 >= min(max(rate, 0), 10**18)
    other.upfs.serve()
    assert other.session().n4.ambr == Ambr(rate, rate)


@pytest.mark.parametrize("rate", [300_300_000, 66_001_000, 1_073_741_824])
def test_a_rate_is_rounded_up_by_less_than_a_unit(rate: int) -> None:
    site = Site(dnns=(replace(GOOD, ambr=Ambr(rate, rate)),))
    site.ask()
    accept = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]
    told = accept["session-ambr"]["ul-kbps"] * 1000
    assert rate <= told < rate * (1 + 1 / 4096)


def test_attempt_undoes_what_it_began() -> None:
    site = Site()
    ue = site.world.ue()
    trigger: Any = site.world.steps[ue_aggregate(site.phone.supi)][-1].trigger
    d = UeDecision(ue, Env(site.world.now, bytes(32), site.world.network), trigger)
    d.note("before")

    def part(message: dict[str, Any]) -> None:
        d.emit(SqnResynchronised(7))
        d.start_timer("T3513", 1)
        d.send_nas(message)

    status = {MESSAGE: "5gmm-status", "5gmm-cause": 111}
    assert not d.attempt("a status", part, {**status, "5gmm-cause": 4_000})
    assert [type(event).__name__ for event in d.events] == ["Noted", "Noted"]
    assert (d.ue, d.outputs) == (ue, [])
    assert d.attempt("a status", part, status)
    assert "T3513" in d.ue.timers
    assert len(d.outputs) == 2
    assert isinstance(wire.WireError("x", "y"), ValueError)
