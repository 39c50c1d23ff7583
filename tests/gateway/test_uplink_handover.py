"""Messages of a UE after a handover from another gNB: their routes and their sequence."""

from typing import Any

import wire
from schemas.identity import index_ngap, make_amf_ue_ngap_id
from schemas.procedures import Procedure
from tests.functions.handover_site import RADIO, TO_SOURCE, tunnel
from tests.gateway.edge import Edge
from tests.gateway.test_uplink import CIPHERED, check

AMF_ID = make_amf_ue_ngap_id(777, 1)
KEY = index_ngap(AMF_ID)


def encode(message: str, **ies: Any) -> bytes:
    return wire.ngap_encode(
        {"message": message, "ies": [{k.replace("_", "-"): v} for k, v in ies.items()]}
    )


def path_switch_request(ran_id: int) -> bytes:
    flows = [{"qosFlowIdentifier": 1}]
    transfer = {"dL-NGU-UP-TNLInformation": tunnel(1, 1), "qosFlowAcceptedList": flows}
    cgi = {"pLMNIdentity": "001-01", "nRCellIdentity": 16}
    tai = {"pLMNIdentity": "001-01", "tAC": 1}
    names = ("nRencryptionAlgorithms", "nRintegrityProtectionAlgorithms")
    names += ("eUTRAencryptionAlgorithms", "eUTRAintegrityProtectionAlgorithms")
    ies: dict[str, Any] = {
        "RAN-UE-NGAP-ID": ran_id,
        "SourceAMF-UE-NGAP-ID": AMF_ID,
        "UserLocationInformation": {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}},
        "UESecurityCapabilities": dict.fromkeys(names, "c000"),
        "PDUSessionResourceToBeSwitchedDLList": [
            {"pDUSessionID": 1, "pathSwitchRequestTransfer": transfer}
        ],
    }
    pdu = encode("PathSwitchRequest", **ies)
    assert wire.ngap_check(pdu) is None
    return pdu


async def test_path_switch_begins_anew(edge: Edge) -> None:
    """The route follows from the UE's existing AMF-UE-NGAP-ID; each gNB has its own count."""
    ran = await edge.gnb()
    event = await ran.sent(path_switch_request(5))
    check(edge, event, Procedure.HANDOVER, KEY, 777)
    assert event.sequence == 0
    assert (await ran.sent(ran.uplink(CIPHERED, AMF_ID, 5))).sequence == 1
    assert (await ran.sent(ran.uplink(CIPHERED, AMF_ID, 5))).sequence == 2
    assert (await ran.sent(path_switch_request(5))).sequence == 0


async def test_target_begins_with_its_acknowledge(edge: Edge) -> None:
    ran = await edge.gnb()
    ids = {"AMF-UE-NGAP-ID": AMF_ID, "RAN-UE-NGAP-ID": 6}
    transfer = {
        "dL-NGU-UP-TNLInformation": tunnel(1, 1),
        "qosFlowSetupResponseList": [{"qosFlowIdentifier": 1}],
    }
    item = {"pDUSessionID": 1, "handoverRequestAcknowledgeTransfer": transfer}
    lists = {
        "PDUSessionResourceAdmittedList": [item],
        "TargetToSource-TransparentContainer": TO_SOURCE,
    }
    event = await ran.sent(encode("HandoverRequestAcknowledge", **ids, **lists))
    check(edge, event, Procedure.HANDOVER, KEY, 777)
    assert event.sequence == 0
    assert (await ran.sent(ran.uplink(CIPHERED, AMF_ID, 6))).sequence == 1


async def test_what_has_no_ran_ue_ngap_id_is_not_counted(edge: Edge) -> None:
    ran = await edge.gnb()
    await ran.sent(path_switch_request(0))
    ids = {"AMF-UE-NGAP-ID": AMF_ID}
    event = await ran.sent(encode("HandoverFailure", **ids, Cause=RADIO))
    assert (event.partitionkey, event.sequence) == (KEY, None)
    assert (await ran.sent(ran.uplink(CIPHERED, AMF_ID, 0))).sequence == 1
