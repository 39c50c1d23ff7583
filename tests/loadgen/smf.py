"""A small correct SMF and UPF behind the test AMF: it accepts and stores every session.

A test changes its 5GSM messages with `Amf.trees` by name, like 5GMM messages, its transfers with
`transfers`, and its NGAP messages with `Amf.pdus`.
"""

from collections.abc import Callable
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from loadgen.session_model import Tunnel

if TYPE_CHECKING:
    from tests.loadgen.amf import Amf, Connection

Tree = dict[str, Any]
UPF = "127.0.0.8"
_RULE = {
    "rule-id": 1,
    "op-code": "create",
    "dqr": True,
    "packet-filters": [
        {"match": {"direction": "bidirectional", "identifier": 1, "components": ["match-all"]}}
    ],
    "precedence": 255,
    "qfi": 9,
    "segregation": False,
}


class SmContext:
    """A PDU session of a UE."""

    def __init__(self, supi: str, psi: int, number: int, kind: str, address: str) -> None:
        self.supi = supi
        self.psi = psi
        self.teid = number
        self.kind = kind
        self.address = address
        self.dl: Tree | None = None
        """The gNB's tunnel; None while the user plane is not active."""


class Smf:
    """The sessions of all UEs."""

    def __init__(self, amf: "Amf") -> None:
        self.amf = amf
        self.sessions: dict[tuple[str, int], SmContext] = {}
        self.transfers: dict[str, Callable[[Tree], Tree]] = {}
        self.last = 0
        self.paged: list[str] = []

    def of(self, supi: str) -> dict[int, SmContext]:
        psis = [psi for psi in range(1, 16) if (supi, psi) in self.sessions]
        return {psi: self.sessions[supi, psi] for psi in psis}

    def at(self, address: str) -> SmContext:
        return next(one for one in self.sessions.values() if one.address == address)

    # N1

    def uplink(self, to: "Connection", tree: Tree) -> None:
        assert to.ue is not None
        message = tree["payload-container"]
        psi, pti = message["pdu-session-identity"], message["procedure-transaction-identity"]
        assert psi == tree["pdu-session-id"]
        self.amf.received.append(message["message-type"])
        self.amf.uplink.append(message)
        match message["message-type"]:
            case "pdu-session-establishment-request":
                assert tree["request-type"] == "initial-request"
                self._establish(to, psi, pti, message, tree)
            case "pdu-session-release-request":
                self.release(to, psi, pti)
            case "pdu-session-release-complete":
                self.sessions.pop((to.ue.supi, psi), None)
            case _:
                pass

    def _establish(self, to: "Connection", psi: int, pti: int, request: Tree, tree: Tree) -> None:
        assert to.ue is not None
        known = self.sessions.get((to.ue.supi, psi))
        if known is None:
            self.last += 1
            kind = request["pdu-session-type"]
            address = str(IPv4Address("10.45.0.0") + self.last)
            known = SmContext(to.ue.supi, psi, self.last, kind, address)
            self.sessions[to.ue.supi, psi] = known
        self.set_up(to, [known], {psi: self.accept(known, pti, tree)})

    def accept(self, one: SmContext, pti: int, asked: Tree) -> Tree:
        address: Tree = {}
        if one.kind != "ipv6":
            address["ipv4"] = one.address
        if one.kind != "ipv4":
            address["ipv6-interface-id"] = f"{one.teid:016x}"
        return {
            "pdu-session-identity": one.psi,
            "procedure-transaction-identity": pti,
            "message-type": "pdu-session-establishment-accept",
            "selected-pdu-session-type": one.kind,
            "selected-ssc-mode": "ssc1",
            "authorized-qos-rules": [_RULE],
            "session-ambr": {"dl-kbps": 100000, "ul-kbps": 50000},
            "pdu-address": address,
            "s-nssai": asked.get("s-nssai", {"sst": 1, "sd": "010203"}),
            "dnn": asked.get("dnn", "internet"),
        }

    def transport(self, message: Tree, **more: Any) -> Tree | None:
        """Return DL NAS TRANSPORT of a 5GSM message, changed as the test wants."""
        name = message["message-type"]
        changed = self.amf.trees[name](message) if name in self.amf.trees else message
        if changed is None:
            return None
        return {
            "message-type": "dl-nas-transport",
            "payload-container-type": "n1-sm-information",
            "payload-container": changed,
            "pdu-session-id": message["pdu-session-identity"],
            **more,
        }

    def down(self, to: "Connection", message: Tree, **more: Any) -> None:
        tree = self.transport(message, **more)
        if tree is not None:
            self.amf.down(to, tree)

    # N2

    def request_transfer(self, one: SmContext) -> Tree:
        rate = "pDUSessionAggregateMaximumBitRate"
        arp = {
            "priorityLevelARP": 8,
            "pre-emptionCapability": "shall-not-trigger-pre-emption",
            "pre-emptionVulnerability": "not-pre-emptable",
        }
        qos = {
            "qosCharacteristics": {"nonDynamic5QI": {"fiveQI": 9}},
            "allocationAndRetentionPriority": arp,
        }
        tunnel = {"transportLayerAddress": UPF, "gTP-TEID": one.teid}
        tree: Tree = {
            "PDUSessionAggregateMaximumBitRate": {rate + "DL": 10**8, rate + "UL": 5 * 10**7},
            "UL-NGU-UP-TNLInformation": {"gTPTunnel": tunnel},
            "PDUSessionType": one.kind,
            "QosFlowSetupRequestList": [{"qosFlowIdentifier": 9, "qosFlowLevelQosParameters": qos}],
        }
        if "setup" in self.transfers:
            tree = self.transfers["setup"](tree)
        return {"protocolIEs": [{name: value} for name, value in tree.items()]}

    def items(self, sessions: list[SmContext], nas: dict[int, str], nas_name: str) -> list[Tree]:
        found: list[Tree] = []
        for one in sessions:
            item: Tree = {
                "pDUSessionID": one.psi,
                "s-NSSAI": {"sST": 1, "sD": "010203"},
                "pDUSessionResourceSetupRequestTransfer": self.request_transfer(one),
            }
            if one.psi in nas:
                item[nas_name] = nas[one.psi]
            found.append(item)
        return found

    def set_up(self, to: "Connection", sessions: list[SmContext], nas: dict[int, Tree]) -> None:
        """Send PDU SESSION RESOURCE SETUP REQUEST with the 5GSM messages of some sessions."""
        protected: dict[int, str] = {}
        for psi, message in nas.items():
            tree = self.transport(message)
            pdu = None if tree is None else self.amf.protect(to, tree)
            if pdu is None:
                return
            protected[psi] = pdu.hex()
        entries = self.items(sessions, protected, "pDUSessionNAS-PDU")
        self.amf.send_ue(
            to, "PDUSessionResourceSetupRequest", {"PDUSessionResourceSetupListSUReq": entries}
        )

    def set_up_done(self, to: "Connection", done: list[Tree]) -> None:
        assert to.ue is not None
        for item in done:
            one = self.sessions.get((to.ue.supi, item["pDUSessionID"]))
            transfer = item["pDUSessionResourceSetupResponseTransfer"]
            information = transfer["dLQosFlowPerTNLInformation"]
            if one is not None:
                one.dl = information["uPTransportLayerInformation"]["gTPTunnel"]

    def released(self, supi: str) -> None:
        """Deactivate all user planes: the UE is idle."""
        for one in self.of(supi).values():
            one.dl = None

    def release(self, to: "Connection", psi: int, pti: int = 0) -> None:
        """Send PDU SESSION RELEASE COMMAND, and release the resources if there are any."""
        assert to.ue is not None
        one = self.sessions.get((to.ue.supi, psi))
        command: Tree = {
            "pdu-session-identity": psi,
            "procedure-transaction-identity": pti,
            "message-type": "pdu-session-release-command",
            "5gsm-cause": "regular-deactivation",
        }
        if one is None or one.dl is None:
            self.down(to, command)
            return
        tree = self.transport(command)
        pdu = None if tree is None else self.amf.protect(to, tree)
        if pdu is None:
            return
        transfer = {"cause": {"nas": "normal-release"}}
        item = {"pDUSessionID": psi, "pDUSessionResourceReleaseCommandTransfer": transfer}
        self.amf.send_ue(
            to,
            "PDUSessionResourceReleaseCommand",
            {"NAS-PDU": pdu.hex()},
            {"PDUSessionResourceToReleaseListRelCmd": [item]},
        )

    def modify(self, to: "Connection", psi: int, ies: list[Tree], command: Tree | None) -> None:
        """Send PDU SESSION RESOURCE MODIFY REQUEST, optionally with a command for the UE."""
        item: Tree = {
            "pDUSessionID": psi,
            "pDUSessionResourceModifyRequestTransfer": {"protocolIEs": ies},
        }
        tree = None if command is None else self.transport(command)
        pdu = None if tree is None else self.amf.protect(to, tree)
        if pdu is not None:
            item["nAS-PDU"] = pdu.hex()
        name = "PDUSessionResourceModifyListModReq"
        self.amf.send_ue(to, "PDUSessionResourceModifyRequest", {name: [item]})

    # service request and paging

    def serve(self, to: "Connection", request: Tree) -> None:
        """Send SERVICE ACCEPT, with the resources that are requested or have pending data."""
        assert to.ue is not None
        own = self.of(to.ue.supi)
        if "pdu-session-status" in request:
            for psi in own.keys() - set(request["pdu-session-status"]):
                del self.sessions[to.ue.supi, psi]
        own = self.of(to.ue.supi)
        asked = request.get("uplink-data-status", [])
        accept: Tree = {"message-type": "service-accept"}
        if "pdu-session-status" in request:
            accept["pdu-session-status"] = sorted(own)
        if asked:
            failed = [psi for psi in asked if psi not in own]
            accept["pdu-session-reactivation-result"] = failed
        waiting = [one for one in own.values() if one.address in self.paged]
        self.paged = [
            address for address in self.paged if all(o.address != address for o in waiting)
        ]
        wanted = [own[psi] for psi in asked if psi in own] + waiting
        if request.get("message-type") == "service-request" and to.connected:
            self.amf.down(to, accept)
            self.set_up(to, wanted, {})
        else:
            self.amf.context_setup(to, accept, self.items(wanted, {}, "nAS-PDU"))

    def downlink_tunnel(self, address: str) -> Tunnel | None:
        """Return where data for a UE goes now."""
        one = next((o for o in self.sessions.values() if o.address == address), None)
        return None if one is None or one.dl is None else Tunnel.of_ngap({"gTPTunnel": one.dl})

    def downlink(self, address: str) -> None:
        """Handle data for a UE at the UPF."""
        one = self.at(address)
        to = self.amf.connection_of(one.supi)
        if to is not None:
            self.set_up(to, [one], {})
            return
        self.paged.append(address)
        self.amf.page(one.supi)
