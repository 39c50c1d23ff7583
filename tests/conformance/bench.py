"""A UE, two gNBs, UPFs and a core that can be copied at low cost.

The UE has no memory and no keys. The bench reads the answers and the security context of the UE
from the state of the core. So the UE can send a correct or a wrong message at any time, without
reading the messages of the core.
"""

import functools
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, Self

import wire
from loadgen.foreign import ForeignNas, ForeignNgap
from schemas.cloudevents import CloudEvent
from schemas.connection.fold import activate
from schemas.connection.state import NO_RAN_UE_NGAP_ID, Connection
from schemas.gmm.state import SecurityContext
from schemas.gsm.state import PduSession
from schemas.subscriber import Ambr, Dnn, PduSessionType, SubscribedSlice
from schemas.ue.state import Ue, connections
from tests.conformance.core import CheckedCore, Core
from tests.conformance.upf import Request, SmallUpf
from tests.functions.gnb import setup_request
from tests.functions.octets import GMM, sealed
from tests.functions.world import ASSOCIATION, GNB, N4_NETWORK, OTHER_SLICE, SLICE, subscriber

How = Literal["protected", "plain", "new", "wrong-mac", "replayed", "ahead"]
"""The protection of a NAS message.

`protected` uses the current context, `plain` none, and `new` the context that a SECURITY MODE
COMMAND offers. `wrong-mac` has a wrong MAC, `replayed` a used COUNT, and `ahead` a COUNT beyond
the next.
"""
HOWS: Final[tuple[How, ...]] = ("protected", "plain", "new", "wrong-mac", "replayed", "ahead")

SUPI: Final = "imsi-001010000000001"
MSIN: Final = "0000000001"


class Node(NamedTuple):
    """A gNB: its Global RAN Node ID, its association and its tracking area."""

    gnb: str
    association: str
    tac: int


NODES: Final = (Node(GNB, ASSOCIATION, 1), Node("001-01-gnb-24-2", "a2", 2))

_FOREIGN_KEYS: Final = b"\x00\x01\x02\x03\x04"
"""A MAC and a sequence number that no key has made."""
_REGISTRATION_REQUEST: Final = b"\x7e\x00\x41"
_CONTAINED: Final = (0x41, 0x45, 0x4C)
"""Initial messages that are sent complete in a NAS message container (TS 24.501 4.4.6)."""


class Place(NamedTuple):
    """A connection, and the aggregate that has the connection."""

    name: str
    ue: Ue
    """The state with the procedures of this connection."""
    connection: Connection


class Foreign(NamedTuple):
    """Makers of the messages of another UE and another gNB."""

    nas: ForeignNas
    ngap: ForeignNgap

    @classmethod
    def of(cls, seed: str) -> Self:
        """Return the makers of a seed."""
        return cls(ForeignNas(seed), ForeignNgap(seed))


