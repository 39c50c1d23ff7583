"""Messages about a session that its UPF has not sent: of another UPF, or about another session."""

from typing import Any

import pytest

import wire
from schemas.cloudevents import CloudEvent, EventType
from schemas.event import Noted
from schemas.identity import index_seid
from schemas.step import HandOff
from tests.functions.site import Site
from tests.functions.world import OTHER_UPF, UPF

ACCEPTED = "Request accepted"
NOT_FOUND = "Session context not found"


def idle() -> tuple[Site, str, str]:
    """Return an idle UE with a session, its UPF, and the other UPF."""
    site = Site()
    site.establish()
    site.idle()
    mine = site.session().n4.upf
    site.world.pages.clear()
    return site, mine, OTHER_UPF if mine == UPF else UPF


def report(site: Site, *more: dict[str, Any]) -> dict[str, Any]:
    ies = [{"Report Type": ["DLDR"]}, {"Downlink Data Report": [{"PDR ID": 2}]}, *more]
    seid = site.session().n4.seid
    return {"message": "SessionReportRequest", "seid": seid, "sequence": 77, "ies": ies}


def answer(site: Site) -> tuple[str, int, str]:
    """Return the UPF, the SEID and the cause of the only message to a UPF."""
    ((upf, key, number, pdu),) = site.world.pfcp
    site.world.pfcp.clear()
    tree = wire.pfcp_decode(pdu)
    assert (key, number) == (index_seid(site.session().n4.seid), None)
    assert (tree["message"], tree["sequence"]) == ("SessionReportResponse", 77)
    return upf, tree["seid"], tree["ies"][0]["Cause"]


def notes(site: Site) -> list[str]:
    events = [event for _, step in site.world.order for event in step.events]
    return [event.text for event in events if isinstance(event, Noted)]


def leftovers(site: Site) -> list[HandOff]:
    outputs = [output for _, step in site.world.order for output in step.outputs]
    found = [output for output in outputs if isinstance(output, HandOff)]
    return [output for output in found if output.type == EventType.SESSION_LEFT]


@pytest.mark.parametrize("deletes", [False, True])
def test_a_report_of_another_upf(deletes: bool) -> None:
    """TS 29.244 8.2.1, #65. It pages no UE, and ends no session."""
    site, mine, other = idle()
    more = [{"PFCPSRReq-Flags": ["PSDBU"]}] if deletes else []
    site.world.answer_pfcp(report(site, *more), other)
    assert answer(site) == (other, 0, NOT_FOUND)
    assert not site.world.pages
    assert (site.session().stage, site.session().reported) == ("active", 0)
    assert notes(site)[-1] == f"a message of UPF {other} about a session of UPF {mine}"
    site.world.answer_pfcp(report(site), mine)
    assert answer(site) == (mine, site.session().n4.up_seid, ACCEPTED)
    assert site.world.pages
    site.world.verify()


def test_a_report_of_upfs_that_share_an_address() -> None:
    """The gateway cannot tell them apart: the UPF of the session must be one of them."""
    site, mine, other = idle()
    site.world.answer_pfcp(report(site), f"{other},{mine}")
    assert answer(site) == (mine, site.session().n4.up_seid, ACCEPTED)
    assert site.world.pages
    site.world.pages.clear()
    site.world.answer_pfcp(report(site), f"{other},10.9.0.77")
    assert answer(site) == (other, 0, NOT_FOUND)
    site.world.verify()


def test_a_faulty_report_of_another_upf() -> None:
    site, mine, other = idle()
    site.world.answer_pfcp({**report(site), "ies": []}, other)
    assert answer(site) == (other, 0, NOT_FOUND)
    site.world.answer_pfcp({**report(site), "ies": []}, mine)
    assert answer(site)[2] == "Mandatory IE missing"
    site.world.verify()


