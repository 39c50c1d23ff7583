"""PDU sessions, service request and paging, against the rule tables of an emulated UPF."""

from typing import Any

import pytest

import wire
from schemas.subscriber import Ambr, PduSessionType
from tests.functions.site import MESSAGE, Site


def answer_of(heard: list[dict[str, Any]]) -> dict[str, Any]:
    """The 5GSM message of the last DL NAS TRANSPORT."""
    assert heard[-1][MESSAGE] == "dl-nas-transport", heard
    container: dict[str, Any] = heard[-1]["payload-container"]
    return container


def test_establishment() -> None:
    site = Site()
    site.ask()
    setup = site.hear()[-1]
    assert setup[MESSAGE] == "PDUSessionResourceSetupRequest"
    item = setup["PDUSessionResourceSetupListSUReq"][0]
    assert item["pDUSessionID"] == 1
    accept = item["nas"]
    assert accept[MESSAGE] == "pdu-session-establishment-accept"
    assert accept["selected-pdu-session-type"] == "ipv4"
    assert accept["session-ambr"] == {"dl-kbps": 20_000, "ul-kbps": 10_000}
    assert accept["dnn"] == "internet"
    address = accept["pdu-address"]["ipv4"]
    assert site.session().stage == "establishing"
    site.set_up()
    session = site.session()
    assert (session.stage, session.user_plane) == ("active", "on")
    assert session.n4.downlink == session.access
    upf, at_upf = site.upfs.session(address)
    assert upf == session.n4.upf
    assert at_upf.cp.number == session.n4.seid
    assert "n4" not in site.world.ue().timers
    site.world.verify()


def test_idle_and_service_request() -> None:
    site = Site()
    site.establish()
    site.idle()
    session = site.session()
    assert (session.user_plane, session.access, session.n4.downlink) == ("off", None, None)
    asked = {"uplink-data-status": [1], "pdu-session-status": [1]}
    context = site.service_request(**asked)[-1]
    assert context["ngap"] == "InitialContextSetupRequest"
    assert context[MESSAGE] == "service-accept"
    assert context["pdu-session-status"] == [1]
    assert context["pdu-session-reactivation-result"] == []
    site.set_up("InitialContextSetup")
    session = site.session()
    assert session.user_plane == "on"
    assert session.n4.downlink == session.access
    site.world.verify()


def test_a_service_request_for_signalling_leaves_the_user_plane_off() -> None:
    site = Site()
    site.establish()
    site.idle()
    heard = site.service_request("signalling")
    assert heard[-1][MESSAGE] == "service-accept"
    site.phone.ngap("InitialContextSetupResponse")
    assert site.session().user_plane == "off"
    site.world.verify()


def test_sessions_that_the_ue_does_not_have_end() -> None:
    site = Site()
    site.establish(1)
    site.establish(2)
    site.idle()
    heard = site.service_request("signalling", **{"pdu-session-status": [2]})
    assert heard[-1]["pdu-session-status"] == [2]
    assert [s.id for s in site.world.ue().sessions] == [2]
    site.world.verify()


def test_paging() -> None:
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    (gnb, _, pdu), *_ = site.world.pages
    paging = {k: v for item in wire.ngap_decode(pdu)["ies"] for k, v in item.items()}
    assert gnb
    assert site.phone.guti is not None
    identity = paging["UEPagingIdentity"]["fiveG-S-TMSI"]
    assert identity["fiveG-TMSI"] == site.phone.guti["tmsi"]
    heard = site.service_request("mobile-terminated-services")
    assert heard[-1]["ngap"] == "InitialContextSetupRequest"
    assert site.session().user_plane == "requested"
    site.set_up("InitialContextSetup")
    assert site.session().n4.downlink is not None
    assert site.world.ue().paging is None
    assert "T3513" not in site.world.ue().timers
    site.world.verify()


def test_paging_in_vain() -> None:
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    site.world.advance(200)
    assert len(site.world.pages) == 4
    assert "SessionModificationRequest" in [
        wire.pfcp_peek(pdu).message for *_, pdu in site.world.pfcp
    ]
    site.upfs.serve()
    assert site.world.ue().paging is None
    site.upfs.downlink_data(address)
    assert len(site.world.pages) == 5
    site.world.verify()


