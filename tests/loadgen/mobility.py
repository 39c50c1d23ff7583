"""Handovers and updates of the test AMF, which are correct unless a test changes its messages."""

from typing import TYPE_CHECKING, Any

import wire
from loadgen.ue.profile import algorithm_bits

if TYPE_CHECKING:
    from tests.loadgen.amf import Amf, Connection

Tree = dict[str, Any]


def algorithms_of(capability: Tree) -> Tree:
    """Return the UE Security Capabilities IE of NGAP."""
    return {
        "nRencryptionAlgorithms": algorithm_bits(tuple(capability["ea"])),
        "nRintegrityProtectionAlgorithms": algorithm_bits(tuple(capability["ia"])),
        "eUTRAencryptionAlgorithms": "0000",
        "eUTRAintegrityProtectionAlgorithms": "0000",
    }


class Mobility:
    """The AMF's procedures for a UE that moves."""

    def __init__(self, amf: "Amf") -> None:
        self.amf = amf
        self.keeps_pair = False
        """Whether the AMF gives the same pair of NH and NCC again instead of a fresh one."""
        self.keeps_source = False
        """Whether the source is not released."""
        self.moves_tunnels = True
        self.silent: set[str] = set()
        """Messages that are not answered."""

    # registration updates in connected mode

    def update(self, to: "Connection", tree: Tree) -> None:
        amf, ue = self.amf, to.ue
        assert ue is not None
        to.request = tree
        amf.by_tmsi.pop(ue.tmsi, None)
        amf.last_id += 1
        ue.tmsi = 0xC0000000 + amf.last_id
        amf.by_tmsi[ue.tmsi] = ue
        accept = amf.registration_accept(to)
        if "pdu-session-status" in tree:
            accept["pdu-session-status"] = sorted(amf.smf.of(ue.supi))
        amf.down(to, accept)

    # Xn

    def on_PathSwitchRequest(self, gnb: str, stream: int, ies: Tree) -> None:
        amf = self.amf
        to = amf.connections[ies["SourceAMF-UE-NGAP-ID"]]
        assert to.ue is not None
        assert ies["UESecurityCapabilities"] == algorithms_of(to.ue.capability)
        to.gnb, to.stream, to.ran = gnb, stream, ies["RAN-UE-NGAP-ID"]
        switched: list[Tree] = []
        for item in ies["PDUSessionResourceToBeSwitchedDLList"]:
            transfer = item["pathSwitchRequestTransfer"]
            self._move(to, item["pDUSessionID"], transfer["dL-NGU-UP-TNLInformation"])
            done: Tree = {"pathSwitchRequestAcknowledgeTransfer": {}}
            switched.append({"pDUSessionID": item["pDUSessionID"], **done})
        if "PathSwitchRequest" in self.silent:
            return
        amf.send_ue(
            to,
            "PathSwitchRequestAcknowledge",
            {"SecurityContext": self._pair(to)},
            {"PDUSessionResourceSwitchedList": switched},
            {"AllowedNSSAI": [s.ngap() for s in amf.slices]},
        )

    def _move(self, to: "Connection", psi: int, tunnel: Tree) -> None:
        assert to.ue is not None
        if self.moves_tunnels:
            self.amf.smf.sessions[to.ue.supi, psi].dl = tunnel["gTPTunnel"]

    def _pair(self, to: "Connection") -> Tree:
        assert to.ue is not None
        if not self.keeps_pair:
            to.ncc, to.nh = (to.ncc + 1) % 8, wire.nh(to.ue.kamf, to.nh)
        return {"nextHopChainingCount": to.ncc, "nextHopNH": to.nh.hex()}

    # N2

    def on_HandoverRequired(self, _: str, __: int, ies: Tree) -> None:
        if "HandoverRequired" in self.silent:
            return
        amf = self.amf
        source = amf.connections[ies["AMF-UE-NGAP-ID"]]
        assert source.ue is not None
        node = ies["TargetID"]["targetRANNodeID"]["globalRANNodeID"]["globalGNB-ID"]
        name = f"gnb-{int(node['gNB-ID']['gNB-ID']['value'], 16)}"
        amf.last_id += 1
        target = type(source)(name, 1, 0, amf.last_id)
        target.source, source.target = source, target
        pair = self._pair(source)
        target.ncc, target.nh = source.ncc, source.nh
        target.ue, target.secure = source.ue, True
        amf.connections[target.amf] = target
        own = amf.smf.of(source.ue.supi)
        psis = [item["pDUSessionID"] for item in ies["PDUSessionResourceListHORqd"]]
        entries = amf.smf.items([own[psi] for psi in psis], {}, "")
        for item in entries:
            transfer = item.pop("pDUSessionResourceSetupRequestTransfer")
            item["handoverRequestTransfer"] = transfer
        rate = "uEAggregateMaximumBitRate"
        container = "SourceToTarget-TransparentContainer"
        amf.send(
            name,
            1,
            "HandoverRequest",
            {"AMF-UE-NGAP-ID": target.amf},
            {"HandoverType": "intra5gs"},
            {"Cause": ies["Cause"]},
            {"UEAggregateMaximumBitRate": {rate + "DL": 10**9, rate + "UL": 10**9}},
            {"UESecurityCapabilities": algorithms_of(source.ue.capability)},
            {"SecurityContext": pair},
            {"PDUSessionResourceSetupListHOReq": entries},
            {"AllowedNSSAI": [s.ngap() for s in amf.slices]},
            {container: ies[container]},
            {"GUAMI": amf.guami},
        )

    def on_HandoverRequestAcknowledge(self, _: str, __: int, ies: Tree) -> None:
        target = self.amf.connections[ies["AMF-UE-NGAP-ID"]]
        target.ran = ies["RAN-UE-NGAP-ID"]
        source = target.source
        assert source is not None
        if source.target is not target:
            return
        admitted = ies["PDUSessionResourceAdmittedList"]
        target.request = {
            item["pDUSessionID"]: item["handoverRequestAcknowledgeTransfer"] for item in admitted
        }
        done = [
            {"pDUSessionID": item["pDUSessionID"], "handoverCommandTransfer": {}}
            for item in admitted
        ]
        cause = {"cause": {"radioNetwork": "ho-target-not-allowed"}}
        name = "handoverPreparationUnsuccessfulTransfer"
        refused = ies.get("PDUSessionResourceFailedToSetupListHOAck", [])
        left = [{"pDUSessionID": item["pDUSessionID"], name: cause} for item in refused]
        lost = [{"PDUSessionResourceToReleaseListHOCmd": left}] if left else []
        container = ies["TargetToSource-TransparentContainer"]
        self.amf.send_ue(
            source,
            "HandoverCommand",
            {"HandoverType": "intra5gs"},
            {"PDUSessionResourceHandoverList": done},
            *lost,
            {"TargetToSource-TransparentContainer": container},
        )

    def on_HandoverFailure(self, _: str, __: int, ies: Tree) -> None:
        target = self.amf.connections.pop(ies["AMF-UE-NGAP-ID"], None)
        if target is None:
            return
        assert target.source is not None
        target.source.target = None
        cause = {"radioNetwork": "ho-failure-in-target-5GC-ngran-node-or-target-system"}
        self.amf.send_ue(target.source, "HandoverPreparationFailure", {"Cause": cause})

    def on_UplinkRANStatusTransfer(self, _: str, __: int, ies: Tree) -> None:
        name = "RANStatusTransfer-TransparentContainer"
        source = self.amf.connections[ies["AMF-UE-NGAP-ID"]]
        assert source.target is not None
        self.amf.send_ue(source.target, "DownlinkRANStatusTransfer", {name: ies[name]})

    def on_HandoverNotify(self, _: str, __: int, ies: Tree) -> None:
        amf = self.amf
        target = amf.connections[ies["AMF-UE-NGAP-ID"]]
        source = target.source
        assert source is not None
        assert target.ue is not None
        target.connected, target.source = True, None
        for one in amf.smf.of(target.ue.supi).values():
            if self.moves_tunnels:
                one.dl = None
        for psi, transfer in target.request.items():
            self._move(target, int(psi), transfer["dL-NGU-UP-TNLInformation"])
        target.request = {}
        if not self.keeps_source:
            source.ue = None
            amf.release(source, {"radioNetwork": "successful-handover"})

    def on_HandoverCancel(self, _: str, __: int, ies: Tree) -> None:
        if "HandoverCancel" in self.silent:
            return
        source = self.amf.connections[ies["AMF-UE-NGAP-ID"]]
        self.amf.send_ue(source, "HandoverCancelAcknowledge")
        target, source.target = source.target, None
        if target is not None:
            target.ue = None
            self.amf.release(target, {"radioNetwork": "handover-cancelled"})
