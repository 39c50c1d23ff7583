"""The user plane security policy of a data network (TS 23.501 5.10.3, TS 33.501 6.6.1)."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.event import Noted
from schemas.network import DataNetwork
from tests.functions.handover_site import Mobile, ies_of, tunnel
from tests.functions.site import MESSAGE, TUNNEL, Site

POLICY = DataNetwork("internet", up_integrity="required", up_confidentiality="preferred")
INDICATION = "SecurityIndication"
RATES = "integrity-protection-maximum-data-rate"
FULL = {
    "maximumIntegrityProtectedDataRate-UL": "maximum-UE-rate",
    "iE-Extensions": [
        {"MaximumIntegrityProtectedDataRate-DL": "maximum-UE-rate", "criticality": "ignore"}
    ],
}


def guarded(site: Site, **policy: Any) -> None:
    network = DataNetwork("internet", **policy) if policy else POLICY
    site.world.network = replace(site.world.network, data_networks=(network,))
    site.world.networks["test"] = site.world.network


def transfer_of(message: dict[str, Any], name: str = "SUReq") -> dict[str, Any]:
    (item,) = message[f"PDUSessionResourceSetupList{name}"]
    transfer = item.get("pDUSessionResourceSetupRequestTransfer") or item["handoverRequestTransfer"]
    return ies_of({"ies": transfer["protocolIEs"]})


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({}, None),
        (
            {"up_integrity": "required", "up_confidentiality": "not-needed"},
            ("required", "not-needed", FULL),
        ),
        (
            {"up_integrity": "preferred", "up_confidentiality": "required"},
            ("preferred", "required", FULL),
        ),
        ({"up_confidentiality": "required"}, ("not-needed", "required", {})),
        ({"up_integrity": "not-needed"}, ("not-needed", "preferred", {})),
    ],
)
def test_the_gnb_is_told_the_policy(
    policy: dict[str, Any], told: tuple[str, str, dict[str, Any]] | None
) -> None:
    """9.3.1.27: the data rate is there if integrity protection is required or preferred."""
    site = Site()
    if policy:
        guarded(site, **policy)
    site.ask()
    transfer = transfer_of(site.hear()[-1])
    if told is None:
        assert INDICATION not in transfer
        return
    integrity, confidentiality, rates = told
    assert transfer[INDICATION] == {
        "integrityProtectionIndication": integrity,
        "confidentialityProtectionIndication": confidentiality,
        **rates,
    }
    names = list(transfer)
    assert names.index("PDUSessionType") < names.index(INDICATION)
    assert names.index(INDICATION) < names.index("QosFlowSetupRequestList")
    site.world.verify()


def test_the_data_rates_are_those_of_the_ue() -> None:
    """9.3.1.102, TS 24.501 9.11.4.7."""
    site = Site()
    guarded(site)
    asked: dict[str, Any] = {RATES: {"ul": "kbps64", "dl": "full-rate"}}
    site.ask(**asked)
    told = transfer_of(site.hear()[-1])[INDICATION]
    assert told["maximumIntegrityProtectedDataRate-UL"] == "bitrate64kbs"
    assert told["iE-Extensions"] == FULL["iE-Extensions"]


@pytest.mark.parametrize("rates", [("null", "full-rate"), ("full-rate", "null")])
def test_a_ue_without_integrity_protection(rates: tuple[str, str]) -> None:
    """TS 24.501 6.4.1.4, cause #82; a preference is dropped."""
    site = Site()
    guarded(site)
    asked: dict[str, Any] = {RATES: {"ul": rates[0], "dl": rates[1]}}
    site.ask(**asked)
    reject = site.hear()[-1]["payload-container"]
    assert reject[MESSAGE] == "pdu-session-establishment-reject"
    cause = "maximum-data-rate-per-ue-for-user-plane-integrity-protection-is-too-low"
    assert reject["5gsm-cause"] == cause
    assert site.world.ue().sessions == ()
    guarded(site, up_integrity="preferred")
    site.ask(pti=2, **asked)
    told = transfer_of(site.hear()[-1])[INDICATION]
    assert told["integrityProtectionIndication"] == "not-needed"


def refuse(site: Site, cause: str, message: str = "PDUSessionResourceSetup") -> None:
    """Respond that the gNB cannot set up the session."""
    transfer = {"cause": {"radioNetwork": cause}}
    name = "pDUSessionResourceSetupUnsuccessfulTransfer"
    suffix = "SURes" if message == "PDUSessionResourceSetup" else "CxtRes"
    items = [{"pDUSessionID": 1, name: transfer}]
    site.phone.ngap(f"{message}Response", **{f"PDUSessionResourceFailedToSetupList{suffix}": items})
    site.upfs.serve()


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("up-integrity-protection-not-possible", "request-rejected-unspecified"),
        ("up-confidentiality-protection-not-possible", "request-rejected-unspecified"),
        (
            "ue-max-integrity-protected-data-rate-reason",
            "maximum-data-rate-per-ue-for-user-plane-integrity-protection-is-too-low",
        ),
        ("radio-resources-not-available", "insufficient-resources"),
    ],
)
def test_a_gnb_that_cannot_enforce_it(cause: str, told: str) -> None:
    """TS 23.501 5.10.3: the session is rejected."""
    site = Site()
    guarded(site)
    site.ask()
    site.hear()
    refuse(site, cause)
    reject = site.hear()[-1]["payload-container"]
    assert reject[MESSAGE] == "pdu-session-establishment-reject"
    assert reject["5gsm-cause"] == told
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    site.world.verify()


