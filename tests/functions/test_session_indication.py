"""PDU SESSION RESOURCE MODIFY INDICATION (TS 38.413 8.2.5): another downlink tunnel."""

from typing import Any

import pytest

from schemas.gsm.state import Tunnel
from tests.functions.gnb import ies_of
from tests.functions.ngap_messages import flows, indicated
from tests.functions.site import Site

INDICATION = "PDUSessionResourceModifyIndication"
CONFIRM = "PDUSessionResourceModifyConfirm"
LIST = "PDUSessionResourceModifyListModInd"


def with_session() -> Site:
    site = Site()
    site.establish()
    site.hear()
    return site


def indicate(site: Site, *items: dict[str, Any]) -> None:
    site.phone.ngap(INDICATION, **{LIST: list(items)})


def confirm(site: Site) -> dict[str, Any]:
    (sent,) = site.world.sent()
    assert sent["message"] == CONFIRM
    return ies_of(sent)


def failed(site: Site) -> dict[int, Any]:
    name = "pDUSessionResourceModifyIndicationUnsuccessfulTransfer"
    items = confirm(site)["PDUSessionResourceFailedToModifyListModCfm"]
    return {item["pDUSessionID"]: item[name]["cause"] for item in items}


def modified(site: Site) -> dict[int, Any]:
    items = confirm(site)["PDUSessionResourceModifyListModCfm"]
    return {item["pDUSessionID"]: item["pDUSessionResourceModifyConfirmTransfer"] for item in items}


def test_the_upf_sends_there_before_the_gnb_is_told() -> None:
    site = with_session()
    indicate(site, indicated(1, 77))
    assert site.world.sent() == []
    assert site.session().n4.sent is not None
    site.upfs.serve()
    assert site.session().n4.downlink == Tunnel(77, "10.4.0.9")
    (transfer,) = modified(site).values()
    uplink = site.session().uplink
    assert transfer == {
        "qosFlowModifyConfirmList": [{"qosFlowIdentifier": 1}],
        "uLNGU-UP-TNLInformation": {
            "gTPTunnel": {"transportLayerAddress": uplink.address, "gTP-TEID": uplink.teid}
        },
    }
    assert site.world.ue().indication is None
    site.world.verify()


def test_the_same_tunnel_is_confirmed_at_once() -> None:
    site = with_session()
    here = site.session().access
    item = indicated(1, here.teid)
    transfer = item["pDUSessionResourceModifyIndicationTransfer"]["dLQosFlowPerTNLInformation"]
    transfer["uPTransportLayerInformation"]["gTPTunnel"]["transportLayerAddress"] = here.address
    asked = len(site.upfs.asked)
    indicate(site, item)
    assert modified(site).keys() == {1}
    assert len(site.upfs.asked) == asked
    site.world.verify()


def test_a_flow_that_goes_by_the_second_tunnel() -> None:
    """As for a split session with a secondary node; the session's only flow is in the second
    tunnel."""
    site = with_session()
    item = indicated(1, 70, 5)
    transfer = item["pDUSessionResourceModifyIndicationTransfer"]
    transfer["additionalDLQosFlowPerTNLInformation"] = [{"qosFlowPerTNLInformation": flows(71, 1)}]
    indicate(site, item)
    site.upfs.serve()
    assert site.session().access.teid == 71
    (found,) = modified(site).values()
    assert found["qosFlowFailedToModifyList"] == [
        {"qosFlowIdentifier": 5, "cause": {"radioNetwork": "unkown-qos-flow-ID"}}
    ]
    site.world.verify()


def test_what_cannot_be_is_refused_session_by_session() -> None:
    site = with_session()
    site.establish(2)
    site.hear()
    indicate(site, indicated(1, 71), indicated(3, 72), indicated(2, 73, 9))
    site.upfs.serve()
    ies = confirm(site)
    done = ies["PDUSessionResourceModifyListModCfm"]
    assert [item["pDUSessionID"] for item in done] == [1]
    name = "pDUSessionResourceModifyIndicationUnsuccessfulTransfer"
    refused = ies["PDUSessionResourceFailedToModifyListModCfm"]
    assert {item["pDUSessionID"]: item[name]["cause"] for item in refused} == {
        3: {"radioNetwork": "unknown-PDU-session-ID"},
        2: {"radioNetwork": "unkown-qos-flow-ID"},
    }
    site.world.verify()


def test_a_session_twice() -> None:
    site = with_session()
    before = site.session().access
    indicate(site, indicated(1, 71), indicated(1, 72))
    assert failed(site) == {1: {"radioNetwork": "multiple-PDU-session-ID-instances"}}
    assert site.session().access == before
    site.world.verify()


def test_a_session_without_resources() -> None:
    site = with_session()
    released = {"pDUSessionID": 1, "pDUSessionResourceNotifyReleasedTransfer": {"cause": CAUSE}}
    site.phone.ngap("PDUSessionResourceNotify", PDUSessionResourceReleasedListNot=[released])
    indicate(site, indicated(1, 71))
    assert failed(site) == {1: WRONG_STATE}
    site.world.verify()


CAUSE = {"radioNetwork": "unspecified"}
WRONG_STATE = {"protocol": "message-not-compatible-with-receiver-state"}
NO_UPF = {"transport": "transport-resource-unavailable"}


def test_one_at_a_time() -> None:
    site = with_session()
    indicate(site, indicated(1, 71))
    indicate(site, indicated(1, 72))
    assert failed(site) == {1: WRONG_STATE}
    site.upfs.serve()
    assert modified(site).keys() == {1}
    assert site.session().access.teid == 71
    site.world.verify()


def test_a_upf_that_refuses() -> None:
    """The session is then released, as with any modification."""
    site = with_session()
    site.upfs.refuse["SessionModificationRequest"] = 1
    indicate(site, indicated(1, 71))
    site.upfs.serve()
    found = [tree["message"] for tree in site.world.sent()]
    assert CONFIRM in found
    assert site.world.ue().indication is None
    site.world.verify()


def test_a_upf_that_does_not_answer() -> None:
    """The gNB keeps its previous tunnel; the UPF too, when it responds again."""
    site = with_session()
    before = site.session().access
    indicate(site, indicated(1, 71))
    upf, key, number, pdu = site.world.pfcp.popleft()
    site.world.unanswered(upf, key, number, pdu)
    assert failed(site) == {1: NO_UPF}
    assert site.session().access == before
    site.world.advance(60)
    site.upfs.serve()
    assert site.session().n4.downlink == before
    assert site.world.sent() == []
    site.world.verify()


@pytest.mark.parametrize("how", ["released", "lost", "deregistered"])
def test_a_connection_that_is_lost_during_the_modification(how: str) -> None:
    """There is no connection for the confirm."""
    site = with_session()
    indicate(site, indicated(1, 71))
    if how == "released":
        site.phone.ngap("UEContextReleaseRequest", Cause=CAUSE)
    elif how == "lost":
        site.world.lose()
    else:
        site.phone.say(site.phone.deregistration())
    assert CONFIRM not in site.world.names()
    assert site.world.ue().indication is None
    site.upfs.serve()
    assert CONFIRM not in site.world.names()
    site.world.verify()
