"""Handover by N2 (TS 38.413 8.4.1 to 8.4.7, TS 23.502 4.9.1.3)."""

from typing import Any

import pytest

import wire
from functions.decision.connection import MAX_RELEASING
from tests.functions.gnb import reset, setup_request
from tests.functions.handover_site import (
    RADIO,
    TO_SOURCE,
    TO_TARGET,
    Mobile,
    gnb_of,
    next_hop,
    tunnel,
)
from tests.functions.ngap_messages import OF_UE
from tests.functions.world import subscriber

REQUEST, COMMAND, PREPARATION = "HandoverRequest", "HandoverCommand", "HandoverPreparationFailure"
RELEASE, MODIFICATION = "UEContextReleaseCommand", "UEContextModificationRequest"
FAILED = {"radioNetwork": "ho-failure-in-target-5GC-ngran-node-or-target-system"}
STATUS = {
    "dRBsSubjectToStatusTransferList": [
        {
            "dRB-ID": 1,
            "dRBStatusUL": {
                "dRBStatusUL18": {"uL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 2}}
            },
            "dRBStatusDL": {
                "dRBStatusDL18": {"dL-COUNTValue": {"pDCP-SN18": 3, "hFN-PDCP-SN18": 4}}
            },
        }
    ]
}


def released_ids(ies: dict[str, Any]) -> tuple[int, int | None]:
    """Return the AMF- and RAN-UE-NGAP-ID of a UE CONTEXT RELEASE COMMAND."""
    ids = ies["UE-NGAP-IDs"]
    pair = ids.get("uE-NGAP-ID-pair", ids)
    return pair["aMF-UE-NGAP-ID"], pair.get("rAN-UE-NGAP-ID")


def stays(site: Mobile) -> None:
    """Check that the UE stays at the source, and that another handover is possible."""
    ue = site.world.ue()
    assert ue.connection is not None
    assert (ue.connection.association, ue.handover, ue.target) == ("a1", None, None)
    assert site.downlink_at_upf(site.address[0])[1] == "10.4.0.1"
    for stale in ue.stale:
        site.say_as(
            int(stale.association[1:]),
            "UEContextReleaseComplete",
            {"AMF-UE-NGAP-ID": stale.amf_ue_ngap_id},
            {"RAN-UE-NGAP-ID": 21},
        )
    assert site.world.ue().stale == ()
    site.heard()
    site.command(3)


def test_whole() -> None:
    site = Mobile()
    source = site.phone.amf_id
    site.handover_required(2, DirectForwardingPathAvailability="direct-path-available")
    asked = site.one("a2", REQUEST)
    amf_id = asked["AMF-UE-NGAP-ID"]
    assert amf_id != source
    assert asked["HandoverType"] == "intra5gs"
    assert asked["Cause"] == RADIO
    assert asked["SourceToTarget-TransparentContainer"] == TO_TARGET
    assert asked["GUAMI"]["aMFSetID"] == 1
    assert asked["UEAggregateMaximumBitRate"]["uEAggregateMaximumBitRateDL"] == 1_000_000_000
    assert asked["UESecurityCapabilities"]["nRencryptionAlgorithms"] == "c000"
    assert asked["AllowedNSSAI"] == [{"s-NSSAI": {"sST": 1, "sD": "010203"}}]
    assert asked["MaskedIMEISV"] == "4370816125ffff51"
    nh = next_hop(site.kamf, site.phone.security_key, 2)
    assert asked["SecurityContext"] == {"nextHopChainingCount": 2, "nextHopNH": nh.hex()}
    (item,) = asked["PDUSessionResourceSetupListHOReq"]
    transfer = {
        k: v for ie in item["handoverRequestTransfer"]["protocolIEs"] for k, v in ie.items()
    }
    assert transfer["DirectForwardingPathAvailability"] == "direct-path-available"
    uplink = site.session().uplink
    told = transfer["UL-NGU-UP-TNLInformation"]["gTPTunnel"]
    assert (told["gTP-TEID"], told["transportLayerAddress"]) == (uplink.teid, uplink.address)

    site.acknowledge(amf_id, forwarding=True)
    command = site.one("a1", COMMAND)
    assert (command["AMF-UE-NGAP-ID"], command["RAN-UE-NGAP-ID"]) == (source, site.phone.ran_id)
    assert command["TargetToSource-TransparentContainer"] == TO_SOURCE
    (item,) = command["PDUSessionResourceHandoverList"]
    assert item["handoverCommandTransfer"] == {
        "dLForwardingUP-TNLInformation": tunnel(9001, 2),
        "qosFlowToBeForwardedList": [{"qosFlowIdentifier": 1}],
    }
    assert "PDUSessionResourceToReleaseListHOCmd" not in command

    site.phone.ngap("UplinkRANStatusTransfer", **{"RANStatusTransfer-TransparentContainer": STATUS})
    status = site.one("a2", "DownlinkRANStatusTransfer")
    assert status["RANStatusTransfer-TransparentContainer"] == STATUS
    assert (status["AMF-UE-NGAP-ID"], status["RAN-UE-NGAP-ID"]) == (amf_id, 21)
    assert not site.world.pfcp

    site.notify(amf_id)
    release = site.one("a1", RELEASE)
    assert release["Cause"] == {"radioNetwork": "successful-handover"}
    assert released_ids(release) == (source, site.phone.ran_id)
    assert "SNDEM" in str(wire.pfcp_decode(site.world.pfcp[0][3]))
    site.upfs.serve()
    assert site.downlink_at_upf(site.address[0]) == (2001, "10.4.0.2")
    site.phone.ngap("UEContextReleaseComplete")
    site.arrive(2, 21, amf_id)
    ue = site.world.ue()
    assert ue.connection is not None
    assert (ue.connection.association, ue.connection.ran_ue_ngap_id) == ("a2", 21)
    assert (ue.connection.tai.tac, ue.connection.cell, ue.connection.sequence) == (2, 32, 1)
    assert (ue.stale, ue.handover, ue.target) == ((), None, None)
    assert not {"handover", "ng-release"} & ue.timers.keys()
    site.register_again()
    site.idle()
    assert site.world.ue().connection is None
    site.world.verify()


def test_chain_goes_on_after_handovers_that_fail_and_by_xn() -> None:
    site = Mobile()
    kgnb = site.phone.security_key
    for ncc in (2, 3):
        site.handover_required(2)
        asked = site.one("a2", REQUEST)
        nh = next_hop(site.kamf, kgnb, ncc)
        assert asked["SecurityContext"] == {"nextHopChainingCount": ncc, "nextHopNH": nh.hex()}
        site.say_as(
            2, "HandoverFailure", {"AMF-UE-NGAP-ID": asked["AMF-UE-NGAP-ID"]}, {"Cause": RADIO}
        )
        site.one("a1", PREPARATION)
    amf_id = site.command(2)
    site.notify(amf_id)
    site.heard()
    site.arrive(2, 21, amf_id)
    site.path_switch_request(3, 31)
    site.upfs.serve()
    ack = site.one("a3", "PathSwitchRequestAcknowledge")
    nh = next_hop(site.kamf, kgnb, 5)
    assert ack["SecurityContext"] == {"nextHopChainingCount": 5, "nextHopNH": nh.hex()}


TRIGGERED = {"radioNetwork": "ng-intra-system-handover-triggered"}


def take_another_key(site: Mobile) -> str:
    """Change the UE's K_AMF, and return the K_gNB that the gNB is sent."""
    update = "mobility-registration-updating"
    site.phone.say(site.phone.request(update, ngksi="no-key"))
    site.phone.authenticate(2)
    site.phone.hear()
    complete = {"message-type": "security-mode-complete"}
    site.phone.say({**complete, "nas-message-container": site.phone.request(update)}, header=4)
    heard = site.heard()
    site.phone.say({"message-type": "registration-complete"})
    return str(heard[-1][2]["SecurityKey"])


@pytest.mark.parametrize("how", ["failure", "cancel", "timer"])
def test_a_new_key_stays_pending_at_the_source_after_a_failed_handover(how: str) -> None:
    site = Mobile()
    key = take_another_key(site)
    site.handover_required(2)
    asked = site.one("a2", REQUEST)
    assert asked["NewSecurityContextInd"] == "true"
    assert asked["SecurityContext"] == {"nextHopChainingCount": 0, "nextHopNH": key}
    site.phone.ngap("UEContextModificationFailure", Cause=TRIGGERED)
    assert site.heard() == []
    if how == "failure":
        ids = {"AMF-UE-NGAP-ID": asked["AMF-UE-NGAP-ID"]}
        site.say_as(2, "HandoverFailure", ids, {"Cause": RADIO})
    elif how == "cancel":
        site.phone.ngap("HandoverCancel", Cause=RADIO)
    else:
        site.world.advance(5)
    (again,) = [ies for _, message, ies in site.heard() if message == MODIFICATION]
    assert again["SecurityKey"] == key
    site.phone.ngap("UEContextModificationResponse")
    site.handover_required(3)
    asked = site.one("a3", REQUEST)
    nh = next_hop(site.kamf, bytes.fromhex(key), 2)
    assert "NewSecurityContextInd" not in asked
    assert asked["SecurityContext"] == {"nextHopChainingCount": 2, "nextHopNH": nh.hex()}


def test_a_new_key_that_the_source_has_taken_is_not_pending_after_a_failed_handover() -> None:
    site = Mobile()
    key = take_another_key(site)
    site.handover_required(2)
    asked = site.one("a2", REQUEST)
    site.phone.ngap("UEContextModificationResponse")
    ids = {"AMF-UE-NGAP-ID": asked["AMF-UE-NGAP-ID"]}
    site.say_as(2, "HandoverFailure", ids, {"Cause": RADIO})
    (failure, (_, _, changed)) = site.heard()
    assert failure[:2] == ("a1", PREPARATION)
    assert "SecurityKey" not in changed, "only the identity index of the new 5G-GUTI"
    site.handover_required(3)
    told = site.one("a3", REQUEST)["SecurityContext"]
    nh = next_hop(site.kamf, bytes.fromhex(key), 2)
    assert told == {"nextHopChainingCount": 2, "nextHopNH": nh.hex()}


def test_another_key_that_the_gnb_does_not_take_because_of_a_handover_goes_with_it() -> None:
    site = Mobile()
    key = take_another_key(site)
    site.phone.ngap("UEContextModificationFailure", Cause=TRIGGERED)
    assert site.heard() == []
    assert site.world.ue().handover is not None
    site.handover_required(2)
    asked = site.one("a2", REQUEST)
    assert (asked["NewSecurityContextInd"], asked["SecurityContext"]["nextHopNH"]) == ("true", key)
    amf_id = asked["AMF-UE-NGAP-ID"]
    site.acknowledge(amf_id)
    site.notify(amf_id)
    assert MODIFICATION not in [message for _, message, _ in site.heard()]


def test_another_key_that_the_gnb_does_not_take_for_a_handover_is_told_again_without_one() -> None:
    site = Mobile()
    key = take_another_key(site)
    site.phone.ngap("UEContextModificationFailure", Cause=TRIGGERED)
    site.world.advance(10)
    assert site.one("a1", MODIFICATION)["SecurityKey"] == key


def test_without_direct_forwarding_nothing_is_forwarded() -> None:
    site = Mobile()
    site.handover_required(2)
    (item,) = site.one("a2", REQUEST)["PDUSessionResourceSetupListHOReq"]
    transfer = item["handoverRequestTransfer"]["protocolIEs"]
    assert {"DataForwardingNotPossible": "data-forwarding-not-possible"} in transfer


def test_restrictions_go_along() -> None:
    site = Mobile()
    one = site.world.subscribers[site.phone.supi]
    site.world.subscribers[site.phone.supi] = subscriber(slices=one.slices, forbidden_tacs=(77,))
    site.handover_required(2)
    restrictions = site.one("a2", REQUEST)["MobilityRestrictionList"]
    assert restrictions["forbiddenAreaInformation"][0]["forbiddenTACs"] == [77]


def test_partial_admission() -> None:
    site = Mobile(sessions=3)
    site.handover_required(2, sessions=(1, 2, 9))
    asked = site.one("a2", REQUEST)
    amf_id = asked["AMF-UE-NGAP-ID"]
    assert [i["pDUSessionID"] for i in asked["PDUSessionResourceSetupListHOReq"]] == [1, 2]
    site.acknowledge(amf_id, sessions=(1,), failed=(2,))
    command = site.one("a1", COMMAND)
    name = "handoverPreparationUnsuccessfulTransfer"
    left = {
        i["pDUSessionID"]: i[name]["cause"]["radioNetwork"]
        for i in command["PDUSessionResourceToReleaseListHOCmd"]
    }
    assert left == {2: "radio-resources-not-available", 9: "unknown-PDU-session-ID"}
    site.notify(amf_id)
    site.upfs.serve()
    assert [site.session(psi).user_plane for psi in (1, 2, 3)] == ["on", "off", "off"]
    assert [site.session(psi).n4.downlink is None for psi in (1, 2, 3)] == [False, True, True]


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"number": 9}, "unknown-targetID"),
        ({"number": 2, "tac": 1}, "unknown-targetID"),
        ({"number": 2, "tac": 77}, "ho-target-not-allowed"),
        ({"number": 2, "sessions": (7,)}, "unknown-PDU-session-ID"),
        ({"number": 2, "HandoverType": "fivegs-to-eps"}, "unknown-targetID"),
    ],
)
def test_refused(given: dict[str, Any], cause: str) -> None:
    site = Mobile()
    site.handover_required(**given)
    failure = site.one("a1", PREPARATION)
    assert failure["Cause"] == {"radioNetwork": cause}
    stays(site)


