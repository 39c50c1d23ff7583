"""Handover by Xn: the path switch (TS 38.413 8.4.4, TS 23.502 4.9.1.2)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.event import Noted
from schemas.mobility.state import Handover
from tests.functions.handover_site import Mobile, gnb_of, next_hop
from tests.functions.ngap_messages import indicated
from tests.functions.world import subscriber

ACK, FAILURE = "PathSwitchRequestAcknowledge", "PathSwitchRequestFailure"


def notes(site: Mobile) -> list[str]:
    """Return the notes of the last step."""
    return [e.text for e in site.world.order[-1][1].events if isinstance(e, Noted)]


def move(site: Mobile, number: int, ran_id: int, **request: Any) -> dict[str, Any]:
    """Complete a path switch, and return the acknowledge."""
    site.path_switch_request(number, ran_id, **request)
    site.upfs.serve()
    found = site.one(f"a{number}", ACK)
    site.arrive(number, ran_id)
    return found


def causes(items: list[dict[str, Any]]) -> dict[int, str]:
    name = "pathSwitchRequestUnsuccessfulTransfer"
    return {i["pDUSessionID"]: i[name]["cause"]["radioNetwork"] for i in items}


def test_path_is_switched_before_the_answer() -> None:
    site = Mobile()
    before = site.world.ue().connection
    assert before is not None
    site.path_switch_request(2, 21)
    assert site.heard() == []
    (asked,) = site.world.pfcp
    modification = wire.pfcp_decode(asked[3])
    assert modification["message"] == "SessionModificationRequest"
    (far,) = [ie["Update FAR"] for ie in modification["ies"] if "Update FAR" in ie]
    (parameters,) = [part[k] for part in far for k in part if k == "Update Forwarding Parameters"]
    assert {"PFCPSMReq-Flags": ["SNDEM"]} in parameters
    site.upfs.serve()
    ack = site.one("a2", ACK)
    assert (ack["AMF-UE-NGAP-ID"], ack["RAN-UE-NGAP-ID"]) == (site.phone.amf_id, 21)
    switched = {"pDUSessionID": 1, "pathSwitchRequestAcknowledgeTransfer": {}}
    assert ack["PDUSessionResourceSwitchedList"] == [switched]
    assert ack["AllowedNSSAI"] == [{"s-NSSAI": {"sST": 1, "sD": "010203"}}]
    assert ack["UESecurityCapabilities"]["nRencryptionAlgorithms"] == "c000"
    assert "PDUSessionResourceReleasedListPSAck" not in ack
    assert "NewSecurityContextInd" not in ack
    here = site.world.ue().connection
    assert here is not None
    assert (here.gnb, here.association, here.ran_ue_ngap_id) == (gnb_of(2), "a2", 21)
    assert (here.tai.tac, here.cell, here.sequence) == (2, 32, 0)
    assert here.amf_ue_ngap_id == before.amf_ue_ngap_id
    assert site.downlink_at_upf(site.address[0]) == (2001, "10.4.0.2")
    assert site.world.ue().handover is None
    assert "handover" not in site.world.ue().timers
    assert notes(site) == []


def test_keys_are_the_ones_that_the_ue_derives() -> None:
    site = Mobile()
    kgnb, kamf = site.phone.security_key, site.kamf
    for turn, (number, ncc) in enumerate(((2, 2), (3, 3), (1, 4), (2, 5), (3, 6), (1, 7), (2, 0))):
        ack = move(site, number, 30 + turn)
        told = ack["SecurityContext"]
        assert told["nextHopChainingCount"] == ncc
        assert bytes.fromhex(told["nextHopNH"]) == next_hop(kamf, kgnb, turn + 2)
    site.world.verify()


def test_another_k_amf_begins_a_new_chain() -> None:
    site = Mobile()
    site.phone.say(site.phone.request("mobility-registration-updating", ngksi="no-key"))
    site.phone.authenticate(2)
    site.phone.hear()
    complete = {"message-type": "security-mode-complete"}
    inner = {"nas-message-container": site.phone.request("mobility-registration-updating")}
    site.phone.say({**complete, **inner}, header=4)
    here, security = site.world.ue().connection, site.world.ue().security
    assert here is not None
    assert security is not None
    kgnb = wire.kgnb(site.kamf, here.kgnb_count)
    site.world.downlink.clear()
    ack = move(site, 2, 21)
    assert ack["NewSecurityContextInd"] == "true"
    assert ack["SecurityContext"] == {"nextHopChainingCount": 0, "nextHopNH": kgnb.hex()}
    ack = move(site, 3, 22)
    assert "NewSecurityContextInd" not in ack
    told = ack["SecurityContext"]
    assert told["nextHopChainingCount"] == 1
    assert bytes.fromhex(told["nextHopNH"]) == next_hop(site.kamf, kgnb, 1)


def test_the_ue_goes_on_at_its_new_gnb() -> None:
    site = Mobile()
    move(site, 2, 21)
    accept = site.register_again()
    assert accept["message-type"] == "registration-accept"
    site.ask(2, 7)
    assert site.hear()[-1]["message-type"] == "PDUSessionResourceSetupRequest"
    site.set_up("PDUSessionResourceSetup", 2)
    assert {s.user_plane for s in site.world.ue().sessions} == {"on"}
    site.idle()
    assert site.world.ue().connection is None


def test_partial_switch() -> None:
    """Sessions that the target has not set up are off; sessions that the core does not have are
    released."""
    site = Mobile(sessions=3)
    site.path_switch_request(2, 21, sessions=(1, 9), failed=(2,))
    site.upfs.serve()
    ack = site.one("a2", ACK)
    assert [i["pDUSessionID"] for i in ack["PDUSessionResourceSwitchedList"]] == [1]
    released = causes(ack["PDUSessionResourceReleasedListPSAck"])
    assert released == {9: "unknown-PDU-session-ID"}
    assert [site.session(psi).user_plane for psi in (1, 2, 3)] == ["on", "off", "off"]
    site.upfs.serve()
    assert [site.session(psi).n4.downlink is None for psi in (1, 2, 3)] == [False, True, True]


def test_session_that_its_upf_refuses_is_released() -> None:
    """The UPF lost one of two sessions, and has no resources to restore it, with the same F-TEID or
    another. The gNB releases its resources after the acknowledge."""
    site = Mobile(sessions=2)
    name, session = site.upfs.session(site.address[1])
    site.upfs.tables[name].delete(session)
    site.upfs.full = True
    site.path_switch_request(2, 21, sessions=(1, 2))
    site.upfs.serve()
    ack, command, nas = site.heard()
    assert [message for _, message, _ in (ack, command, nas)] == [
        ACK,
        "PDUSessionResourceReleaseCommand",
        "DownlinkNASTransport",
    ]
    assert [i["pDUSessionID"] for i in ack[2]["PDUSessionResourceSwitchedList"]] == [1, 2]
    (item,) = command[2]["PDUSessionResourceToReleaseListRelCmd"]
    assert item["pDUSessionID"] == 2
    stages = {s.id: s.stage for s in site.world.ue().sessions}
    assert stages == {1: "active", 2: "releasing"}


def test_no_session_could_be_switched() -> None:
    """The UE cannot be served at the target: the connection is released at both gNBs."""
    site = Mobile()
    site.upfs.silent = True
    site.path_switch_request(2, 21)
    site.world.advance(5)
    (failure, command) = site.heard()
    assert failure[:2] == ("a2", FAILURE)
    released = causes(failure[2]["PDUSessionResourceReleasedListPSFail"])
    assert released == {1: "ho-failure-in-target-5GC-ngran-node-or-target-system"}
    assert command[:2] == ("a1", "UEContextReleaseCommand")
    assert site.world.ue().handover is None
    site.phone.ngap("UEContextReleaseComplete")
    assert site.world.ue().connection is None
    site.upfs.silent = False
    site.upfs.serve()
    for _ in range(4):
        site.world.advance(5)
        site.upfs.serve()
    assert site.session().n4.downlink is None
    answer = site.service_request(**{"uplink-data-status": [1], "pdu-session-status": [1]})
    assert answer[-1]["message-type"] == "service-accept"


def test_some_upfs_do_not_answer() -> None:
    site = Mobile(sessions=2)
    site.path_switch_request(2, 21, sessions=(1, 2))
    site.upfs.answer(*site.world.pfcp.popleft())
    assert site.heard() == []
    site.upfs.silent = True
    site.world.advance(5)
    ack = site.one("a2", ACK)
    assert [i["pDUSessionID"] for i in ack["PDUSessionResourceSwitchedList"]] == [1]
    assert causes(ack["PDUSessionResourceReleasedListPSAck"]).keys() == {2}
    assert [site.session(psi).user_plane for psi in (1, 2)] == ["on", "off"]


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"sessions": (1, 1)}, "multiple-PDU-session-ID-instances"),
        ({"sessions": (7,)}, "unknown-PDU-session-ID"),
        ({"SourceAMF-UE-NGAP-ID": 99}, "unknown-local-UE-NGAP-ID"),
        ({"tac": 77}, "ho-target-not-allowed"),
    ],
)
def test_refused(given: dict[str, Any], cause: str) -> None:
    site = Mobile()
    tac = given.pop("tac", 0)
    if tac:
        tai = {"pLMNIdentity": "001-01", "tAC": tac}
        cgi = {"pLMNIdentity": "001-01", "nRCellIdentity": 16}
        location = {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}
        given["UserLocationInformation"] = location
    before = site.world.ue().connection
    site.path_switch_request(2, 21, **given)
    failure = site.one("a2", FAILURE)
    assert set(causes(failure["PDUSessionResourceReleasedListPSFail"]).values()) == {cause}
    assert site.world.ue().connection == before
    assert not site.world.pfcp


def test_refused_in_a_forbidden_area() -> None:
    site = Mobile()
    one = site.world.subscribers[site.phone.supi]
    site.world.subscribers[site.phone.supi] = subscriber(slices=one.slices, forbidden_tacs=(2,))
    site.path_switch_request(2, 21)
    ((to, message, failure), (source, _, update)) = site.heard()
    assert (to, message, source) == ("a2", FAILURE, "a1")
    released = causes(failure["PDUSessionResourceReleasedListPSFail"])
    assert released == {1: "ho-target-not-allowed"}
    assert "MobilityRestrictionList" in update


def test_refused_without_a_context_or_while_it_is_released() -> None:
    site = Mobile()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    site.world.downlink.clear()
    site.path_switch_request(2, 21)
    site.one("a2", FAILURE)
    site.phone.ngap("UEContextReleaseComplete")
    site.path_switch_request(2, 21)
    failure = site.one("a2", FAILURE)
    causes_ = causes_of_protocol(failure["PDUSessionResourceReleasedListPSFail"])
    assert causes_ == [{"radioNetwork": "unknown-local-UE-NGAP-ID"}]


def causes_of_protocol(items: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [i["pathSwitchRequestUnsuccessfulTransfer"]["cause"] for i in items]


def test_capabilities_that_the_ue_has_told_stand() -> None:
    """TS 33.501 6.7.3.1: fewer capabilities from a gNB may be a bidding-down attack."""
    site = Mobile()
    ack = move(site, 2, 21, capabilities="0000")
    assert ack["UESecurityCapabilities"]["nRintegrityProtectionAlgorithms"] == "c000"
    noted = [e.text for _, s in site.world.order[-3:] for e in s.events if isinstance(e, Noted)]
    assert any("security capabilities" in text for text in noted)


def test_two_gnbs_claim_the_ue() -> None:
    """The later gNB has the UE; the first gets a failure."""
    site = Mobile()
    site.path_switch_request(2, 21)
    site.path_switch_request(3, 31)
    site.one("a2", FAILURE)
    site.upfs.serve()
    site.one("a3", ACK)
    here = site.world.ue().connection
    assert here is not None
    assert here.association == "a3"
    assert site.downlink_at_upf(site.address[0]) == (3001, "10.4.0.3")


def test_what_the_gnb_before_says_late_changes_nothing() -> None:
    site = Mobile()
    site.path_switch_request(2, 21)
    site.upfs.serve()
    site.heard()
    before = site.world.ue().connection
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "unspecified"})
    error = site.one("a1", "ErrorIndication")
    assert error["Cause"] == {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}
    assert site.world.ue().connection == before
    site.world.lose("a1", gnb_of(1))
    assert site.world.ue().connection == before
    site.world.lose("a2", gnb_of(2))
    assert site.world.ue().connection is None


def test_the_response_of_the_gnb_before_may_come_after_the_path_switch() -> None:
    """The gNBs have an association each: INITIAL CONTEXT SETUP RESPONSE is on its way."""
    site = Mobile()
    site.idle()
    site.service_request("data", **{"uplink-data-status": [1]})
    asked = site.world.ue().connection
    assert asked is not None
    assert asked.context == "pending"
    site.world.downlink.clear()
    site.path_switch_request(2, 21)
    site.upfs.serve()
    site.one("a2", ACK)
    site.set_up("InitialContextSetup")
    assert notes(site) == ["InitialContextSetupResponse of the gNB before the path switch"]
    assert site.heard() == []
    here = site.world.ue().connection
    assert here is not None
    assert (here.association, here.context, here.ran_ue_ngap_id) == ("a2", "set-up", 21)
    assert site.session().user_plane == "on"
    assert site.downlink_at_upf(site.address[0]) == (2001, "10.4.0.2")


def test_gnb_is_lost_while_the_upf_is_asked() -> None:
    site = Mobile()
    site.path_switch_request(2, 21)
    site.world.lose("a2", gnb_of(2))
    assert (site.world.ue().connection, site.world.ue().handover) == (None, None)
    site.upfs.serve()
    assert site.heard() == []
    assert site.session().n4.downlink is None


def test_gnb_that_hands_the_ue_over_is_asked_for_nothing() -> None:
    """TS 23.502 4.9.1.3.2: requests that it refuses because of the handover are sent to the next
    gNB."""
    site = Mobile()
    site.ask(2, 5)
    assert site.hear()[-1]["message-type"] == "PDUSessionResourceSetupRequest"
    transfer = {"cause": {"radioNetwork": "xn-handover-triggered"}}
    name = "pDUSessionResourceSetupUnsuccessfulTransfer"
    items = [{"pDUSessionID": 2, name: transfer}]
    site.phone.ngap(
        "PDUSessionResourceSetupResponse", PDUSessionResourceFailedToSetupListSURes=items
    )
    assert site.heard() == []
    assert site.world.ue().handover == Handover("triggered", site.phone.amf_id or 0)
    site.path_switch_request(2, 21)
    site.upfs.serve()
    ack, setup = site.heard()
    assert ack[:2] == ("a2", ACK)
    assert setup[:2] == ("a2", "PDUSessionResourceSetupRequest")
    assert setup[2]["PDUSessionResourceSetupListSUReq"][0]["pDUSessionNAS-PDU"]
    site.arrive(2, 21)
    site.set_up("PDUSessionResourceSetup", 2)
    assert [s.user_plane for s in site.world.ue().sessions] == ["on", "on"]


def test_handover_that_never_comes_is_not_waited_for() -> None:
    site = Mobile()
    site.ask(2, 5)
    site.hear()
    transfer = {"cause": {"radioNetwork": "xn-handover-triggered"}}
    name = "pDUSessionResourceSetupUnsuccessfulTransfer"
    items = [{"pDUSessionID": 2, name: transfer}]
    site.phone.ngap(
        "PDUSessionResourceSetupResponse", PDUSessionResourceFailedToSetupListSURes=items
    )
    site.world.advance(10)
    site.one("a1", "PDUSessionResourceSetupRequest")
    assert site.world.ue().handover is None


def test_nas_that_was_not_delivered_is_sent_again_at_once() -> None:
    """TS 24.501 6.3.3.5 and similar: without waiting for the timer."""
    site = Mobile(sessions=2)
    site.release(2)
    site.heard()
    cause = {"radioNetwork": "xn-handover-triggered"}
    site.phone.ngap("NASNonDeliveryIndication", **{"NAS-PDU": "7e", "Cause": cause})
    assert site.heard() == []
    site.path_switch_request(2, 21)
    site.upfs.serve()
    site.one("a2", ACK)
    site.world.advance(0.1)
    again = site.one("a2", "DownlinkNASTransport")
    assert site.phone.security is not None
    opened = site.phone.security.unprotect(bytes.fromhex(again["NAS-PDU"]), downlink=True)
    message = wire.nas_decode(opened.plain)["payload-container"]
    assert message["message-type"] == "pdu-session-release-command"


def test_nas_that_was_not_delivered_without_a_handover_waits_for_its_timer() -> None:
    site = Mobile(sessions=2)
    site.release(2)
    site.heard()
    cause = {"radioNetwork": "radio-connection-with-ue-lost"}
    site.phone.ngap("NASNonDeliveryIndication", **{"NAS-PDU": "7e", "Cause": cause})
    site.world.advance(0.1)
    assert site.heard() == []
    assert site.world.ue().handover is None


def test_end_markers_only_of_upfs_that_can() -> None:
    site = Mobile()
    for node in site.upfs.tables:
        key = f"upf/{node}"
        site.world.states[key] = replace(site.world.states[key], features=("FTUP",))
    site.path_switch_request(2, 21)
    (asked,) = site.world.pfcp
    assert "SNDEM" not in str(wire.pfcp_decode(asked[3]))
    site.upfs.serve()
    site.one("a2", ACK)


# What happens to the sessions while their UPFs are asked


def acknowledged(site: Mobile) -> list[str]:
    """Return the messages for gNB 2, which must acknowledge the switch of session 1 and then
    release its resources."""
    heard = site.heard()
    assert {association for association, *_ in heard} == {"a2"}
    found = {message: ies for _, message, ies in heard}
    assert [i["pDUSessionID"] for i in found[ACK]["PDUSessionResourceSwitchedList"]] == [1]
    assert "PDUSessionResourceReleasedListPSAck" not in found[ACK]
    released = found["PDUSessionResourceReleaseCommand"]["PDUSessionResourceToReleaseListRelCmd"]
    assert [item["pDUSessionID"] for item in released] == [1]
    order = [message for _, message, _ in heard]
    assert order.index(ACK) < order.index("PDUSessionResourceReleaseCommand")
    return order


def stays(site: Mobile) -> None:
    """Check that the UE is at gNB 2 without a handover."""
    here = site.world.ue().connection
    assert here is not None
    assert (here.association, here.releasing) == ("a2", "")
    assert site.world.ue().handover is None
    site.upfs.serve()
    site.world.verify()


def test_the_ue_releases_its_only_session_during_a_path_switch() -> None:
    """8.4.4.3 is about sessions that cannot be switched. This one ends, and the UE stays."""
    site = Mobile()
    site.path_switch_request(2, 21)
    site.arrive(2, 21)
    release = {
        "message-type": "pdu-session-release-request",
        "pdu-session-identity": 1,
        "procedure-transaction-identity": 9,
    }
    site.phone.say(
        {
            "message-type": "ul-nas-transport",
            "payload-container-type": "n1-sm-information",
            "payload-container": release,
            "pdu-session-id": 1,
        }
    )
    assert "DownlinkNASTransport" in acknowledged(site)
    stays(site)


def test_the_operator_releases_the_only_session_during_a_path_switch() -> None:
    site = Mobile()
    site.path_switch_request(2, 21)
    site.arrive(2, 21)
    site.release(1)
    assert "DownlinkNASTransport" in acknowledged(site)
    stays(site)


def test_an_initial_registration_during_a_path_switch() -> None:
    """It releases all sessions (TS 23.502 4.2.2.2.2), and the UE stays registered."""
    site = Mobile()
    site.path_switch_request(2, 21)
    site.arrive(2, 21)
    site.phone.say(site.phone.request("initial-registration"))
    acknowledged(site)
    site.phone.say({"message-type": "registration-complete"})
    stays(site)
    assert site.world.ue().registered
    assert [s for s in site.world.ue().sessions if s.stage != "released"] == []


def test_the_ue_asks_for_its_only_session_again_during_a_path_switch() -> None:
    """TS 24.501 6.4.1.7: the old resources are released before the new ones are requested."""
    site = Mobile()
    site.path_switch_request(2, 21)
    site.arrive(2, 21)
    site.upfs.silent = True
    site.ask(1, 9)
    acknowledged(site)
    site.upfs.silent = False
    site.upfs.serve()
    assert [m for _, m, _ in site.heard()] == []
    site.from_target(
        site.phone.amf_id or 0, "PDUSessionResourceReleaseResponse", **release_response(1)
    )
    site.one("a2", "PDUSessionResourceSetupRequest")


def release_response(psi: int) -> dict[str, Any]:
    name = "pDUSessionResourceReleaseResponseTransfer"
    return {"PDUSessionResourceReleasedListRelRes": [{"pDUSessionID": psi, name: {}}]}


def test_one_of_two_sessions_ends_during_a_path_switch() -> None:
    site = Mobile(sessions=2)
    site.path_switch_request(2, 21, sessions=(1, 2))
    site.arrive(2, 21)
    site.release(2)
    assert [m for _, m, _ in site.heard()] == ["DownlinkNASTransport"]
    site.upfs.serve()
    ack, command = site.heard()
    assert [i["pDUSessionID"] for i in ack[2]["PDUSessionResourceSwitchedList"]] == [1, 2]
    assert command[1] == "PDUSessionResourceReleaseCommand"
    (item,) = command[2]["PDUSessionResourceToReleaseListRelCmd"]
    assert item["pDUSessionID"] == 2
    stays(site)


def test_a_modify_indication_during_a_path_switch() -> None:
    """8.2.5, 10.4: the gNB has to wait for its answer. The switch goes on."""
    site = Mobile()
    site.path_switch_request(2, 21)
    listed: dict[str, Any] = {"PDUSessionResourceModifyListModInd": [indicated(1, 77)]}
    site.from_target(site.phone.amf_id or 0, "PDUSessionResourceModifyIndication", **listed)
    confirm = site.one("a2", "PDUSessionResourceModifyConfirm")
    assert "PDUSessionResourceModifyListModCfm" not in confirm
    (item,) = confirm["PDUSessionResourceFailedToModifyListModCfm"]
    transfer = item["pDUSessionResourceModifyIndicationUnsuccessfulTransfer"]
    assert transfer["cause"] == {"protocol": "message-not-compatible-with-receiver-state"}
    site.upfs.serve()
    ack = site.one("a2", ACK)
    assert [i["pDUSessionID"] for i in ack["PDUSessionResourceSwitchedList"]] == [1]
    assert site.downlink_at_upf(site.address[0]) == (2001, "10.4.0.2")
    stays(site)
