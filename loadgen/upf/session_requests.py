"""The session requests of a CP function to an emulated UPF, and their answers (TS 29.244 7.5)."""

import asyncio
import hashlib
from collections.abc import Callable

import wire
from loadgen.trees import Tree
from loadgen.upf.config import UpfConfig, UpfCounts
from loadgen.upf.downlink import END_MARKER_FEATURE, Delivered, asked_for
from loadgen.upf.endpoint import Endpoint, Owner
from loadgen.upf.ies import FSeid, tree_in
from loadgen.upf.messages import established, session_done, session_refused
from loadgen.upf.node import Node, OnEvent
from loadgen.upf.sessions import PfcpSession, PfcpSessions, SessionOutcome
from loadgen.upf.violation import (
    NO_ESTABLISHED_ASSOCIATION,
    REJECTED,
    SESSION_CONTEXT_NOT_FOUND,
    PfcpKind,
)

SESSION_REQUESTS = frozenset(
    {
        "SessionEstablishmentRequest",
        "SessionModificationRequest",
        "SessionDeletionRequest",
    }
)
_HEADER = 16
"""The length of the header of a session message (7.2.2.3)."""


class SessionRequests:
    """The session requests of one UPF."""

    def __init__(
        self,
        config: UpfConfig,
        owner: Owner,
        endpoint: Endpoint,
        node: Node,
        sessions: PfcpSessions,
        counts: UpfCounts,
        event: OnEvent,
        on_delivered: Callable[[Delivered], None] | None,
    ) -> None:
        """Create it for a UPF; `on_delivered` is called with delivered buffered packets."""
        self._config, self._owner, self._endpoint, self._node = config, owner, endpoint, node
        self._sessions, self._counts = sessions, counts
        self._event, self._on_delivered = event, on_delivered

    def request(self, tree: Tree, peek: wire.PfcpPeek, octets: bytes) -> Tree | None:
        """Execute one of `SESSION_REQUESTS`. Return its answer, or None for no answer."""
        if peek.message == "SessionEstablishmentRequest":
            return self._establish(tree, peek, octets)
        session = self._sessions.by_seid.get(peek.seid or 0)
        if session is None:
            if not self._node.associations:
                return self._unassociated(peek)
            if peek.seid in self._sessions.former:
                text = f"{peek.message} for SEID {peek.seid:#x} of the time before the restart"
                self._owner.violate(PfcpKind.FORMER_SESSION, text, f"SEID {peek.seid:#x}")
            return self._owner.refusal(peek, SESSION_CONTEXT_NOT_FOUND, None)
        if session.node not in self._node.associations:
            return self._unassociated(peek)
        if peek.message == "SessionDeletionRequest":
            self._counts.dropped += self._sessions.delete(session).dropped
            self._tell("deleted", session)
            return session_done(peek.message, session.cp.number, peek.sequence)
        return self._modify(tree, peek, session)

    def _establish(self, tree: Tree, peek: wire.PfcpPeek, octets: bytes) -> Tree | None:
        node = peek.node_id or ""
        if node not in self._node.associations:
            return self._unassociated(peek)
        ies = tree["ies"]
        user = tree_in(ies, "User ID") or {}
        cp = FSeid.of(tree_in(ies, "F-SEID"))
        who = str(user.get("supi") or user.get("imsi") or cp)
        if peek.seid:
            text = f"an establishment with SEID {peek.seid:#x} instead of 0"
            self._owner.violate(PfcpKind.SEID, text, who)
        digest = hashlib.blake2b(octets[_HEADER:], digest_size=16).digest()
        outcome = self._sessions.establish(ies, digest, node, who)
        session = outcome.session
        if session is None:
            return self._refused(peek, outcome, 0 if cp is None else cp.number, who)
        self._counts.dropped += outcome.dropped
        self._tell("repeated" if outcome.repeated else "established", session)
        up = FSeid(session.seid, *self._host())
        name = self._config.node_id
        return established(session.cp.number, peek.sequence, name, up, outcome.created)

    def _unassociated(self, peek: wire.PfcpPeek) -> Tree | None:
        """Refuse or ignore a request of a CP function without association (6.2.6.2.2)."""
        if "ignores-unassociated" in self._config.quirks:
            return None
        return self._owner.refusal(peek, NO_ESTABLISHED_ASSOCIATION, None)

    def _modify(self, tree: Tree, peek: wire.PfcpPeek, session: PfcpSession) -> Tree:
        now = asyncio.get_running_loop().time()
        markers = self._end_markers(tree["ies"], session)
        outcome = self._sessions.modify(session, tree["ies"], now)
        if outcome.faults or outcome.cause is not None:
            return self._refused(peek, outcome, session.cp.number, session.who)
        self._counts.end_markers += markers
        self._counts.dropped += outcome.dropped
        for delivered in outcome.delivered:
            self._counts.delivered += delivered.packets
            if self._on_delivered is not None:
                self._on_delivered(delivered)
        self._tell("modified", session)
        return session_done(peek.message, session.cp.number, peek.sequence, outcome.created)

    def _end_markers(self, ies: list[Tree], session: PfcpSession) -> int:
        """Return the number of End Markers that a modification requests."""
        markers, faults = asked_for(ies, session.rules)
        for text in faults:
            self._owner.violate(PfcpKind.FORWARDING, text, session.who)
        if markers and END_MARKER_FEATURE not in self._config.features:
            text = f"SNDEM, but the UPF does not support {END_MARKER_FEATURE}"
            self._owner.violate(PfcpKind.FEATURE, text, session.who)
        return markers

    def _refused(self, peek: wire.PfcpPeek, outcome: SessionOutcome, seid: int, who: str) -> Tree:
        """Report all faults as violations, and return the answer with the first fault."""
        for fault in outcome.faults:
            self._owner.violate(fault.kind, fault.text, who)
        worst = outcome.faults[0] if outcome.faults else None
        cause = worst.cause if worst is not None else outcome.cause or REJECTED
        return session_refused(
            peek.message,
            seid,
            peek.sequence,
            self._config.node_id,
            cause,
            rule=None if worst is None else worst.rule,
            offending_ie=None if worst is None else worst.offending_ie,
        )

    def _tell(self, name: str, session: PfcpSession) -> None:
        self._event(name, {"who": session.who, "cp_seid": session.cp.number})

    def _host(self) -> tuple[str | None, str | None]:
        host = self._endpoint.address[0]
        return (None, host) if ":" in host else (host, None)
