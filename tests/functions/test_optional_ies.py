"""Optional IEs of the first message of a UE, and of those with which its connection ends.

TS 38.413 9.2.5.1 (INITIAL UE MESSAGE), 9.2.2.4 (UE CONTEXT RELEASE REQUEST), 9.2.2.6 (UE CONTEXT
RELEASE COMPLETE). A gNB may send any of them, in any combination.
"""

from itertools import chain, combinations
from typing import Any, Final

import pytest

import wire
from tests.functions.gnb import ies_of, ng_setup
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import World

OF_INITIAL: Final[dict[str, Any]] = {
    "FiveG-S-TMSI": {"aMFSetID": 5, "aMFPointer": 6, "fiveG-TMSI": 7},
    "AMFSetID": 1,
    "UEContextRequest": "requested",
    "AllowedNSSAI": [{"s-NSSAI": {"sST": 1, "sD": "010203"}}],
    "SourceToTarget-AMFInformationReroute": {"configuredNSSAI": "01" * 128},
    "SelectedPLMNIdentity": "001-01",
    "IABNodeIndication": "true",
    "RedCapIndication": "redcap",
}
SUBSETS: Final = list(chain.from_iterable(combinations(OF_INITIAL, n) for n in (0, 1, 2, 8)))


def initial(phone: Phone, nas: bytes, names: tuple[str, ...]) -> None:
    given = {"UEContextRequest": None, **{name: OF_INITIAL[name] for name in names}}
    phone.initial(nas, **given)


@pytest.mark.parametrize("names", SUBSETS, ids=",".join)
def test_a_registration_with_each_optional_ie(names: tuple[str, ...]) -> None:
    """8.6.1.2: only UE Context Request changes the answer, which then has a UE context."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    request = phone.request()
    initial(phone, wire.nas_encode(request), names)
    phone.authenticate()
    accept = phone.secure(request)
    assert accept["message-type"] == "registration-accept"
    asked = "UEContextRequest" in names
    carrier = "InitialContextSetupRequest" if asked else "DownlinkNASTransport"
    assert accept["ngap"] == carrier
    assert world.ue().registered
    world.verify()


@pytest.mark.parametrize("names", SUBSETS, ids=",".join)
def test_a_service_request_with_each_optional_ie(names: tuple[str, ...]) -> None:
    """The 5G-S-TMSI of the NAS message identifies the UE; that of the gNB may be another."""
    site = Site()
    site.establish()
    site.idle()
    phone = site.phone
    assert phone.guti is not None
    assert phone.security is not None
    s_tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": phone.guti["tmsi"]}
    request = {
        "message-type": "service-request",
        "ngksi": {"native": phone.ngksi},
        "service-type": "data",
        "5g-s-tmsi": {"s-tmsi": s_tmsi},
        "uplink-data-status": [1],
    }
    phone.ran_id += 1
    initial(phone, phone.security.protect_initial(wire.nas_encode(request)), names)
    (accept,) = site.hear()
    assert accept["message-type"] == "service-accept"
    assert accept["ngap"] == "InitialContextSetupRequest"  # the session needs a context
    site.set_up("InitialContextSetup")
    assert site.session().user_plane == "on"
    site.world.verify()


CELL: Final = {"nGRAN-CGI": {"nR-CGI": {"pLMNIdentity": "001-01", "nRCellIdentity": 16}}}
OF_COMPLETE: Final[dict[str, Any]] = {
    "UserLocationInformation": {
        "userLocationInformationNR": {
            "nR-CGI": {"pLMNIdentity": "001-01", "nRCellIdentity": 17},
            "tAI": {"pLMNIdentity": "001-01", "tAC": 1},
            "timeStamp": "00000001",
        }
    },
    "InfoOnRecommendedCellsAndRANNodesForPaging": {
        "recommendedCellsForPaging": {"recommendedCellList": [{**CELL, "timeStayedInCell": 5}]},
        "recommendRANNodesForPaging": {
            "recommendedRANNodeList": [
                {"aMFPagingTarget": {"tAI": {"pLMNIdentity": "001-01", "tAC": 1}}}
            ]
        },
    },
    "PDUSessionResourceListCxtRelCpl": [{"pDUSessionID": 1}],
    "CriticalityDiagnostics": {"procedureCode": 41},
}
COMPLETES: Final = list(chain.from_iterable(combinations(OF_COMPLETE, n) for n in range(5)))


@pytest.mark.parametrize("names", COMPLETES, ids=",".join)
def test_a_release_with_each_optional_ie(names: tuple[str, ...]) -> None:
    site = Site()
    site.establish()
    listed = [{"pDUSessionID": 1}] if len(names) % 2 else None
    sessions = {"PDUSessionResourceListCxtRelReq": listed} if listed else {}
    site.phone.ngap(
        "UEContextReleaseRequest", **sessions, Cause={"radioNetwork": "user-inactivity"}
    )
    site.phone.hear()
    site.phone.ngap("UEContextReleaseComplete", **{name: OF_COMPLETE[name] for name in names})
    site.upfs.serve()
    ue = site.world.ue()
    assert (ue.connection, ue.registered) == (None, True)
    assert site.session().user_plane == "off"
    site.world.verify()


def pagings(site: Site) -> list[dict[str, Any]]:
    found = [ies_of(wire.ngap_decode(pdu)) for _, _, pdu in site.world.pages]
    site.world.pages.clear()
    return found


def test_recommended_cells_are_in_the_next_paging() -> None:
    """8.3.3.2, 8.5.1.2: with the number of the attempt, so that the gNB pages more cells later."""
    site = Site()
    address = site.establish()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    name = "InfoOnRecommendedCellsAndRANNodesForPaging"
    site.phone.ngap("UEContextReleaseComplete", **{name: OF_COMPLETE[name]})
    site.upfs.serve()
    site.phone.hear()
    site.upfs.downlink_data(address)
    (paging,) = pagings(site)
    recommended = OF_COMPLETE[name]["recommendedCellsForPaging"]
    assistance = paging["AssistanceDataForPaging"]
    cells = assistance["assistanceDataForRecommendedCells"]
    assert cells == {"recommendedCellsForPaging": recommended}
    site.world.advance(60)
    each = [assistance, *(later["AssistanceDataForPaging"] for later in pagings(site))]
    assert [one["pagingAttemptInformation"] for one in each] == [
        {"pagingAttemptCount": count, "intendedNumberOfPagingAttempts": 4} for count in (1, 2, 3, 4)
    ]
    site.world.verify()


def test_recommended_cells_are_those_of_the_last_connection() -> None:
    site = Site()
    address = site.establish()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    name = "InfoOnRecommendedCellsAndRANNodesForPaging"
    site.phone.ngap("UEContextReleaseComplete", **{name: OF_COMPLETE[name]})
    site.service_request()
    site.idle()
    site.phone.hear()
    site.upfs.downlink_data(address)
    (paging,) = pagings(site)
    assert "AssistanceDataForPaging" not in paging
    site.world.verify()
