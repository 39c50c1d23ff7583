"""Reports of a gNB about a UE (TS 38.413 8.3.5, 8.3.12, 8.12, 8.15)."""

from typing import Any

from schemas.event import Noted
from schemas.gsm.events import SecondaryRatUsed
from schemas.identity import Tai
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ng_setup
from tests.functions.ngap_messages import indicated, of_ue, usage
from tests.functions.phone import Phone
from tests.functions.world import World


def registered() -> Phone:
    world = CheckedWorld()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    phone.hear()
    return phone


def say(phone: Phone, tree: dict[str, Any]) -> None:
    phone.world.uplink(tree)


def message(phone: Phone, name: str) -> dict[str, Any]:
    assert phone.amf_id is not None
    return of_ue(name, phone.amf_id, phone.ran_id)


def events(world: World) -> list[Any]:
    return list(world.order[-1][1].events)


def test_a_location_report_is_taken_over() -> None:
    phone = registered()
    tree = message(phone, "LocationReport")
    location = tree["ies"][2]["UserLocationInformation"]["userLocationInformationNR"]
    cgi = {**location["nR-CGI"], "nRCellIdentity": 17}
    tai = {**location["tAI"], "tAC": 2}
    moved = {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}
    tree["ies"][2] = {"UserLocationInformation": moved}
    say(phone, tree)
    here = phone.world.ue().connection
    assert here is not None
    assert (here.tai, here.cell) == (Tai("001-01", 2), 17)
    assert phone.world.sent() == []
    phone.world.verify()


def test_the_rrc_state_is_noted() -> None:
    phone = registered()
    say(phone, message(phone, "RRCInactiveTransitionReport"))
    notes = [e.text for e in events(phone.world) if isinstance(e, Noted)]
    assert notes == ["RRCInactiveTransitionReport: inactive"]


def test_the_usage_of_a_secondary_rat_is_in_the_log_with_its_figures() -> None:
    phone = registered()
    say(phone, message(phone, "SecondaryRATDataUsageReport"))
    start = 0xE9F00000
    found = [e for e in events(phone.world) if isinstance(e, SecondaryRatUsed)]
    assert found == [
        SecondaryRatUsed(1, "nr", start, start + 60, 5, 600),
        SecondaryRatUsed(1, "nr", start, start + 60, 5, 600, qfi=1),
    ]
    phone.world.verify()


def reported(name: str, psi: int = 1) -> dict[str, Any]:
    """Return an item with a usage report in the extension of a transfer."""
    information = usage(psi)["secondaryRATDataUsageReportTransfer"]["secondaryRATUsageInformation"]
    extension = {"SecondaryRATUsageInformation": information, "criticality": "ignore"}
    transfer = {"iE-Extensions": [extension]}
    if name[0].islower():
        return {"pDUSessionID": psi, name: transfer}
    return {"pDUSessionID": psi, "iE-Extensions": [{name: transfer, "criticality": "ignore"}]}


def test_the_usage_of_a_secondary_rat_comes_with_the_end_of_resources_too() -> None:
    """TS 23.502 4.21: in UE CONTEXT RELEASE COMPLETE, RELEASE RESPONSE and MODIFY INDICATION."""
    phone = registered()
    release = reported("pDUSessionResourceReleaseResponseTransfer")
    phone.ngap("PDUSessionResourceReleaseResponse", PDUSessionResourceReleasedListRelRes=[release])
    changed = reported("pDUSessionResourceModifyIndicationTransfer")
    transfer = indicated(1)["pDUSessionResourceModifyIndicationTransfer"]
    changed["pDUSessionResourceModifyIndicationTransfer"] |= transfer
    phone.ngap("PDUSessionResourceModifyIndication", PDUSessionResourceModifyListModInd=[changed])
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    complete = reported("PDUSessionResourceReleaseResponseTransfer", 2)
    phone.ngap("UEContextReleaseComplete", PDUSessionResourceListCxtRelCpl=[complete])
    found = [
        (e.psi, e.downlink, e.qfi)
        for _, step in phone.world.order
        for e in step.events
        if isinstance(e, SecondaryRatUsed)
    ]
    each = [(1, 600, None), (1, 600, 1)]
    assert found == [*each, *each, (2, 600, None), (2, 600, 1)]
    assert phone.world.ue().connection is None
    phone.world.verify()


def test_a_connection_that_cannot_be_resumed_is_released_with_its_failure() -> None:
    """8.3.12.3; a connection that cannot be suspended stays."""
    phone = registered()
    say(phone, message(phone, "UEContextSuspendRequest"))
    assert phone.world.names() == ["UEContextSuspendFailure"]
    assert phone.world.ue().connection is not None
    say(phone, message(phone, "UEContextResumeRequest"))
    assert phone.world.names() == ["UEContextResumeFailure"]
    assert phone.world.ue().connection is None
    assert phone.world.ue().registered
    phone.world.verify()


def test_a_connection_that_is_being_released_is_neither() -> None:
    phone = registered()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    assert phone.world.names() == ["UEContextReleaseCommand"]
    for name in ("UEContextSuspendRequest", "UEContextResumeRequest"):
        say(phone, message(phone, name))
        assert phone.world.sent() == []
    phone.world.verify()


def test_a_faulty_request_on_a_connection_that_is_being_released() -> None:
    """Procedures have no outcome there: only an ERROR INDICATION is sent."""
    phone = registered()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.world.sent()
    tree = message(phone, "HandoverRequired")
    tree["ies"] = tree["ies"][:2]
    say(phone, tree)
    assert phone.world.names() == ["ErrorIndication"]
    phone.world.verify()


def test_a_faulty_request_has_its_failure_message() -> None:
    """TS 38.413 10.3.5, with the missing IEs."""
    phone = registered()
    tree = message(phone, "HandoverRequired")
    tree["ies"] = tree["ies"][:2]
    say(phone, tree)
    (failure,) = phone.world.sent()
    assert failure["message"] == "HandoverPreparationFailure"
    ies = {k: v for item in failure["ies"] for k, v in item.items()}
    assert ies["Cause"] == {"protocol": "abstract-syntax-error-reject"}
    missing = ies["CriticalityDiagnostics"]["iEsCriticalityDiagnostics"]
    assert [item["iE-ID"] for item in missing] == [29, 105, 61, 101]
    phone.world.verify()