def test_refused_in_a_forbidden_area() -> None:
    site = Mobile()
    one = site.world.subscribers[site.phone.supi]
    site.world.subscribers[site.phone.supi] = subscriber(slices=one.slices, forbidden_tacs=(2,))
    site.handover_required(2)
    ((to, message, failure), (_, update, more)) = site.heard()
    assert (to, message) == ("a1", PREPARATION)
    assert failure["Cause"] == {"radioNetwork": "ho-target-not-allowed"}
    assert update == "DownlinkNASTransport", "the source is told the new restrictions"
    forbidden = more["MobilityRestrictionList"]["forbiddenAreaInformation"]
    assert forbidden == [{"pLMNIdentity": "001-01", "forbiddenTACs": [2]}]


def test_no_target_that_is_no_gnb() -> None:
    site = Mobile()
    bits = {"macroNgENB-ID": "000020"}
    node = {
        "globalRANNodeID": {"globalNgENB-ID": {"pLMNIdentity": "001-01", "ngENB-ID": bits}},
        "selectedTAI": {"pLMNIdentity": "001-01", "tAC": 2},
    }
    site.handover_required(2, TargetID={"targetRANNodeID": node})
    assert site.one("a1", PREPARATION)["Cause"] == {"radioNetwork": "unknown-targetID"}


