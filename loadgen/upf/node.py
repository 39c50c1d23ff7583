"""Associations and heartbeats of an emulated UPF (TS 29.244 6.2)."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

import wire
from loadgen.trees import Tree
from loadgen.upf.config import UpfConfig
from loadgen.upf.endpoint import Endpoint
from loadgen.upf.ies import Ies, every, first, flags_in, groups, number_in, tree_in
from loadgen.upf.messages import (
    ACCEPTED,
    RETENTION,
    association_release_wanted,
    association_setup_request,
    association_setup_response,
    heartbeat,
    node_answer,
)
from loadgen.upf.reliable import Address
from loadgen.upf.sessions import PfcpSession, PfcpSessions
from loadgen.upf.violation import NO_ESTABLISHED_ASSOCIATION

OnEvent = Callable[[str, Tree], None]
"""Called with the name of an event and its JSON values."""


class PfcpAssociation(Struct, eq=False):
    """An association with a CP function."""

    node: str
    """The CP function's Node ID."""
    address: Address
    """The address that it was set up from."""
    recovery: int
    """The CP function's Recovery Time Stamp, in seconds since 1900."""
    features: tuple[str, ...]
    """CP Function Features."""
    alive: bool = True
    """Whether the peer answered the last heartbeat."""
    waiting: bool = False
    """Whether the answer to a heartbeat is outstanding."""


