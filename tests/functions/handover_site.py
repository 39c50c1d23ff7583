"""A UE with three gNBs, for tests of handovers."""

import hashlib
import hmac
from typing import Any, Final

import wire
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import setup_request
from tests.functions.phone import Phone
from tests.functions.site import Site

TACS: Final = {1: 1, 2: 2, 3: 2}
"""The tracking area of each gNB."""
TO_TARGET, TO_SOURCE = "0a0b0c", "0d0e0f"
RADIO: Final = {"radioNetwork": "handover-desirable-for-radio-reason"}


def gnb_of(number: int) -> str:
    return f"001-01-gnb-24-{number:x}"


def association_of(number: int) -> str:
    return f"a{number}"


def gnb_id(number: int) -> dict[str, Any]:
    bits = {"gNB-ID": {"value": f"{number:06x}", "length": 24}}
    return {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": bits}}


def tunnel(teid: int, gnb: int) -> dict[str, Any]:
    return {"gTPTunnel": {"transportLayerAddress": f"10.4.0.{gnb}", "gTP-TEID": teid}}


def ies_of(tree: dict[str, Any]) -> dict[str, Any]:
    return {k: v for item in tree["ies"] for k, v in item.items()}


def next_hop(kamf: bytes, kgnb: bytes, ncc: int) -> bytes:
    """Return the NH for an NCC from 1, as a UE derives it (TS 33.501 A.10)."""
    nh = kgnb
    for _ in range(ncc):
        nh = hmac.new(kamf, b"\x6f" + nh + b"\x00\x20", hashlib.sha256).digest()
    return nh


class Mobile(Site):
    """A UE with one or more sessions at gNB 1, and gNBs 2 and 3."""

    def __init__(self, sessions: int = 1) -> None:
        super().__init__(world=CheckedWorld, features=("EMPU",))
        for number in (2, 3):
            self.set_up_gnb(number)
        self.address = [self.establish(psi + 1) for psi in range(sessions)]
        self.world.downlink.clear()

    def set_up_gnb(self, number: int, association: str = "") -> None:
        tree = setup_request(tac=TACS[number])
        tree["ies"][0] = {"GlobalRANNodeID": gnb_id(number)}
        at = association or association_of(number)
        self.world.uplink(tree, gnb_of(number), at)
        assert "NGSetupResponse" in [wire.ngap_peek(pdu).message for *_, pdu in self.world.downlink]

    # Messages of gNBs

    def say_as(self, number: int, message: str, *ies: dict[str, Any]) -> None:
        """Send a message of a gNB with the given IEs only."""
        tree = {"message": message, "ies": list(ies)}
        self.world.uplink(tree, gnb_of(number), association_of(number))

    def location(self, number: int) -> dict[str, Any]:
        tai = {"pLMNIdentity": "001-01", "tAC": TACS[number]}
        cgi = {"pLMNIdentity": "001-01", "nRCellIdentity": 16 * number}
        return {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}

    def path_switch_request(
        self,
        number: int = 2,
        ran_id: int = 21,
        sessions: tuple[int, ...] = (1,),
        failed: tuple[int, ...] = (),
        capabilities: str = "c000",
        **changes: Any,
    ) -> None:
        transfer = [
            {
                "pDUSessionID": psi,
                "pathSwitchRequestTransfer": {
                    "dL-NGU-UP-TNLInformation": tunnel(1000 * number + psi, number),
                    "qosFlowAcceptedList": [{"qosFlowIdentifier": 1}],
                },
            }
            for psi in sessions
        ]
        cause = {"cause": {"radioNetwork": "radio-resources-not-available"}}
        unset = [
            {"pDUSessionID": psi, "pathSwitchRequestSetupFailedTransfer": cause} for psi in failed
        ]
        ies = {
            "RAN-UE-NGAP-ID": ran_id,
            "SourceAMF-UE-NGAP-ID": self.phone.amf_id,
            "UserLocationInformation": self.location(number),
            "UESecurityCapabilities": {
                "nRencryptionAlgorithms": capabilities,
                "nRintegrityProtectionAlgorithms": capabilities,
                "eUTRAencryptionAlgorithms": "0000",
                "eUTRAintegrityProtectionAlgorithms": "0000",
            },
            "PDUSessionResourceToBeSwitchedDLList": transfer,
            **({"PDUSessionResourceFailedToSetupListPSReq": unset} if unset else {}),
            **changes,
        }
        self.say_as(number, "PathSwitchRequest", *({k: v} for k, v in ies.items()))

    def handover_required(
        self, number: int = 2, sessions: tuple[int, ...] = (1,), tac: int = 0, **changes: Any
    ) -> None:
        node = {
            "globalRANNodeID": gnb_id(number),
            "selectedTAI": {"pLMNIdentity": "001-01", "tAC": tac or TACS.get(number, 1)},
        }
        items = [{"pDUSessionID": psi, "handoverRequiredTransfer": {}} for psi in sessions]
        ies = {
            "HandoverType": "intra5gs",
            "Cause": RADIO,
            "TargetID": {"targetRANNodeID": node},
            "DirectForwardingPathAvailability": None,
            "PDUSessionResourceListHORqd": items,
            "SourceToTarget-TransparentContainer": TO_TARGET,
            **changes,
        }
        self.phone.ngap("HandoverRequired", **{k: v for k, v in ies.items() if v is not None})

    def acknowledge(
        self,
        amf_id: int,
        number: int = 2,
        ran_id: int = 21,
        sessions: tuple[int, ...] = (1,),
        failed: tuple[int, ...] = (),
        forwarding: bool = False,
    ) -> None:
        items: list[dict[str, Any]] = []
        for psi in sessions:
            flow: dict[str, Any] = {"qosFlowIdentifier": 1}
            transfer: dict[str, Any] = {
                "dL-NGU-UP-TNLInformation": tunnel(1000 * number + psi, number)
            }
            if forwarding:
                transfer["dLForwardingUP-TNLInformation"] = tunnel(9000 + psi, number)
                flow["dataForwardingAccepted"] = "data-forwarding-accepted"
            transfer["qosFlowSetupResponseList"] = [flow]
            items.append({"pDUSessionID": psi, "handoverRequestAcknowledgeTransfer": transfer})
        cause = {"cause": {"radioNetwork": "radio-resources-not-available"}}
        name = "handoverResourceAllocationUnsuccessfulTransfer"
        unset = [{"pDUSessionID": psi, name: cause} for psi in failed]
        self.say_as(
            number,
            "HandoverRequestAcknowledge",
            {"AMF-UE-NGAP-ID": amf_id},
            {"RAN-UE-NGAP-ID": ran_id},
            {"PDUSessionResourceAdmittedList": items},
            *([{"PDUSessionResourceFailedToSetupListHOAck": unset}] if unset else []),
            {"TargetToSource-TransparentContainer": TO_SOURCE},
        )

    def notify(self, amf_id: int, number: int = 2, ran_id: int = 21) -> None:
        self.say_as(
            number,
            "HandoverNotify",
            {"AMF-UE-NGAP-ID": amf_id},
            {"RAN-UE-NGAP-ID": ran_id},
            {"UserLocationInformation": self.location(number)},
        )

    def from_target(self, amf_id: int, message: str, number: int = 2, **ies: Any) -> None:
        ran_id = ies.pop("ran_id", 21)
        ids = {"AMF-UE-NGAP-ID": amf_id}, {"RAN-UE-NGAP-ID": ran_id}
        self.say_as(number, message, *ids, *({k: v} for k, v in ies.items()))

    # Messages to gNBs

    def heard(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return association, name and IEs of each downlink PDU."""
        found: list[tuple[str, str, dict[str, Any]]] = []
        for _, association, pdu in self.world.downlink:
            tree = wire.ngap_decode(pdu)
            found.append((association, tree["message"], ies_of(tree)))
        self.world.downlink.clear()
        return found

    def one(self, association: str, message: str) -> dict[str, Any]:
        """Return the IEs of the only PDU."""
        found = self.heard()
        assert [(a, m) for a, m, _ in found] == [(association, message)]
        return found[0][2]

    # Whole procedures

    def prepare(self, number: int = 2, sessions: tuple[int, ...] = (1,)) -> int:
        """Prepare the target, and return the AMF-UE-NGAP-ID there."""
        self.handover_required(number, sessions)
        found = self.one(association_of(number), "HandoverRequest")
        return int(found["AMF-UE-NGAP-ID"])

    def command(self, number: int = 2, sessions: tuple[int, ...] = (1,)) -> int:
        """Send the UE to the target, and return the AMF-UE-NGAP-ID there."""
        amf_id = self.prepare(number, sessions)
        self.acknowledge(amf_id, number, sessions=sessions)
        self.one(self.phone.association, "HandoverCommand")
        return amf_id

    def arrive(self, number: int, ran_id: int, amf_id: int | None = None) -> None:
        """Move the UE to another gNB."""
        phone = self.phone
        phone.gnb, phone.association = gnb_of(number), association_of(number)
        phone.ran_id, phone.tac = ran_id, TACS[number]
        phone.amf_id = amf_id or phone.amf_id

    def register_again(self, kind: str = "mobility-registration-updating") -> dict[str, Any]:
        """Register on the current connection, and return the accept."""
        self.phone.say(self.phone.request(kind))
        heard = [tree for tree in self.phone.hear() if "registration-accept" in tree.values()]
        self.phone.guti = heard[-1]["5g-guti"]["guti"]
        self.phone.say({"message-type": "registration-complete"})
        return heard[-1]

    @property
    def kamf(self) -> bytes:
        return self.phone.kamf

    def downlink_at_upf(self, address: str) -> tuple[int, str]:
        """Return the TEID and the address of a UE's downlink tunnel at the UPF."""
        found = self.session().n4.downlink
        _, session = self.upfs.session(address)
        assert session is not None
        return (found.teid, found.address) if found is not None else (0, "")


def other_phone(site: Mobile) -> Phone:
    """Return the same UE after a restart."""
    phone = Phone(site.world)
    phone.ran_id, phone.sqn = 9000, site.phone.sqn
    return phone
