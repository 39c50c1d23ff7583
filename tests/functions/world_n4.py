"""The N4 side of a `World`: messages of UPFs as their gateway routes them, and messages to UPFs."""

from collections import deque
from typing import Any

from msgspec.structs import replace

import wire
from functions.decision.env import usable_upfs
from functions.messages.pfcp import node_id
from functions.runtime.fan_out import recipients_of
from functions.runtime.pools import pools_of
from schemas.aggregates import gnb_aggregate, upf_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
    UpfLoadReported,
    UpfPath,
)
from schemas.identity import SNssai, Tai, index_seid, slot_of, slot_of_seid
from schemas.lookups import IpVersion, UsableUpf
from schemas.network import Network, TrackingArea, UpfNode, UpfPool
from schemas.procedures import PFCP_MESSAGES, Procedure
from schemas.ran import Gnb, tai_index_prefix
from schemas.step import FanOutSessions, Page, encode
from schemas.upf import Upf

UPF, OTHER_UPF = "10.9.0.1", "upf-2.example"
UPF_NODES = (
    UpfNode(UPF, (UpfPool("internet", "10.45.0.0/24", "2001:db8:1::/56"),)),
    UpfNode(OTHER_UPF, (UpfPool("internet", "10.46.0.0/24"), UpfPool("ims", "10.47.0.0/24"))),
)