def asked() -> tuple[Site, str, str, int | None, bytes]:
    """Return a UE whose session is being established, and the request."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    return (site, *site.world.pfcp.popleft())


def established(site: Site, asked_: tuple[str, str, int | None, bytes]) -> dict[str, Any]:
    """Return the response of the UPF, which the core does not get yet."""
    upf, _, _, pdu = asked_
    tree = wire.pfcp_decode(pdu)
    answer = site.upfs._do(upf, tree, pdu)  # pyright: ignore[reportPrivateUsage]
    return {**answer, "sequence": 0}


@pytest.mark.parametrize("fault", ["upf", "seid", "unasked", "upf unasked"])
def test_a_forged_establishment_response(fault: str) -> None:
    """Its F-TEID must not reach the gNB, and the UPF is not asked to delete what it names."""
    site, upf, key, number, pdu = asked()
    true = established(site, (upf, key, number, pdu))
    f_teid = {"F-TEID": {"teid": 0xBAD, "ipv4": "192.0.2.66"}}
    bad = {"Created PDR": [{"PDR ID": 1}, f_teid]}
    forged = {**true, "ies": [bad if "Created PDR" in ie else ie for ie in true["ies"]]}
    other = OTHER_UPF if upf == UPF else UPF
    if fault == "seid":
        forged["seid"] = true["seid"] + 1
    sender = other if "upf" in fault else upf
    forged_number = None if "unasked" in fault else number
    site.world.answer_pfcp(forged, sender, key, forged_number)
    assert site.session().n4.sent is not None
    assert site.session().uplink is None
    # The SEID of the core is a secret of the core and the UPF. With it, it is a late response.
    assert len(leftovers(site)) == (fault == "unasked")
    site.world.answer_pfcp(true, upf, key, number)
    uplink = site.session().uplink
    assert uplink is not None
    assert uplink.teid != 0xBAD
    site.world.verify()


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.1"])  # noqa: S104 - a test of it
def test_an_f_teid_that_no_gnb_can_send_to(address: str) -> None:
    site, upf, key, number, pdu = asked()
    true = established(site, (upf, key, number, pdu))
    bad = {"Created PDR": [{"PDR ID": 1}, {"F-TEID": {"teid": 7, "ipv4": address}}]}
    ies = [bad if "Created PDR" in ie else ie for ie in true["ies"]]
    site.world.answer_pfcp({**true, "ies": ies}, upf, key, number)
    assert site.world.ue().sessions == ()
    assert any("no F-TEID of the UPF" in text for text in failures(site))
    site.world.verify()


def test_an_establishment_response_with_the_node_id_of_another_upf() -> None:
    """The session is deleted at the UPF that has it."""
    site, upf, key, number, pdu = asked()
    true = established(site, (upf, key, number, pdu))
    ies = [{"Node ID": {"ipv4": "10.9.0.77"}} if "Node ID" in ie else ie for ie in true["ies"]]
    site.world.answer_pfcp({**true, "ies": ies}, upf, key, number)
    assert site.world.ue().sessions == ()
    assert any("the Node ID of another UPF: 10.9.0.77" in text for text in failures(site))
    assert len(leftovers(site)) == 1
    site.world.verify()


def failures(site: Site) -> list[str]:
    events = [event for _, step in site.world.order for event in step.events]
    return [str(getattr(event, "reason", "")) for event in events]


def test_a_report_of_an_unknown_session_by_upfs_that_share_an_address() -> None:
    """The first of them answers that it has no such session."""
    site, mine, other = idle()
    del mine
    key = index_seid(1)
    event = site.world.from_n4(
        EventType.PFCP_UPLINK, wire.pfcp_encode(report(site)), f"{other},10.9.0.77", key
    )
    assert isinstance(event, CloudEvent)
    site.world.deliver(event)
    ((upf, _, _, pdu),) = site.world.pfcp
    assert upf == other
    assert wire.pfcp_decode(pdu)["ies"][0]["Cause"] == NOT_FOUND