def test_gnb_ids_of_any_length_are_found() -> None:
    site = Mobile()
    bits = {"gNB-ID": {"value": "000008", "length": 22}}
    tree = {
        "message": "NGSetupRequest",
        "ies": [
            {"GlobalRANNodeID": {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": bits}}},
            {"SupportedTAList": setup_area()},
            {"DefaultPagingDRX": "v128"},
        ],
    }
    name = wire.ngap_peek(wire.ngap_encode(tree)).global_ran_node_id
    assert name is not None
    site.world.uplink(tree, name, "a22")
    site.heard()
    node = {
        "globalRANNodeID": {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": bits}},
        "selectedTAI": {"pLMNIdentity": "001-01", "tAC": 2},
    }
    site.handover_required(2, TargetID={"targetRANNodeID": node})
    site.one("a22", REQUEST)


def setup_area() -> list[dict[str, Any]]:
    slices = [{"s-NSSAI": {"sST": 1, "sD": "010203"}}]
    broadcast = [{"pLMNIdentity": "001-01", "tAISliceSupportList": slices}]
    return [{"tAC": 2, "broadcastPLMNList": broadcast}]


def test_target_fails() -> None:
    site = Mobile()
    amf_id = site.prepare()
    cause = {"radioNetwork": "no-radio-resources-available-in-target-cell"}
    container = {"TargettoSource-Failure-TransparentContainer": "0102"}
    site.say_as(2, "HandoverFailure", {"AMF-UE-NGAP-ID": amf_id}, {"Cause": cause}, container)
    failure = site.one("a1", PREPARATION)
    assert failure["Cause"] == cause
    assert failure["TargettoSource-Failure-TransparentContainer"] == "0102"
    assert site.world.ue().stale == ()
    stays(site)


def test_target_admits_nothing_that_was_asked() -> None:
    site = Mobile()
    amf_id = site.prepare()
    site.acknowledge(amf_id, sessions=(5,))
    failure, release = site.heard()
    assert failure[:2] == ("a1", PREPARATION)
    assert release[:2] == ("a2", RELEASE)
    assert released_ids(release[2]) == (amf_id, 21)
    stays(site)


def test_target_does_not_answer() -> None:
    """It is released by its AMF-UE-NGAP-ID alone; a late response changes nothing."""
    site = Mobile()
    amf_id = site.prepare()
    site.world.advance(5)
    failure, release = site.heard()
    assert failure[:2] == ("a1", PREPARATION)
    assert failure[2]["Cause"] == FAILED
    assert release[:2] == ("a2", RELEASE)
    assert released_ids(release[2]) == (amf_id, None)
    site.acknowledge(amf_id)
    assert site.heard() == []
    stays(site)


def test_ue_does_not_come() -> None:
    site = Mobile()
    amf_id = site.command()
    site.world.advance(10)
    release = site.one("a2", RELEASE)
    assert release["Cause"] == {"radioNetwork": "tngrelocoverall-expiry"}
    site.notify(amf_id)
    assert site.heard() == []
    stays(site)


def delayed(site: Mobile, seconds: float) -> None:
    """Let time pass in which the core decides nothing."""
    site.world.now += int(seconds * 1000)
    site.world.advance(0)


def test_target_that_answers_after_a_stall_of_the_core() -> None:
    """What it has answered meanwhile may be decided after the timer."""
    site = Mobile()
    amf_id = site.prepare()
    delayed(site, 9)
    assert site.heard() == []
    site.acknowledge(amf_id)
    site.one("a1", "HandoverCommand")


def test_ue_that_comes_after_a_stall_of_the_core() -> None:
    site = Mobile()
    amf_id = site.command()
    delayed(site, 11)
    assert site.heard() == []
    site.notify(amf_id)
    assert site.world.ue().handover is None
    assert site.one("a1", RELEASE)["Cause"] == {"radioNetwork": "successful-handover"}


def test_ue_has_its_time_again_if_the_core_was_slow_to_tell_the_target() -> None:
    site = Mobile()
    amf_id = site.command()
    site.world.advance(9.5)
    site.phone.ngap("UplinkRANStatusTransfer", **{"RANStatusTransfer-TransparentContainer": STATUS})
    site.one("a2", "DownlinkRANStatusTransfer")
    site.world.advance(9.5)
    assert site.heard() == []
    site.notify(amf_id)
    assert site.world.ue().handover is None


def test_a_source_cannot_prolong_a_handover_for_ever() -> None:
    site = Mobile()
    site.command()
    for _ in range(10):
        site.world.advance(6)
        status = {"RANStatusTransfer-TransparentContainer": STATUS}
        site.phone.ngap("UplinkRANStatusTransfer", **status)
    assert site.world.ue().handover is None


def test_handover_ends_although_the_core_is_slow() -> None:
    site = Mobile()
    site.command()
    for _ in range(3):
        delayed(site, 11)
        assert site.heard() == []
    delayed(site, 11)
    assert site.one("a2", RELEASE)["Cause"] == {"radioNetwork": "tngrelocoverall-expiry"}
    stays(site)


def test_target_refuses_the_request_as_such() -> None:
    site = Mobile()
    amf_id = site.prepare()
    cause = {"protocol": "abstract-syntax-error-reject"}
    site.say_as(2, "ErrorIndication", {"AMF-UE-NGAP-ID": amf_id}, {"Cause": cause})
    site.one("a1", PREPARATION)
    stays(site)


@pytest.mark.parametrize("stage", ["none", "preparing", "executing"])
def test_cancelled(stage: str) -> None:
    site = Mobile()
    if stage != "none":
        amf_id = site.prepare()
        if stage == "executing":
            site.acknowledge(amf_id)
    site.heard()
    site.phone.ngap("HandoverCancel", Cause={"radioNetwork": "tngrelocprep-expiry"})
    found = site.heard()
    assert found[0][:2] == ("a1", "HandoverCancelAcknowledge")
    wanted = [] if stage == "none" else [("a2", RELEASE)]
    assert [(a, m) for a, m, _ in found[1:]] == wanted
    stays(site)


def test_acknowledge_that_comes_after_the_cancel() -> None:
    site = Mobile()
    amf_id = site.prepare()
    site.phone.ngap("HandoverCancel", Cause={"radioNetwork": "handover-cancelled"})
    site.heard()
    site.acknowledge(amf_id)
    assert site.heard() == []
    site.from_target(amf_id, "UEContextReleaseComplete")
    assert site.world.ue().stale == ()
    site.acknowledge(amf_id)
    assert site.heard() == [], "the gNB has confirmed the release since"


def overtaken() -> tuple[Mobile, int]:
    """The UE CONTEXT RELEASE COMMAND of a cancelled handover overtook the HANDOVER REQUEST."""
    site = Mobile()
    amf_id = site.prepare()
    site.phone.ngap("HandoverCancel", Cause={"radioNetwork": "handover-cancelled"})
    unknown = {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}
    site.say_as(2, "ErrorIndication", {"AMF-UE-NGAP-ID": amf_id}, unknown)
    site.heard()
    return site, amf_id


def test_target_that_is_asked_after_it_was_released_is_released_again() -> None:
    site, amf_id = overtaken()
    site.acknowledge(amf_id)
    assert released_ids(site.one("a2", RELEASE))[0] == amf_id
    site.from_target(amf_id, "UEContextReleaseComplete")
    assert site.world.ue().stale == ()
    assert "ng-release" not in site.world.ue().timers
    stays(site)


@pytest.mark.parametrize("how", ["error", "failure", "timer"])
def test_target_that_was_never_asked_is_forgotten(how: str) -> None:
    site, amf_id = overtaken()
    match how:
        case "error":
            unknown = {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}
            site.say_as(2, "ErrorIndication", {"AMF-UE-NGAP-ID": amf_id}, unknown)
        case "failure":
            site.say_as(2, "HandoverFailure", {"AMF-UE-NGAP-ID": amf_id}, {"Cause": FAILED})
        case _:
            site.world.advance(6)
    assert site.heard() == []
    assert site.world.ue().stale == ()
    assert "ng-release" not in site.world.ue().timers
    stays(site)


@pytest.mark.parametrize("stage", ["preparing", "executing"])
@pytest.mark.parametrize("how", ["association", "ng-setup", "reset", "request"])
def test_target_is_lost(stage: str, how: str) -> None:
    site = Mobile()
    amf_id = site.prepare() if stage == "preparing" else site.command()
    match how:
        case "association":
            site.world.lose("a2", gnb_of(2))
        case "ng-setup":
            site.set_up_gnb(2)
        case "reset":
            site.world.uplink(reset(), gnb_of(2), "a2")
        case _ if stage == "executing":
            site.from_target(amf_id, "UEContextReleaseRequest", Cause=RADIO)
        case _:
            return
    answers = {("a2", "NGResetAcknowledge"), ("a2", "NGSetupResponse")}
    told = {(a, m) for a, m, _ in site.heard()} - answers
    left = {("a2", RELEASE)} if how == "request" else set[tuple[str, str]]()
    assert told - left == ({("a1", PREPARATION)} if stage == "preparing" else set())
    stays(site)


@pytest.mark.parametrize("stage", ["preparing", "executing"])
@pytest.mark.parametrize("how", ["association", "reset", "request", "deregistration"])
def test_source_is_lost(stage: str, how: str) -> None:
    site = Mobile()
    amf_id = site.prepare() if stage == "preparing" else site.command()
    match how:
        case "association":
            site.world.lose("a1", gnb_of(1))
        case "reset":
            site.world.uplink(reset(), gnb_of(1), "a1")
        case "request":
            site.phone.ngap("UEContextReleaseRequest", Cause=RADIO)
        case _:
            site.phone.say(site.phone.deregistration())
    found = site.heard()
    (release,) = [ies for a, m, ies in found if (a, m) == ("a2", RELEASE)]
    assert released_ids(release)[0] == amf_id
    assert (site.world.ue().handover, site.world.ue().target) == (None, None)
    site.from_target(amf_id, "UEContextReleaseComplete")
    if how in ("request", "deregistration"):
        site.phone.ngap("UEContextReleaseComplete")
    ue = site.world.ue()
    assert (ue.connection, ue.stale) == (None, ())
    assert "ng-release" not in ue.timers
    assert [key for key in site.world.owners if key[0] == "gnb"] == []


def test_ue_comes_back_by_itself() -> None:
    """The UE could not reach the target, and sends a new request: TS 23.502 4.9.1.3.3."""
    site = Mobile()
    amf_id = site.command()
    answer = site.service_request(**{"uplink-data-status": [1], "pdu-session-status": [1]})
    assert "service-accept" in {tree["message-type"] for tree in answer}
    ue = site.world.ue()
    assert (ue.handover, ue.target) == (None, None)
    releasing = {c.amf_ue_ngap_id for c in ue.stale if c.releasing}
    assert amf_id in releasing
    assert len(releasing) == 2


def test_another_in_the_name_of_the_ue_does_not_end_it() -> None:
    site = Mobile()
    amf_id = site.command()
    site.phone.ran_id = 77
    site.phone.initial(wire.nas_encode(site.phone.request()))
    site.phone.hear()
    site.handover_required(3)
    site.one("a1", PREPARATION)
    site.notify(amf_id)
    here = site.world.ue().connection
    assert here is not None
    assert here.amf_ue_ngap_id == amf_id


def test_second_one_takes_the_place_of_the_first() -> None:
    site = Mobile()
    first = site.prepare(2)
    site.handover_required(3)
    release, asked = site.heard()
    assert release[:2] == ("a2", RELEASE)
    assert released_ids(release[2]) == (first, None)
    assert asked[:2] == ("a3", REQUEST)
    site.acknowledge(asked[2]["AMF-UE-NGAP-ID"], 3, 31)
    site.one("a1", COMMAND)


def test_targets_that_are_asked_without_end_do_not_pile_up() -> None:
    site = Mobile()
    for _ in range(MAX_RELEASING + 8):
        site.handover_required(2)
    ue = site.world.ue()
    assert len(ue.stale) == MAX_RELEASING
    assert ue.connection is not None
    assert ue.connection.association == "a1"
    site.phone.ngap("HandoverCancel", Cause=RADIO)
    site.world.advance(60)
    assert (site.world.ue().stale, site.world.ue().timers.keys() & {"ng-release"}) == ((), set())


def test_xn_after_all() -> None:
    site = Mobile()
    amf_id = site.prepare(2)
    site.path_switch_request(3, 31)
    site.upfs.serve()
    release, ack = site.heard()
    assert release[:2] == ("a2", RELEASE)
    assert released_ids(release[2]) == (amf_id, None)
    assert ack[:2] == ("a3", "PathSwitchRequestAcknowledge")


def test_gnb_is_asked_for_nothing_meanwhile() -> None:
    """TS 23.502 4.9.1.3.2: pending requests are sent to the target."""
    site = Mobile()
    amf_id = site.command()
    site.ask(2, 5)
    assert site.heard() == []
    assert site.session(2).user_plane == "pending"
    site.notify(amf_id)
    found = [(a, m) for a, m, _ in site.heard()]
    assert found == [("a1", RELEASE), ("a2", "PDUSessionResourceSetupRequest")]
    site.arrive(2, 21, amf_id)
    site.set_up("PDUSessionResourceSetup", 2)
    assert [s.user_plane for s in site.world.ue().sessions] == ["on", "on"]


def test_resources_that_the_source_was_asked_for_in_vain_are_asked_of_the_target() -> None:
    site = Mobile()
    site.ask(2, 5)
    site.heard()
    amf_id = site.command()
    site.notify(amf_id)
    found = site.heard()
    assert [(a, m) for a, m, _ in found] == [
        ("a1", RELEASE),
        ("a2", "PDUSessionResourceSetupRequest"),
    ]


def test_what_the_source_says_late_of_a_session_is_not_taken_for_the_target() -> None:
    site = Mobile()
    site.ask(2, 5)
    site.heard()
    source, ran_id = site.phone.amf_id, site.phone.ran_id
    amf_id = site.command()
    site.notify(amf_id)
    site.upfs.serve()
    site.heard()
    ids = {"AMF-UE-NGAP-ID": source}, {"RAN-UE-NGAP-ID": ran_id}
    flows = [{"qosFlowIdentifier": 1}]
    up = {"uPTransportLayerInformation": tunnel(66, 1), "associatedQosFlowList": flows}
    transfer = {"dLQosFlowPerTNLInformation": up}
    item = {"pDUSessionID": 2, "pDUSessionResourceSetupResponseTransfer": transfer}
    late = {"PDUSessionResourceSetupListSURes": [item]}
    site.say_as(1, "PDUSessionResourceSetupResponse", *ids, late)
    assert [(s.id, s.user_plane) for s in site.world.ue().sessions] == [(1, "on"), (2, "requested")]
    gone = {"pDUSessionResourceNotifyReleasedTransfer": {"cause": RADIO}, "pDUSessionID": 1}
    late = {"PDUSessionResourceReleasedListNot": [gone]}
    site.say_as(1, "PDUSessionResourceNotify", *ids, late)
    assert site.downlink_at_upf(site.address[0]) == (2001, "10.4.0.2")
    assert [(s.id, s.user_plane) for s in site.world.ue().sessions] == [(1, "on"), (2, "requested")]


def test_session_that_is_released_meanwhile_is_released_at_the_target() -> None:
    site = Mobile(sessions=2)
    amf_id = site.command(2, sessions=(1, 2))
    head = {"pdu-session-identity": 2, "procedure-transaction-identity": 9}
    site.say(2, {"message-type": "pdu-session-release-request", **head})
    site.hear()
    site.say(2, {"message-type": "pdu-session-release-complete", **head})
    site.upfs.serve()
    site.heard()
    site.notify(amf_id)
    found = {(a, m): ies for a, m, ies in site.heard()}
    gone = found["a2", "PDUSessionResourceReleaseCommand"]["PDUSessionResourceToReleaseListRelCmd"]
    assert [item["pDUSessionID"] for item in gone] == [2]
    assert [s.id for s in site.world.ue().sessions] == [1]


def test_nas_that_the_source_could_not_deliver_is_sent_at_the_target() -> None:
    site = Mobile(sessions=2)
    amf_id = site.command()
    site.release(2)
    site.heard()
    cause = {"radioNetwork": "ng-intra-system-handover-triggered"}
    site.phone.ngap("NASNonDeliveryIndication", **{"NAS-PDU": "7e", "Cause": cause})
    site.notify(amf_id)
    site.heard()
    site.world.advance(0.1)
    assert [(a, m) for a, m, _ in site.heard()] == [("a2", "DownlinkNASTransport")]


def test_status_without_a_handover_goes_nowhere() -> None:
    site = Mobile()
    site.phone.ngap("UplinkRANStatusTransfer", **{"RANStatusTransfer-TransparentContainer": STATUS})
    error = site.one("a1", "ErrorIndication")
    assert error["Cause"] == {"protocol": "message-not-compatible-with-receiver-state"}


def test_messages_of_the_target_by_another_gnb_are_not_its() -> None:
    site = Mobile()
    amf_id = site.prepare(2)
    site.acknowledge(amf_id, number=3)
    error = site.one("a3", "ErrorIndication")
    assert error["Cause"] == {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}
    assert site.world.ue().target is not None
    site.acknowledge(amf_id)
    site.one("a1", COMMAND)
    site.notify(amf_id, ran_id=22)
    error = site.one("a2", "ErrorIndication")
    assert error["Cause"] == {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}
    site.notify(amf_id, number=2)
    site.one("a1", RELEASE)


def test_idle_ue_is_not_handed_over() -> None:
    site = Mobile()
    site.phone.ngap("UEContextReleaseRequest", Cause=RADIO)
    site.heard()
    site.handover_required(2)
    assert site.heard() == []


# A target that is an ng-eNB, and a source that goes on sending (DAPS, TS 38.300 9.2.3.2)


def test_a_target_that_is_an_ng_enb() -> None:
    """It is in the 5GS too (TS 38.413 9.3.3.4), and gets the same HANDOVER REQUEST."""
    site = Mobile()
    bits = {"macroNgENB-ID": "000020"}
    node = {"globalNgENB-ID": {"pLMNIdentity": "001-01", "ngENB-ID": bits}}
    tree = setup_request(tac=2)
    tree["ies"][0] = {"GlobalRANNodeID": node}
    site.world.uplink(tree, "001-01-ngenb-20-2", "e2")
    assert site.one("e2", "NGSetupResponse")
    tai = {"pLMNIdentity": "001-01", "tAC": 2}
    target = {"targetRANNodeID": {"globalRANNodeID": node, "selectedTAI": tai}}
    site.handover_required(2, TargetID=target)
    request = site.one("e2", "HandoverRequest")
    assert request["HandoverType"] == "intra5gs"


def test_the_source_of_a_daps_handover_goes_on_sending() -> None:
    """8.4.8 to 8.4.10: its early status goes to the target, and it learns that the UE is there."""
    site = Mobile()
    amf_id = site.command()
    (early,) = OF_UE["UplinkRANEarlyStatusTransfer"]
    for _ in range(2):
        site.phone.ngap("UplinkRANEarlyStatusTransfer", **early)
        forwarded = site.one("a2", "DownlinkRANEarlyStatusTransfer")
        assert forwarded["AMF-UE-NGAP-ID"] == amf_id
        assert {k: v for k, v in forwarded.items() if k in early} == early
    site.from_target(
        amf_id,
        "HandoverNotify",
        UserLocationInformation=site.location(2),
        NotifySourceNGRANNode="notifySource",
    )
    success, command = site.heard()
    assert success[:2] == ("a1", "HandoverSuccess")
    assert success[2] == {
        "AMF-UE-NGAP-ID": site.phone.amf_id,
        "RAN-UE-NGAP-ID": site.phone.ran_id,
    }
    assert command[:2] == ("a1", "UEContextReleaseCommand")
    site.world.verify()


def test_an_early_status_outside_of_a_handover() -> None:
    site = Mobile()
    (early,) = OF_UE["UplinkRANEarlyStatusTransfer"]
    site.phone.ngap("UplinkRANEarlyStatusTransfer", **early)
    error = site.one("a1", "ErrorIndication")
    assert error["Cause"] == {"protocol": "message-not-compatible-with-receiver-state"}
    assert error["CriticalityDiagnostics"]["procedureCode"] == 62
