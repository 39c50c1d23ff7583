"""PDU sessions, service request and paging, with the rule tables of an emulated UPF."""

from typing import Any

import pytest

import wire
from functions.gsm.user_plane import OVERDUE
from functions.messages.pfcp import rules
from loadgen.upf.messages import session_refused
from schemas.aggregates import upf_aggregate
from schemas.connection.state import Connection
from schemas.subscriber import Ambr, PduSessionType
from tests.functions.site import MESSAGE, Site


def answer_of(heard: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the 5GSM message of the last DL NAS TRANSPORT."""
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
    before = site.session()
    site.upfs.asked.clear()
    site.upfs.serve()
    # Only a new session is reported again by every UPF.
    asked = list(dict.fromkeys(site.upfs.asked))
    assert asked == ["SessionDeletionRequest", "SessionEstablishmentRequest"]
    after = site.session()
    assert after.n4.up_seid != before.n4.up_seid
    assert (after.reported, after.address) == (0, before.address)
    assert site.world.ue().paging is None
    site.upfs.downlink_data(address)
    assert len(site.world.pages) == 5
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    assert site.session().n4.downlink == site.session().access
    site.world.verify()


def test_a_report_that_overtakes_the_response_that_its_session_is_established() -> None:
    """Two functions may decide them in any order, and the UPF reports only the first packet."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    site.world.advance(200)
    site.upfs.answer(*site.world.pfcp.popleft())  # deleted, to be established again
    upf, *_ = asked = site.world.pfcp.pop()
    site.world.pfcp.clear()  # repetitions of the deletion
    assert (site.session().n4.up_seid, len(site.world.pages)) == (0, 4)
    site.upfs.report(upf, site.session().n4.seid)
    assert len(site.world.pages) == 5
    assert answer_to_upf(site) == (0, "Request accepted")
    site.upfs.answer(*asked)
    assert (site.session().n4.up_seid > 0, site.session().reported) == (True, 1)
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    assert (site.session().user_plane, site.session().reported) == ("on", 0)
    site.world.verify()


def test_a_report_of_a_session_that_the_upf_has_lost() -> None:
    """The release of the session waits for the UE only."""
    site = Site()
    site.establish()
    site.release(1)
    site.lose(site.session().n4.seid, site.world.now)
    site.world.pfcp.clear()
    site.upfs.report(site.session().n4.upf, site.session().n4.seid)
    assert answer_to_upf(site) == (0, "Session context not found")
    site.world.verify()


def answer_to_upf(site: Site) -> tuple[int, str]:
    """Return the SEID and the cause of the only message to a UPF."""
    ((_, _, number, pdu),) = site.world.pfcp
    site.world.pfcp.clear()
    tree = wire.pfcp_decode(pdu)
    assert (number, tree["message"]) == (None, "SessionReportResponse")
    return tree["seid"], tree["ies"][0]["Cause"]


def test_downlink_packets_without_a_user_plane_at_the_gnb() -> None:
    """The UPF does not report them again: the user plane is activated again a few times, after a
    pause."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    site.service_request("mobile-terminated-services")
    site.set_up_fails("InitialContextSetup")
    assert (site.session().user_plane, site.session().reported) == ("off", 1)
    site.idle()
    site.world.pages.clear()
    site.world.advance(41)
    assert site.world.pages
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    assert (site.session().user_plane, site.session().reported) == ("on", 0)
    assert not any(name.startswith("downlink-data") for name in site.world.ue().timers)
    site.world.verify()


def test_downlink_packets_that_a_gnb_never_has_resources_for() -> None:
    site = Site()
    address = site.establish()
    site.idle()
    site.service_request("signalling")
    site.phone.ngap("InitialContextSetupResponse")
    site.phone.hear()
    site.upfs.asked.clear()
    site.upfs.downlink_data(address)
    tries = 0
    while site.session().reported:
        assert [tree[MESSAGE] for tree in site.hear()] == ["PDUSessionResourceSetupRequest"]
        site.set_up_fails("PDUSessionResourceSetup")
        tries += 1
        site.world.advance(41)
        site.upfs.serve()
    assert tries == 4
    assert site.upfs.asked == ["SessionDeletionRequest", "SessionEstablishmentRequest"]
    site.world.advance(200)
    assert site.hear() == []
    site.world.verify()


def test_a_modification_that_the_upf_refuses() -> None:
    """The UPF's parameters are unknown after it: the session is established again with the new
    ones."""
    site = Site()
    address = site.establish()
    before = site.session()
    site.upfs.refuse = {"SessionModificationRequest": 1}
    site.idle()
    after = site.session()
    assert site.upfs.asked[-3:] == [
        "SessionModificationRequest",
        "SessionDeletionRequest",
        "SessionEstablishmentRequest",
    ]
    assert after.n4.up_seid not in (0, before.n4.up_seid)
    assert site.upfs.session(address)[1].seid == after.n4.up_seid
    site.upfs.refuse = {"SessionModificationRequest": 1}
    site.service_request(**{"uplink-data-status": [1]})
    site.set_up("InitialContextSetup")
    again = site.session()
    assert (again.uplink, again.n4.downlink) == (after.uplink, again.access)
    assert again.n4.up_seid not in (0, after.n4.up_seid)
    site.world.verify()
    site.upfs.refuse = {"SessionModificationRequest": 1, "SessionEstablishmentRequest": 2}
    site.subscribe(Ambr(1_000_000, 2_000_000))
    site.phone.ngap("PDUSessionResourceReleaseResponse")
    changed = site.hear()[-1]
    assert changed[MESSAGE] == "PDUSessionResourceModifyRequest"
    site.upfs.serve()
    assert site.hear()[-1]["payload-container"]["5gsm-cause"] == "network-failure"


def test_a_late_report_of_a_restart() -> None:
    """A session that was established after the restart is kept."""
    site = Site()
    site.establish()
    name, seid = site.session().n4.upf, site.session().n4.seid
    before = site.world.now
    site.world.advance(1)
    site.upfs.tables[name].clear()
    site.upfs.recovery += 1
    site.world.path("up", name, site.upfs.recovery)
    site.upfs.serve()
    again = site.session().n4
    assert again.since > before
    site.lose(seid, again.since - 1)
    assert site.session().n4 == again
    site.lose(seid, again.since)
    assert site.session().n4.sent.message == "establish"
    site.upfs.tables[name].clear()
    site.upfs.serve()
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
    assert [tree[MESSAGE] for tree in site.hear()] == ["PDUSessionResourceReleaseCommand"]
    site.released()
    assert [tree[MESSAGE] for tree in site.hear()] == ["PDUSessionResourceSetupRequest"]
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
    """The gateway died with the request; another gateway gets it."""
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
    assert site.session().stage == "released"
    # The UPF may have the request: it is repeated, so that the session can be deleted.
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


@pytest.mark.parametrize("kept", [True, False])
def test_a_released_session_during_a_new_association_of_its_upf(kept: bool) -> None:
    """A UPF that may have kept it must delete it, because its address will be reused."""
    site = Site()
    address = site.establish()
    name, _ = site.upfs.session(address)
    seid = site.session().n4.seid
    site.upfs.silent = True
    site.phone.say(site.phone.deregistration())
    assert site.session().stage == "released"
    site.lose(seid, site.world.now, kept=kept)
    assert (site.world.ue().sessions != ()) is kept
    site.world.pfcp.clear()  # requests to the UPF are lost with the old association
    site.upfs.silent = False
    site.world.advance(60)
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert bool(site.upfs.tables[name].by_address) is not kept
    site.world.verify()


def test_a_upf_that_restarts_while_it_is_asked() -> None:
    """It refuses requests before its association; they are repeated after it."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    upf, key, number, _ = site.world.pfcp.popleft()
    refused = session_refused("SessionEstablishmentRequest", site.session().n4.seid, 0, upf, 72)
    site.world.answer_pfcp(refused, upf, key, number)
    site.upfs.silent = False
    assert site.session().stage == "establishing"
    site.world.advance(1)
    site.upfs.recovery += 1
    site.world.path("up", upf, site.upfs.recovery)
    site.upfs.serve()
    assert site.hear()[-1][MESSAGE] == "PDUSessionResourceSetupRequest"
    site.set_up()
    assert site.session().stage == "active"
    assert site.session().n4.sent is None
    site.world.verify()


def test_an_information_element_that_has_to_be_understood() -> None:
    """TS 24.501 7.6.1: the message is rejected."""
    site = Site()
    site.say(1, {"octets": "2e0501c1ffff91050100"})
    answer = answer_of(site.hear())
    assert answer[MESSAGE] == "pdu-session-establishment-reject"
    assert answer["5gsm-cause"] == "invalid-mandatory-information"
    assert site.world.ue().sessions == ()
    site.world.verify()


def test_session_management_information_that_is_none() -> None:
    site = Site()
    site.say(1, {"octets": "7e0041"})
    assert site.hear() == []
    site.world.verify()


def test_a_session_that_was_established_twice() -> None:
    """The UPF must delete the leftover one; a lost deletion is repeated."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    upf, key, number, pdu = site.world.pfcp.popleft()
    site.upfs.answer(upf, key, number, pdu)
    established = wire.pfcp_decode(site.upfs.answered)
    f_teid = {"F-TEID": {"teid": 4242, "ipv4": "10.3.0.1"}}
    another = {
        "F-SEID": {"F-SEID": {"seid": 99, "ipv4": "10.9.0.1"}},
        "Created PDR": {"Created PDR": [{"PDR ID": 1}, f_teid]},
    }
    other = [another.get(next(iter(ie)), ie) for ie in established["ies"]]
    site.world.answer_pfcp({**established, "ies": other}, upf, key, number)
    ((to, owner, numbered, deletion),) = site.world.pfcp
    assert (to, owner) == (upf, upf_aggregate(upf))
    assert wire.pfcp_peek(deletion).seid == 99
    site.world.pfcp.clear()
    site.world.advance(11)
    assert (to, owner, numbered, deletion) in site.world.pfcp
    done = {"message": "SessionDeletionResponse", "seid": 0, "ies": [{"Cause": "Request accepted"}]}
    site.world.answer_pfcp(done, upf, owner, numbered)
    assert site.world.upf(upf).leftovers == ()
    site.world.verify()


@pytest.mark.parametrize("when", ["asked", "answered"])
def test_an_idle_ue_is_paged_after_its_session_was_restored_twice(when: str) -> None:
    """The second one forwards to the gNB that the UE has left, until it is modified."""
    site = Site()
    address = site.establish()
    site.restore_twice(address)
    first, second = site.world.pfcp
    site.world.pfcp.clear()
    site.upfs.answer(*first)
    site.phone.idle()
    if when == "answered":
        site.upfs.silent = False
        site.upfs.serve()
        site.upfs.silent = True
    site.upfs.answer(*second)
    site.upfs.silent = False
    site.upfs.serve()
    at_upf = site.upfs.session(address)[1]
    assert at_upf.seid == site.session().n4.up_seid
    assert site.session().n4.sent is None
    assert "BUFF" in at_upf.rules.fars[rules.DOWNLINK].action
    site.upfs.downlink_data(address)
    assert site.world.pages
    site.world.verify()


def test_a_session_that_ends_at_a_upf_that_has_restarted() -> None:
    """Its SEID may belong to another session there: it is not used in a request."""
    site = Site()
    site.establish()
    site.upfs.silent = True
    site.phone.idle()
    site.lose(site.session().n4.seid, site.world.now + 1)
    peeks = [wire.pfcp_peek(pdu) for *_, pdu in site.world.pfcp]
    assert [peek.message for peek in peeks][-1] == "SessionEstablishmentRequest"
    assert site.session().n4.up_seid == 0
    site.world.verify()


@pytest.mark.parametrize("ftup", [True, False])
def test_a_session_that_was_restored_twice(ftup: bool) -> None:
    """The second one at the UPF is the session; the first is deleted."""
    site = Site(ftup=ftup)
    address = site.establish()
    name, before = site.upfs.session(address)
    site.restore_twice(address)
    assert [number for *_, number, _ in site.world.pfcp] == [site.session().n4.sent.number] * 2
    site.upfs.silent = False
    site.upfs.serve()
    at_upf, session = site.upfs.session(address)[1], site.session()
    assert before.seid != at_upf.seid == session.n4.up_seid
    assert (session.n4.sent, session.n4.downlink) == (None, session.access)
    assert site.world.upf(name).leftovers == ()
    site.world.verify()


def test_a_upf_that_leaves_f_teids_to_the_core() -> None:
    site = Site(ftup=False)
    addresses = [site.establish(psi) for psi in (1, 2)]
    teids = {site.session(psi).uplink.teid for psi in (1, 2)}
    assert len(teids) == 2
    assert 0 not in teids
    for psi, address in zip((1, 2), addresses, strict=True):
        upf, at_upf = site.upfs.session(address)
        uplink = site.session(psi).uplink
        node = site.world.network.upf(upf)
        assert node is not None
        assert uplink.address == node.n3
        assert at_upf.rules.teids.keys() == {uplink.teid}
        assert site.world.owners["teid", f"{upf}/{uplink.teid:08x}"] == "ue/" + site.phone.supi
    site.idle()
    site.upfs.downlink_data(addresses[0])
    site.world.advance(82)
    site.upfs.serve()
    assert {site.session(psi).uplink.teid for psi in (1, 2)} == teids, (
        "established again with the same TEID"
    )
    site.world.verify()


def test_a_connection_that_is_lost_before_a_session_is_accepted() -> None:
    site = Site()
    site.upfs.silent = True
    site.ask()
    site.world.lose()
    site.upfs.silent = False
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def interrupted() -> Site:
    """The UE has the accept of its session, and its connection is released before the gNB has
    answered."""
    site = Site()
    site.ask()
    assert accept_of(site)["pdu-session-identity"] == 1
    site.idle()
    assert (site.session().stage, site.session().user_plane) == ("active", "off")
    return site


def here(site: Site) -> Connection:
    found = site.world.ue().connection
    assert found is not None
    return found


def accept_of(site: Site) -> dict[str, Any]:
    return site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]


def test_a_ue_keeps_a_session_whose_connection_ended_before_the_gnb_answered() -> None:
    site = interrupted()
    status = {"pdu-session-status": [1], "uplink-data-status": [1]}
    accept = site.service_request(**status)[-1]
    assert accept["ngap"] == "InitialContextSetupRequest"
    assert accept["pdu-session-status"] == [1]
    assert site.session().user_plane == "requested"
    site.set_up("InitialContextSetup")
    assert (site.session().stage, site.session().user_plane) == ("active", "on")
    site.world.verify()


def test_downlink_packets_reach_a_ue_whose_connection_ended_before_the_gnb_answered() -> None:
    site = interrupted()
    site.upfs.downlink_data(site.session().address.ipv4)
    assert site.world.pages
    site.service_request("mobile-terminated-services", **{"pdu-session-status": [1]})
    assert site.session().user_plane == "requested"
    site.world.verify()


def test_a_session_whose_accept_did_not_reach_the_ue_ends_by_its_status() -> None:
    site = interrupted()
    site.service_request("signalling", **{"pdu-session-status": []})
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_a_session_whose_accept_did_not_reach_the_ue_is_requested_again() -> None:
    site = interrupted()
    before = site.session().n4.seid
    site.service_request("signalling")
    site.phone.ngap("InitialContextSetupResponse")
    site.ask()
    assert accept_of(site)["pdu-session-identity"] == 1
    site.set_up()
    assert site.session().n4.seid != before
    assert len(site.world.ue().sessions) == 1
    site.world.verify()


def test_an_error_indication_ends_the_request_that_it_names() -> None:
    site = Site()
    site.ask()
    site.hear()
    cause = {"protocol": "abstract-syntax-error-reject"}
    for code in (28, 29):
        assert here(site).asked.keys() == {"setup"}
        about = {"procedureCode": code, "triggeringMessage": "initiating-message"}
        site.phone.ngap("ErrorIndication", Cause=cause, CriticalityDiagnostics=about)
    assert answer_of(site.hear())[MESSAGE] == "pdu-session-establishment-reject"
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    assert not here(site).asked
    site.world.verify()


def test_requests_about_resources_wait_for_the_answer_to_the_one_before() -> None:
    """Two sessions at a time, and each kind of request (TS 38.413 8.2)."""
    site = Site()
    site.ask()
    site.ask(psi=2, pti=2)
    assert [ids(tree, "SetupListSUReq") for tree in site.hear()] == [[1]]
    site.set_up()
    assert [ids(tree, "SetupListSUReq") for tree in site.hear()] == [[2]]
    site.set_up("PDUSessionResourceSetup", 2)
    site.subscribe(Ambr(1_000_000, 2_000_000))
    site.phone.ngap("PDUSessionResourceNotify")
    assert [ids(tree, "ModifyListModReq") for tree in site.hear()] == [[1]]
    site.phone.ngap("PDUSessionResourceModifyResponse")
    assert [ids(tree, "ModifyListModReq") for tree in site.hear()] == [[2]]
    site.phone.ngap("PDUSessionResourceModifyResponse")
    site.release(1)
    site.release(2)
    first, second = site.hear()
    assert (first["ngap"], second["ngap"]) == (
        "PDUSessionResourceReleaseCommand",
        "DownlinkNASTransport",
    )
    assert here(site).unneeded == (2,)
    site.released()
    assert [ids(tree, "ToReleaseListRelCmd") for tree in site.hear()] == [[2]]
    site.released(2)
    assert not here(site).asked


def ids(tree: dict[str, Any], name: str) -> list[int]:
    return [item["pDUSessionID"] for item in tree[f"PDUSessionResource{name}"]]


def test_an_answer_of_the_gnb_that_comes_after_the_release_request() -> None:
    """Message 8 of the connection before message 7: nothing has failed."""
    site = Site()
    site.ask()
    site.hear()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    site.set_up()
    site.phone.ngap("UEContextReleaseComplete")
    site.upfs.serve()
    assert (site.session().stage, site.session().user_plane) == ("active", "off")
    assert site.upfs.rules > 0
    site.world.verify()


def test_modification_by_the_ue() -> None:
    """A request of the UE without QoS is granted unchanged."""
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


def test_the_release_command_is_repeated_as_it_was() -> None:
    """T3592 (6.3.3.5)."""
    site = Site()
    site.establish()
    site.release(1)
    first = site.hear()[-1]["payload-container"]
    assert first["5gsm-cause"] == "reactivation-requested"
    for _ in range(4):
        site.world.advance(16)
        assert answer_of(site.hear()) == first
    site.world.advance(16)
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    site.world.verify()


def test_release_by_the_operator_in_idle() -> None:
    """The UE learns it from the PDU session status in its next request."""
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
    """It is in force from the UE's next message on (TS 23.502 4.3.3.2)."""
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
    """The UE has another connection before the gNB responds: its accept is sent there."""
    site = Site()
    site.ask()
    site.hear()
    heard = site.service_request("signalling")
    assert heard[-1][MESSAGE] == "service-accept"
    site.set_up("InitialContextSetup")
    assert site.session().stage == "active"
    site.world.verify()


def test_a_ue_that_restarts_during_an_establishment() -> None:
    site = Site()
    site.ask()
    site.hear()
    site.phone.open_again(site.phone.request(), ran_id=7)
    site.upfs.serve()
    assert (site.world.ue().sessions, site.upfs.rules) == ((), 0)
    site.world.verify()


def test_a_paged_ue_that_comes_with_an_update() -> None:
    """The user plane of the paged sessions is activated (TS 23.502 4.2.3.3)."""
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


def test_a_session_that_the_ue_has_lost_is_established_again() -> None:
    site = Site()
    before = site.establish()
    site.idle()
    site.service_request("signalling")
    site.phone.ngap("InitialContextSetupResponse")
    site.ask()
    item = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]
    assert item["nas"]["pdu-address"]["ipv4"] != before
    site.world.verify()