def test_release_by_the_ue() -> None:
    site = Site()
    site.establish()
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 5}
    site.say(1, {MESSAGE: "pdu-session-release-request", **head})
    command = site.hear()[-1]
    assert command["ngap"] == "PDUSessionResourceReleaseCommand"
    assert command["payload-container"]["procedure-transaction-identity"] == 5
    released = {"pDUSessionID": 1, "pDUSessionResourceReleaseResponseTransfer": {}}
    site.phone.ngap(
        "PDUSessionResourceReleaseResponse", PDUSessionResourceReleasedListRelRes=[released]
    )
    site.say(1, {MESSAGE: "pdu-session-release-complete", **head})
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    assert not any(kind in ("seid", "upf", "address") for kind, _ in site.world.owners)
    site.world.verify()


@pytest.mark.parametrize("switch_off", [False, True])
def test_deregistration_ends_sessions(switch_off: bool) -> None:
    site = Site()
    site.establish(1)
    site.establish(2)
    site.phone.say(site.phone.deregistration(switch_off=switch_off))
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    site.world.verify()


def test_an_initial_registration_ends_sessions() -> None:
    site = Site()
    site.establish()
    site.idle()
    site.phone.open_again(site.phone.request(), ran_id=7)
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    site.world.verify()


@pytest.mark.parametrize(
    ("transport", "request_", "cause"),
    [
        ({"dnn": "nowhere"}, {}, "dnn-not-supported-or-not-subscribed-in-the-slice"),
        ({"s-nssai": {"sst": 9}}, {}, "payload-was-not-forwarded"),
        ({}, {"ssc-mode": "ssc2"}, "not-supported-ssc-mode"),
        ({"request-type": "existing-pdu-session"}, {}, "pdu-session-does-not-exist"),
        ({}, {"pdu-session-type": "ethernet"}, "unknown-pdu-session-type"),
    ],
)
def test_refused(transport: dict[str, Any], request_: dict[str, Any], cause: str) -> None:
    site = Site()
    site.ask(transport=transport, **request_)
    heard = site.hear()
    told = heard[-1].get("5gmm-cause") or answer_of(heard)["5gsm-cause"]
    assert told == cause
    assert site.world.ue().sessions == ()
    site.world.verify()


def test_no_upf_is_there() -> None:
    site = Site()
    site.world.upfs = {}
    site.ask()
    assert answer_of(site.hear())["5gsm-cause"] == "insufficient-resources"
    site.world.verify()


def test_only_ipv4_is_allowed() -> None:
    site = Site(types=(PduSessionType.IPV4,))
    site.ask(1, 1, None, **{"pdu-session-type": "ipv4v6"})
    accept = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]
    assert accept["selected-pdu-session-type"] == "ipv4"
    assert accept["5gsm-cause"] == "pdu-session-type-ipv4-only-allowed"


def test_the_same_identity_again_is_another_session() -> None:
    site = Site()
    first = site.establish()
    site.ask(pti=2)
    names = [tree[MESSAGE] for tree in site.hear()]
    assert names == ["PDUSessionResourceReleaseCommand", "PDUSessionResourceSetupRequest"]
    site.set_up()
    with pytest.raises(KeyError):
        site.upfs.session(first)
    assert len(site.world.ue().sessions) == 1
    site.world.verify()