class N4Side:
    """The UPFs of a world."""

    network: Network
    states: dict[str, Any]
    owners: dict[tuple[str, str], str]
    events: deque[CloudEvent]
    count: int
    now: int

    def __init__(self) -> None:
        self.pfcp: deque[tuple[str, str, int | None, bytes]] = deque()
        """Messages to UPFs: Node ID, key of the response, number of the request, PDU."""
        self.incarnations: dict[tuple[str, int | None], int] = {}
        """The incarnation that the last request with a key and a number is for."""
        self.pages: deque[tuple[str, str, bytes]] = deque()
        """Sent PAGING messages: gNB, association, PDU."""
        self.features: tuple[str, ...] = ()
        """Additional UP Function Features of associated UPFs."""
        self.upfs: dict[str, int] | None = None
        """The usable UPFs with their loads; None to use the UPFs' states."""

    def deliver(self, event: CloudEvent) -> None:
        raise NotImplementedError

    def upf(self, node_id: str = UPF) -> Upf:
        return self.states[upf_aggregate(node_id)]

    def answer_pfcp(
        self,
        tree: dict[str, Any],
        upf: str = UPF,
        partitionkey: str | None = None,
        number: int | None = None,
    ) -> None:
        """Route a PFCP message as a gateway does, and process all events.

        A response needs the `partitionkey` and the `number` of its request in `pfcp`. A request of
        the UPF is routed by the SEID in its header, or to the UPF.
        """
        self.deliver(self.route_pfcp(tree, upf, partitionkey, number))

    def route_pfcp(
        self,
        tree: dict[str, Any],
        upf: str = UPF,
        partitionkey: str | None = None,
        number: int | None = None,
    ) -> CloudEvent:
        pdu = wire.pfcp_encode({"sequence": 0, **tree})
        return self.from_n4(EventType.PFCP_UPLINK, pdu, upf, partitionkey, number)

    def unanswered(self, upf: str, partitionkey: str, number: int | None, pdu: bytes) -> None:
        """Return a request of `pfcp` as a gateway does without a response."""
        self.deliver(self.from_n4(EventType.PFCP_UNANSWERED, pdu, upf, partitionkey, number))

    def ended(
        self, upf: str, partitionkey: str, number: int | None, pdu: bytes, incarnation: int
    ) -> None:
        """Return a request as a gateway does after a restart of the UPF."""
        event = self.from_n4(EventType.PFCP_ENDED, pdu, upf, partitionkey, number)
        self.deliver(replace(event, incarnation=incarnation))

    def from_n4(
        self,
        kind: EventType,
        pdu: bytes,
        upf: str = UPF,
        partitionkey: str | None = None,
        number: int | None = None,
    ) -> CloudEvent:
        self.count += 1
        key, slot, peek = upf_aggregate(upf), slot_of(upf), wire.pfcp_peek(pdu)
        if partitionkey is not None:
            key = partitionkey
        elif peek.seid:
            key = index_seid(peek.seid)
        if key.startswith("seid-"):
            slot = slot_of_seid(int(key.removeprefix("seid-"), 16))
        to = PFCP_MESSAGES.get(peek.message, Procedure.UPF)
        if kind != EventType.PFCP_UPLINK and key.startswith("seid-"):
            to = Procedure.SESSION
        return CloudEvent(
            f"t-{self.count}",
            f"/n4/{upf}",
            kind,
            key,
            pdu,
            PFCP_MEDIA_TYPE,
            to,
            slot,
            number,
        )

    def path(self, state: Any = "served", upf: str = UPF, recovery_time_stamp: int = 0) -> None:
        """Report a gateway's path to a UPF."""
        self.count += 1
        self.deliver(
            CloudEvent(
                f"t-{self.count}",
                f"/n4/{upf}",
                EventType.UPF_PATH,
                upf_aggregate(upf),
                encode(UpfPath(upf, state, recovery_time_stamp)),
                MSGPACK_MEDIA_TYPE,
                Procedure.UPF,
                slot_of(upf),
            )
        )

    def told_load(self, told: UpfLoadReported, upf: str = UPF) -> None:
        """Report a load that a gateway read in messages of sessions."""
        self.count += 1
        self.deliver(
            CloudEvent(
                f"t-{self.count}",
                f"/n4/{upf}",
                EventType.UPF_LOAD,
                upf_aggregate(upf),
                encode(told),
                MSGPACK_MEDIA_TYPE,
                Procedure.UPF,
                slot_of(upf),
            )
        )

    def associate(
        self,
        *upfs: str,
        recovery_time_stamp: int = 3_900_000_000,
        features: tuple[str, ...] = ("FTUP",),
    ) -> None:
        """Associate UPFs; all of the network by default."""
        for upf in upfs or tuple(node.node_id for node in self.network.upfs):
            self.path("served", upf)
            to, key, number, pdu = self.pfcp.pop()
            assert (to, wire.pfcp_peek(pdu).message) == (upf, "AssociationSetupRequest")
            answer = {
                "message": "AssociationSetupResponse",
                "ies": [
                    {"Node ID": node_id(upf)},
                    {"Cause": "Request accepted"},
                    {"Recovery Time Stamp": recovery_time_stamp},
                    {"UP Function Features": [*features, *self.features]},
                ],
            }
            self.answer_pfcp(answer, upf, key, number)

    # Messages

    def page(self, output: Page) -> None:
        to: dict[tuple[str, str], None] = {}
        for tai in output.tais:
            prefix = tai_index_prefix(tai)
            for kind, key in sorted(self.owners):
                if kind == "tai" and key.startswith(prefix):
                    gnb, association = key.removeprefix(prefix).split("/", 1)
                    to[gnb, association] = None
        self.pages.extend((gnb, association, output.pdu) for gnb, association in to)

    def fan_out_sessions(self, number: str, name: str, output: FanOutSessions) -> None:
        recipients = recipients_of(name, number, output)
        for (kind, key), owner in sorted(self.owners.items()):
            if kind == recipients.kind and key.startswith(recipients.prefix):
                event = recipients.event(key.removeprefix(recipients.prefix), owner)
                assert event is not None
                self.events.append(event)

    # The lookups of decisions, as in the runtime

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        if self.upfs is not None:
            return tuple(UsableUpf(upf, load) for upf, load in self.upfs.items())
        states = [self.states.get(upf_aggregate(u.node_id)) for u in self.network.upfs]
        return usable_upfs([state for state in states if state is not None], self.now)

    def upf_features(self, upf: str) -> tuple[str, ...]:
        state = self.states.get(upf_aggregate(upf))
        return tuple(state.features) if state is not None else ()

    def association(self, tai: Tai, gnb: str) -> str:
        prefix = f"{tai_index_prefix(tai)}{gnb}/"
        found = (key for index, key in self.owners if index == "tai" and key.startswith(prefix))
        return next((key.removeprefix(prefix) for key in found), "")

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        state = self.states.get(gnb_aggregate(gnb), Gnb())
        for ta in state.supported if state.association == association else ():
            for broadcast in ta.broadcast:
                if Tai(broadcast.plmn, ta.tac) == area.tai:
                    return tuple(one for one in area.slices if one not in broadcast.slices)
        return ()

    def back_off(self) -> int:
        return 0

    def lack_of_room(self) -> int:
        return 0

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """Return the first free address."""
        pool = pools_of(self.network).get((upf, dnn, ip_version))
        if pool is None:
            return ""
        for block in range(pool.blocks):
            for number in pool.numbers(block):
                if ("address", pool.key(number)) not in self.owners:
                    return pool.text(number)
        return ""