def test_another_gnb_that_cannot_enforce_it_releases_the_session() -> None:
    site = Site()
    guarded(site)
    site.establish()
    site.idle()
    site.service_request("data", **{"uplink-data-status": [1]})
    refuse(site, "up-integrity-protection-not-possible", "InitialContextSetup")
    command = site.hear()[-1]["payload-container"]
    assert command[MESSAGE] == "pdu-session-release-command"
    assert command["5gsm-cause"] == "request-rejected-unspecified"
    site.world.verify()


def test_a_result_that_contradicts_the_policy() -> None:
    """The gNB says itself that it does not protect the integrity (9.3.1.59)."""
    site = Site()
    guarded(site)
    site.ask()
    site.hear()
    tunnel_ = {"gTPTunnel": {**TUNNEL["gTPTunnel"], "gTP-TEID": 7}}
    flows = [{"qosFlowIdentifier": 1}]
    result = {
        "integrityProtectionResult": "not-performed",
        "confidentialityProtectionResult": "performed",
    }
    transfer = {
        "dLQosFlowPerTNLInformation": {
            "uPTransportLayerInformation": tunnel_,
            "associatedQosFlowList": flows,
        },
        "securityResult": result,
    }
    item = {"pDUSessionID": 1, "pDUSessionResourceSetupResponseTransfer": transfer}
    site.phone.ngap("PDUSessionResourceSetupResponse", PDUSessionResourceSetupListSURes=[item])
    site.upfs.serve()
    heard = site.hear()
    assert "PDUSessionResourceReleaseCommand" in [m.get("ngap", m[MESSAGE]) for m in heard]
    rejects = [m["payload-container"][MESSAGE] for m in heard if "payload-container" in m]
    assert rejects == ["pdu-session-establishment-reject"]
    assert site.world.ue().sessions == ()
    site.world.verify()


# Handovers


def secured() -> Mobile:
    """Return a UE with a session of a data network with a policy."""
    site = Mobile(sessions=0)
    guarded(site)
    site.address = [site.establish()]
    site.world.downlink.clear()
    return site


@pytest.mark.parametrize("direct", [False, True])
def test_the_target_of_a_handover_is_told(*, direct: bool) -> None:
    """The transfer has its IEs in the order of 9.3.4.1 (10.3.6)."""
    site = secured()
    path = "direct-path-available" if direct else None
    site.handover_required(2, DirectForwardingPathAvailability=path)
    transfer = transfer_of(site.one("a2", "HandoverRequest"), "HOReq")
    assert transfer[INDICATION]["integrityProtectionIndication"] == "required"
    impossible = [] if direct else ["DataForwardingNotPossible"]
    available = ["DirectForwardingPathAvailability"] if direct else []
    assert list(transfer) == [
        "PDUSessionAggregateMaximumBitRate",
        "UL-NGU-UP-TNLInformation",
        *impossible,
        "PDUSessionType",
        INDICATION,
        "QosFlowSetupRequestList",
        *available,
    ]


@pytest.mark.parametrize(("told", "wins"), [("required", False), ("not-needed", True)])
def test_a_path_switch_with_another_policy(told: str, *, wins: bool) -> None:
    """TS 33.501 6.6.1: the policy of the core is sent, and the difference is noted."""
    site = secured()
    policy = {
        "integrityProtectionIndication": told,
        "confidentialityProtectionIndication": "preferred",
    }
    if told == "required":
        policy["maximumIntegrityProtectedDataRate-UL"] = "maximum-UE-rate"
    result = {
        "integrityProtectionResult": "performed",
        "confidentialityProtectionResult": "performed",
    }
    transfer = {
        "dL-NGU-UP-TNLInformation": tunnel(2001, 2),
        "userPlaneSecurityInformation": {"securityResult": result, "securityIndication": policy},
        "qosFlowAcceptedList": [{"qosFlowIdentifier": 1}],
    }
    item = {"pDUSessionID": 1, "pathSwitchRequestTransfer": transfer}
    site.path_switch_request(2, 21, PDUSessionResourceToBeSwitchedDLList=[item])
    notes = [e.text for e in site.world.order[-1][1].events if isinstance(e, Noted)]
    site.upfs.serve()
    (switched,) = site.one("a2", "PathSwitchRequestAcknowledge")["PDUSessionResourceSwitchedList"]
    answer = switched["pathSwitchRequestAcknowledgeTransfer"]
    own = answer.get("securityIndication", {}).get("integrityProtectionIndication")
    assert own == ("required" if wins else None)
    assert any("security policy" in text for text in notes) == wins
    site.world.verify()


def test_a_target_that_cannot_enforce_it_loses_the_session() -> None:
    """TS 23.502 4.9.1.2.2: the session is released."""
    site = Mobile(sessions=1)
    guarded(site)
    site.establish(2)
    site.world.downlink.clear()
    cause = {"cause": {"radioNetwork": "up-integrity-protection-not-possible"}}
    failed = [{"pDUSessionID": 2, "pathSwitchRequestSetupFailedTransfer": cause}]
    site.path_switch_request(2, 21, PDUSessionResourceFailedToSetupListPSReq=failed)
    site.upfs.serve()
    assert [(one.id, one.stage) for one in site.world.ue().sessions] == [
        (1, "active"),
        (2, "releasing"),
    ]
    assert [message for _, message, _ in site.heard()] == [
        "DownlinkNASTransport",
        "PathSwitchRequestAcknowledge",
    ]


def test_a_reserved_data_rate_is_64_kbps() -> None:
    """TS 24.501 9.11.4.7."""
    site = Site()
    guarded(site)
    asked: dict[str, Any] = {RATES: {"octets": "0203"}}
    site.ask(**asked)
    told = transfer_of(site.hear()[-1])[INDICATION]
    assert told["maximumIntegrityProtectedDataRate-UL"] == "bitrate64kbs"