def test_the_gnb_has_no_resources() -> None:
    site = Site()
    site.ask()
    site.hear()
    transfer = {"cause": {"radioNetwork": "radio-resources-not-available"}}
    item = {"pDUSessionID": 1, "pDUSessionResourceSetupUnsuccessfulTransfer": transfer}
    site.phone.ngap(
        "PDUSessionResourceSetupResponse", PDUSessionResourceFailedToSetupListSURes=[item]
    )
    site.upfs.serve()
    assert answer_of(site.hear())["5gsm-cause"] == "insufficient-resources"
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_the_request_is_handed_to_the_gateway_again() -> None:
    """A gateway that died with it; another has it."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    first = site.world.pfcp.popleft()
    site.world.advance(5)
    again = site.world.pfcp.popleft()
    assert again == first
    site.upfs.answer(*again)
    assert site.hear()[-1][MESSAGE] == "PDUSessionResourceSetupRequest"
    site.world.verify()


def test_a_upf_that_is_full() -> None:
    site = Site()
    site.upfs.full = True
    site.ask()
    assert answer_of(site.hear())["5gsm-cause"] == "insufficient-resources"
    assert site.world.ue().sessions == ()
    site.world.verify()


def test_a_upf_that_does_not_answer() -> None:
    site = Site()
    site.upfs.silent = True
    site.ask()
    upf, key, number, pdu = site.world.pfcp.popleft()
    site.world.unanswered(upf, key, number, pdu)
    assert answer_of(site.hear())["5gsm-cause"] == "insufficient-resources"
    assert site.session().stage == "gone"
    # It may have had the request: it is asked on, so that what it made can be deleted.
    site.upfs.silent = False
    site.world.advance(5)
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_a_upf_that_has_restarted_gets_its_sessions_again() -> None:
    site = Site()
    address = site.establish()
    name, _ = site.upfs.session(address)
    before = site.session()
    site.upfs.tables[name].clear()
    site.upfs.recovery += 1
    site.world.path("up", name, site.upfs.recovery)
    site.upfs.serve()
    after = site.session()
    assert (after.uplink, after.address) == (before.uplink, before.address)
    assert after.n4.downlink == before.access
    assert site.upfs.session(address)[1].seid == after.n4.up_seid
    site.world.verify()


def test_a_connection_that_is_lost_while_a_session_is_made() -> None:
    site = Site()
    site.ask()
    site.hear()
    site.world.lose()
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_modification_by_the_ue() -> None:
    """What the UE asks for without QoS is granted as it is."""
    site = Site()
    site.establish()
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 5}
    site.say(1, {MESSAGE: "pdu-session-modification-request", **head})
    command = answer_of(site.hear())
    assert command[MESSAGE] == "pdu-session-modification-command"
    site.say(1, {MESSAGE: "pdu-session-modification-complete", **head})
    assert site.session().stage == "active"
    assert "T3591/1" not in site.world.ue().timers
    site.world.verify()


def test_release_by_the_operator() -> None:
    site = Site()
    site.establish()
    site.release(1)
    command = site.hear()[-1]
    assert command["ngap"] == "PDUSessionResourceReleaseCommand"
    assert command["payload-container"]["5gsm-cause"] == "reactivation-requested"
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 0}
    site.say(1, {MESSAGE: "pdu-session-release-complete", **head})
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_release_by_the_operator_in_idle() -> None:
    """The UE learns it from the PDU session status when it comes."""
    site = Site()
    site.establish()
    site.idle()
    site.release(1)
    site.release(2)
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    heard = site.service_request("signalling", **{"pdu-session-status": [1]})
    assert heard[-1]["pdu-session-status"] == []
    site.world.verify()


def test_another_ambr_of_the_subscription() -> None:
    """It is in force from the next message of the UE on (TS 23.502 4.3.3.2)."""
    site = Site()
    site.establish()
    site.idle()
    site.subscribe(Ambr(1_000_000, 2_000_000))
    site.service_request(**{"uplink-data-status": [1]})
    site.set_up("InitialContextSetup")
    heard = site.hear()[-1]
    assert heard[MESSAGE] == "PDUSessionResourceModifyRequest"
    command = heard["PDUSessionResourceModifyListModReq"][0]["nas"]
    assert command["session-ambr"] == {"dl-kbps": 2_000, "ul-kbps": 1_000}
    assert site.session().n4.ambr == Ambr(1_000_000, 2_000_000)
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 0}
    site.say(1, {MESSAGE: "pdu-session-modification-complete", **head})
    assert site.session().stage == "active"


def test_radio_link_failure_while_a_session_is_made() -> None:
    """The UE comes by another connection before the gNB has answered: its accept goes there."""
    site = Site()
    site.ask()
    site.hear()
    heard = site.service_request("signalling")
    assert heard[-1][MESSAGE] == "service-accept"
    site.set_up("InitialContextSetup")
    assert site.session().stage == "active"
    site.world.verify()


def test_a_ue_that_starts_anew_while_a_session_is_made() -> None:
    site = Site()
    site.ask()
    site.hear()
    site.phone.open_again(site.phone.request(), ran_id=7)
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_a_paged_ue_that_comes_with_an_update() -> None:
    """It has the user plane for what it was paged for (TS 23.502 4.2.3.3)."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    asked = {"pdu-session-status": [1]}
    site.phone.open_again(site.phone.request("mobility-registration-updating", **asked), ran_id=7)
    assert site.world.ue().paging is None
    site.phone.hear()
    site.phone.ngap("InitialContextSetupResponse")
    assert site.session().user_plane == "requested"
    site.world.verify()


def test_a_session_that_the_ue_has_lost_is_made_anew() -> None:
    site = Site()
    before = site.establish()
    site.idle()
    site.service_request("signalling")
    site.phone.ngap("InitialContextSetupResponse")
    site.ask()
    item = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]
    assert item["nas"]["pdu-address"]["ipv4"] != before
    site.world.verify()


def test_a_network_instance_is_labels() -> None:
    """TS 29.244 8.2.4; a UPF that takes it for a string in dots is none that there is."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    *_, pdu = site.world.pfcp[-1]
    assert b"\x00\x16\x00\x09\x08internet" in pdu