@pytest.mark.parametrize("seconds", [1, 16])
def test_a_session_without_an_answer_of_the_gnb_is_established_again(seconds: int) -> None:
    """The UE repeats its request when T3580 expires (TS 24.501 6.4.1.7).

    A gNB that has been silent for ten seconds loses the connection.
    """
    site = Site()
    site.ask()
    before = accept_of(site)
    site.world.advance(seconds)
    site.ask()
    heard = site.hear()
    if seconds == 1:
        assert heard == []
        site.set_up()
    else:
        assert [tree[MESSAGE] for tree in heard] == ["UEContextReleaseCommand"]
        site.phone.ngap("UEContextReleaseComplete")
        site.service_request("signalling")
        site.phone.ngap("InitialContextSetupResponse")
        site.ask()
        accept = accept_of(site)
        assert accept["procedure-transaction-identity"] == 1
        assert accept["pdu-address"] != before["pdu-address"]
        site.set_up()
    session = site.session()
    assert (len(site.world.ue().sessions), session.stage) == (1, "active")
    site.idle()
    site.world.verify()


@pytest.mark.parametrize("seconds", [1, 15])
def test_a_connected_ue_asks_again_for_resources_that_the_gnb_does_not_set_up(seconds: int) -> None:
    site = Site()
    site.establish()
    gone = {"cause": {"radioNetwork": "unspecified"}}
    item = {"pDUSessionID": 1, "pDUSessionResourceNotifyReleasedTransfer": gone}
    site.phone.ngap("PDUSessionResourceNotify", PDUSessionResourceReleasedListNot=[item])
    site.upfs.serve()
    assert site.session().user_plane == "off"
    request = site.phone.service_request("data", **{"uplink-data-status": [1]})
    site.phone.say(request)
    assert site.hear()[-1][MESSAGE] == "PDUSessionResourceSetupRequest"
    site.world.advance(seconds)
    site.phone.say(request)
    heard = [tree[MESSAGE] for tree in site.hear()]
    if seconds == 1:
        assert heard == ["service-accept"], "with the result that the resources are coming"
        site.set_up()
    else:
        assert heard == ["UEContextReleaseCommand"]
        site.phone.ngap("UEContextReleaseComplete")
        site.service_request("data", **{"uplink-data-status": [1]})
        site.set_up("InitialContextSetup")
    assert (site.session().stage, site.session().user_plane) == ("active", "on")
    site.idle()
    site.world.verify()