class Node:
    """The node procedures of one UPF."""

    def __init__(
        self,
        config: UpfConfig,
        endpoint: Endpoint,
        sessions: PfcpSessions,
        event: OnEvent,
        recovery: int,
    ) -> None:
        """Create a node without associations; `recovery` is its Recovery Time Stamp."""
        self.recovery = recovery
        self.associations: dict[str, PfcpAssociation] = {}
        """By the Node ID of the CP function."""
        self.changed = asyncio.Event()
        """Set while there is an association."""
        self._config, self._endpoint, self._sessions = config, endpoint, sessions
        self._event = event
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._cp: Address | None = None
        self._setting_up = False

    def start(self) -> None:
        """Start the heartbeats, and set up the configured association."""
        if self._config.heartbeat is not None:
            self._later("heartbeat", self._config.heartbeat, self._beat)
        if self._config.cp is not None:
            self.associate(self._config.cp)

    def stop(self) -> None:
        """Stop all timers and remove all associations."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._setting_up = False
        self.associations.clear()
        self.changed.clear()

    def associate(self, cp: Address) -> None:
        """Set up an association with a CP function (6.2.6.3), and retry until it succeeds."""
        self._cp = cp
        if self._setting_up:
            return
        self._setting_up = True
        sequence = self._endpoint.requests.sequence()
        tree = association_setup_request(
            sequence, self._config.node_id, self.recovery, self._config.features
        )
        self._endpoint.ask(tree, cp, self._set_up)

    def want_release(self, node: str) -> None:
        """Ask a CP function to release the association (6.2.7).

        Raises:
            KeyError: there is no such association.
        """
        address = self.associations[node].address
        sequence = self._endpoint.requests.sequence()
        tree = association_release_wanted(sequence, self._config.node_id)
        self._endpoint.ask(tree, address, lambda _: None)

    def request(self, tree: Tree, peek: wire.PfcpPeek, at: Address) -> Tree | None:
        """Execute a node request. Return its answer."""
        match peek.message:
            case "HeartbeatRequest":
                if self._is_ignored(at):
                    return None
                self._heard(at, number_in(tree["ies"], "Recovery Time Stamp"))
                return heartbeat("HeartbeatResponse", peek.sequence, self.recovery)
            case "AssociationSetupRequest":
                return self._setup_requested(tree["ies"], peek, at)
            case "AssociationUpdateRequest" | "AssociationReleaseRequest":
                node = peek.node_id or ""
                if node not in self.associations:
                    cause = NO_ESTABLISHED_ASSOCIATION
                else:
                    cause = ACCEPTED
                    if peek.message == "AssociationReleaseRequest":
                        self._lose(node, "released")
                return node_answer(peek.message, peek.sequence, self._config.node_id, cause)
            case _:
                return None

    def forget(self) -> None:
        """End all associations without a message or a restart, and keep the sessions. Without the
        quirk ``keeps-sessions``, delete them."""
        for node in list(self.associations):
            if "keeps-sessions" not in self._config.quirks:
                self._delete_sessions(node)
            self._forget(node)

    def _forget(self, node: str) -> None:
        del self.associations[node]
        if not self.associations:
            self.changed.clear()
        self._event("forgotten", {"node": node})

    def _is_ignored(self, at: Address) -> bool:
        """Whether a heartbeat from an address without association is left unanswered."""
        known = any(association.address == at for association in self.associations.values())
        return "ignores-strangers" in self._config.quirks and not known

    # associations

    def _setup_requested(self, ies: Ies, peek: wire.PfcpPeek, at: Address) -> Tree:
        """Handle an association setup by a CP function, new or repeated (6.2.6.2.2)."""
        node = peek.node_id or ""
        known, retained = node in self.associations, False
        if known and "keeps-sessions" not in self._config.quirks:
            keep = self._retained(ies, node)
            retained = bool(every(ies, RETENTION))
            for session in self._sessions.of_node(node):
                if session.seid not in keep:
                    self._sessions.delete(session)
        recovery = number_in(ies, "Recovery Time Stamp") or 0
        self._associated(node, at, recovery, ies)
        return association_setup_response(
            peek.sequence,
            self._config.node_id,
            self.recovery,
            self._config.features,
            retained=retained,
        )

    def _retained(self, ies: Ies, node: str) -> set[int]:
        """Return the SEIDs of the sessions to keep: of some addresses of the CP function, or of
        all."""
        infos = groups(ies, RETENTION)
        if not infos:
            return set()
        addresses: set[str] = set()
        for info in infos:
            entity = tree_in(info, "CP PFCP Entity IP Address") or {}
            addresses.update(str(part) for part in entity.values())

        def kept(session: PfcpSession) -> bool:
            return not addresses or bool(addresses & {session.cp.ipv4, session.cp.ipv6})

        return {session.seid for session in self._sessions.of_node(node) if kept(session)}

    def _set_up(self, answer: Tree | None) -> None:
        """Handle the answer to the UPF's own setup request, or its failure."""
        self._setting_up = False
        cp = self._cp
        if cp is None:
            return
        ies: Ies = [] if answer is None else answer["ies"]
        node = tree_in(ies, "Node ID")
        if first(ies, "Cause") not in (ACCEPTED, "Request accepted") or not node:
            self._event("not-associated", {"cp": f"{cp[0]}:{cp[1]}", "cause": first(ies, "Cause")})
            self._later("associate", self._config.retry, lambda: self.associate(cp))
            return
        name = str(next(iter(node.values())))
        recovery = number_in(ies, "Recovery Time Stamp") or 0
        known = self.associations.get(name)
        if known is not None and known.recovery != recovery:
            self._delete_sessions(name)
        self._associated(name, cp, recovery, ies)

    def _associated(self, node: str, at: Address, recovery: int, ies: Ies) -> None:
        features = tuple(sorted(flags_in(ies, "CP Function Features")))
        self.associations[node] = PfcpAssociation(node, at, recovery, features)
        self.changed.set()
        self._event(
            "associated",
            {"node": node, "address": f"{at[0]}:{at[1]}", "recovery_time_stamp": recovery},
        )

    def _lose(self, node: str, why: str) -> None:
        """Remove an association and its sessions."""
        deleted = self._delete_sessions(node)
        del self.associations[node]
        if not self.associations:
            self.changed.clear()
        self._event(why, {"node": node, "sessions": deleted})
        if self._cp is not None and why != "released":
            cp = self._cp
            self._later("associate", self._config.retry, lambda: self.associate(cp))

    def _delete_sessions(self, node: str) -> int:
        sessions = self._sessions.of_node(node)
        for session in sessions:
            self._sessions.delete(session)
        return len(sessions)

    # heartbeats

    def _beat(self) -> None:
        for association in self.associations.values():
            if not association.waiting:
                self._ask_heartbeat(association)
        if self._config.heartbeat is not None:
            self._later("heartbeat", self._config.heartbeat, self._beat)

    def _ask_heartbeat(self, association: PfcpAssociation) -> None:
        association.waiting = True

        def answered(answer: Tree | None) -> None:
            association.waiting = False
            if self.associations.get(association.node) is not association:
                return
            if association.alive is not (answer is not None):
                association.alive = answer is not None
                event = "peer-back" if association.alive else "peer-lost"
                self._event(event, {"node": association.node})
            if answer is None and "gives-up" in self._config.quirks:
                self._forget(association.node)
            if answer is not None:
                recovery = number_in(answer["ies"], "Recovery Time Stamp")
                self._recovered(association, recovery)

        sequence = self._endpoint.requests.sequence()
        tree = heartbeat("HeartbeatRequest", sequence, self.recovery)
        self._endpoint.ask(tree, association.address, answered)

    def _heard(self, at: Address, recovery: int | None) -> None:
        for association in list(self.associations.values()):
            if association.address == at:
                self._recovered(association, recovery)

    def _recovered(self, association: PfcpAssociation, recovery: int | None) -> None:
        """Handle a later Recovery Time Stamp: the CP function has restarted (TS 23.527 4.3.3)."""
        if recovery is not None and recovery > association.recovery:
            self._lose(association.node, "peer-restarted")

    def _later(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        old = self._timers.get(name)
        if old is not None:
            old.cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, call)