class Bench:
    """One UE, its gNBs, its UPFs and the core."""

    def __init__(self, *, checked: bool = False) -> None:
        dnns = (Dnn("internet", (PduSessionType.IPV4V6,), Ambr(10_000_000, 20_000_000)),)
        slices = (SubscribedSlice(SLICE, True, dnns), SubscribedSlice(OTHER_SLICE))
        kind = CheckedCore if checked else Core
        self.core: Core = kind(subscriber(slices=slices), network=N4_NETWORK)
        self.upf = SmallUpf()
        self.node = NODES[0]
        self.ran_id = 1
        self.teid = 100
        self.ran_ids = 7000
        self.foreign: Foreign | None = None
        """Adds optional IEs to the messages of the UE and of the gNBs."""
        self.silent = False
        """Whether the UPFs leave requests unanswered."""
        for node in NODES:
            self.set_up(node)
        self.core.associate()
        self.core.pfcp.clear()
        self.core.downlink.clear()

    def fork(self) -> Self:
        """Return an independent copy."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made.core, made.upf = self.core.fork(), self.upf.fork()
        return made

    # State

    @property
    def ue(self) -> Ue:
        """The UE in the core, by its SUPI."""
        return self.core.states.get(f"ue/{SUPI}", _UNKNOWN_UE)

    @property
    def here(self) -> Ue:
        """The UE with the procedures of its connection, or by its SUPI if it has no connection."""
        place = self.place()
        return self.ue if place is None else place.ue

    def places(self) -> Iterator[Place]:
        """Return every connection of the core."""
        for name, state in tuple(self.core.states.items()):
            if isinstance(state, Ue):
                for connection in connections(state):
                    yield Place(name, activate(state, connection.amf_ue_ngap_id), connection)

    def place(self) -> Place | None:
        """Return the connection with the present gNB and RAN-UE-NGAP-ID of the UE."""
        found = None
        for place in self.places():
            here = place.connection
            if (here.association, here.ran_ue_ngap_id) == (self.node.association, self.ran_id):
                found = place
                if not place.ue.successor:
                    return place
        return found

    # The gNB

    def set_up(self, node: Node) -> None:
        """Send an NG SETUP REQUEST."""
        request = setup_request(node.tac)
        number = f"{int(node.gnb.rpartition('-')[2], 16):06x}"
        request["ies"][0]["GlobalRANNodeID"]["globalGNB-ID"]["gNB-ID"]["gNB-ID"]["value"] = number
        self.core.uplink(request, node.gnb, node.association)

    def ids(self) -> list[dict[str, Any]]:
        """Return the identifiers of the connection. Without one, the AMF-UE-NGAP-ID is unused."""
        place = self.place()
        amf_id = place.connection.amf_ue_ngap_id if place is not None else 5
        return [{"AMF-UE-NGAP-ID": amf_id}, {"RAN-UE-NGAP-ID": self.ran_id}]

    def location(self, node: Node | None = None) -> dict[str, Any]:
        """Return a User Location Information of the UE's gNB, or of another gNB."""
        tai = {"pLMNIdentity": "001-01", "tAC": (node or self.node).tac}
        cgi = {"pLMNIdentity": "001-01", "nRCellIdentity": 16}
        return {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}

    def ngap(self, message: str, *ies: dict[str, Any]) -> CloudEvent:
        """Return a message of the UE's gNB about its connection, as the gateway routes it."""
        return self.pdu(wire.ngap_encode({"message": message, "ies": [*self.ids(), *ies]}))

    def pdu(self, octets: bytes, node: Node | None = None) -> CloudEvent:
        """Return any PDU of the UE's gNB, or of another gNB, as the gateway routes it."""
        node = node or self.node
        if self.foreign is not None:
            octets = self.foreign.ngap.message(octets)
        return self.core.route(octets, node.gnb, node.association)

    # The UE's NAS messages

    def protected(self, plain: bytes, how: How, *, initial: bool) -> bytes:
        """Return a NAS message with its protection."""
        if how == "plain":
            return plain
        ue = self.ue if initial else self.here
        context: SecurityContext | None = ue.pending if how == "new" else ue.security
        header = 4 if how == "new" else 1 if initial else 2
        if context is None:
            return bytes([GMM, header]) + _FOREIGN_KEYS + plain
        count = max(0, context.uplink + _AHEAD.get(how, 0))
        if initial and plain[:2] == b"\x7e\x00" and plain[2] in _CONTAINED:
            security = wire.NasSecurity(context.kamf, context.nia, context.nea, count, 0)
            made = security.protect_initial(plain)
        else:
            made = sealed(context, plain, header, count, cipher=header != 1)
        if how == "wrong-mac":
            made = made[:3] + bytes([made[3] ^ 1]) + made[4:]
        return made

    def nas(self, plain: bytes, how: How = "protected", *, initial: bool = False) -> CloudEvent:
        """Return an INITIAL UE MESSAGE on a new connection, or an UPLINK NAS TRANSPORT."""
        if self.foreign is not None:
            nas = self.foreign.nas
            cleartext = how == "plain" and plain[:3] == _REGISTRATION_REQUEST
            plain = nas.request(plain, plain)[1] if cleartext else nas.message(plain)
        octets = {"NAS-PDU": self.protected(plain, how, initial=initial).hex()}
        location = {"UserLocationInformation": self.location()}
        if not initial:
            return self.ngap("UplinkNASTransport", octets, location)
        self.ran_id += 1
        ies = [
            {"RAN-UE-NGAP-ID": self.ran_id},
            octets,
            location,
            {"RRCEstablishmentCause": "mo-Signalling"},
            {"UEContextRequest": "requested"},
        ]
        return self.pdu(wire.ngap_encode({"message": "InitialUEMessage", "ies": ies}))

    def send(self, event: CloudEvent) -> None:
        """Deliver an event to the core, and have the UPFs answer."""
        self.core.deliver(event)
        self.serve()
        self.follow()

    def follow(self) -> None:
        """Move to the connection in the core if the UE's present connection does not exist."""
        here = self.ue.connection
        if here is not None and here.ran_ue_ngap_id < NO_RAN_UE_NGAP_ID and self.place() is None:
            self.move(here)

    def move(self, to: Connection) -> None:
        """Move to a connection, as after a handover."""
        node = next((node for node in NODES if node.association == to.association), None)
        if node is not None:
            told = to.ran_ue_ngap_id < NO_RAN_UE_NGAP_ID
            self.node, self.ran_id = node, to.ran_ue_ngap_id if told else self.new_ran_id()

    @property
    def other(self) -> Node:
        """The gNB that does not serve the UE."""
        return next(node for node in NODES if node is not self.node)

    # The UPFs

    def serve(self) -> None:
        """Have the UPFs answer until no request is left, unless they are `silent`."""
        while self.core.pfcp and not self.silent:
            self.answer(self.core.pfcp.popleft())

    def answer(self, asked: Request, cause: int = 0) -> None:
        """Have the UPF answer one request."""
        tree = self.upf.answer(asked, cause)
        if tree is not None:
            self.core.answer_pfcp(tree, asked[0], asked[1], asked[2])

    # Sessions in the messages of the gNB

    def set_up_items(self, sessions: list[PduSession], suffix: str) -> dict[str, Any]:
        """Return the list of sessions that the gNB has set up; `suffix` is SURes or CxtRes."""
        name = "pDUSessionResourceSetupResponseTransfer"
        items = [{"pDUSessionID": s.id, name: self.set_up_transfer()} for s in sessions]
        return {f"PDUSessionResourceSetupList{suffix}": items}

    def set_up_transfer(self) -> dict[str, Any]:
        """Return a PDU Session Resource Setup Response Transfer with a new tunnel."""
        flows = [{"qosFlowIdentifier": 1}]
        information = {"uPTransportLayerInformation": self.tunnel(), "associatedQosFlowList": flows}
        return {"dLQosFlowPerTNLInformation": information}

    def tunnel(self) -> dict[str, Any]:
        """Return an unused tunnel of a gNB."""
        self.teid += 1
        return {"gTPTunnel": {"transportLayerAddress": "10.4.0.1", "gTP-TEID": self.teid}}

    def new_ran_id(self) -> int:
        """Return an unused RAN-UE-NGAP-ID."""
        self.ran_ids += 1
        return self.ran_ids


_UNKNOWN_UE: Final = Ue()
_AHEAD: Final = {"replayed": -1, "ahead": 3}


@functools.cache
def suci() -> str:
    """Return the SUCI of the UE, null scheme."""
    return wire.suci_conceal("001", "01", MSIN).hex()