@pytest.mark.parametrize("stalled", ["UPF", "gNB"])
def test_the_time_of_the_core_is_not_that_of_the_gnb(stalled: str) -> None:
    """The core stalls for 20 s, and T3580 expires meanwhile: the gNB has just been asked, or its
    answer stands before the UE's request in the stream."""
    site = Site()
    site.upfs.silent = stalled == "UPF"
    site.ask()
    site.world.advance(2 if stalled == "UPF" else 20)
    site.upfs.silent = False
    if stalled == "UPF":
        asked = site.session().n4.sent
        assert asked is not None
        site.world.now += 18_000
        site.upfs.serve()
        assert site.session().n4.since < site.world.now - OVERDUE
    else:
        site.set_up()
    site.hear()
    seid = site.session().n4.seid
    site.ask()
    heard = [tree[MESSAGE] for tree in site.hear()]
    if stalled == "UPF":
        assert heard == []
        site.set_up()
    else:
        assert heard == ["dl-nas-transport"], "the accept again"
    assert site.session().n4.seid == seid
    assert (site.session().stage, site.session().user_plane) == ("active", "on")
    site.world.verify()


def test_a_session_on_a_connection_without_a_confirmed_context() -> None:
    """INITIAL CONTEXT SETUP RESPONSE is lost: when T3580 expires, the connection is released."""
    site = Site()
    site.establish()
    site.idle()
    site.service_request("signalling")
    site.ask(psi=2, pti=2)
    assert site.hear() == []
    site.world.advance(9)
    site.ask(psi=2, pti=2)
    assert site.hear() == []
    site.world.advance(7)
    site.ask(psi=2, pti=2)
    assert [tree[MESSAGE] for tree in site.hear()] == ["UEContextReleaseCommand"]
    site.phone.ngap("UEContextReleaseComplete")
    site.service_request("signalling")
    site.phone.ngap("InitialContextSetupResponse")
    site.ask(psi=2, pti=2)
    assert accept_of(site)[MESSAGE] == "pdu-session-establishment-accept"
    site.set_up("PDUSessionResourceSetup", 2)
    session = site.session(2)
    assert (session.stage, session.user_plane) == ("active", "on")
    site.idle()
    site.world.verify()


def test_a_network_instance_is_labels() -> None:
    """TS 29.244 8.2.4; it is not a dotted string."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    *_, pdu = site.world.pfcp[-1]
    assert b"\x00\x16\x00\x09\x08internet" in pdu
