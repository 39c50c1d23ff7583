"""An emulated UPF on N4: it checks the rules of a control plane and can trigger reports.

It carries no packets: a downlink packet is a call, which is matched with the rules.
"""

import asyncio
from collections.abc import Callable
from random import Random

import wire
from loadgen.trees import Tree
from loadgen.upf.config import Misbehaviour, SessionView, UpfConfig, UpfCounts
from loadgen.upf.downlink import (
    UNMATCHED,
    Delivered,
    Delivery,
    arrive,
    downlink_target,
    drop,
    uplink_f_teid,
)
from loadgen.upf.endpoint import Endpoint
from loadgen.upf.ies import FTeid, first, flags_in
from loadgen.upf.interfaces import Interfaces, leaves
from loadgen.upf.messages import (
    downlink_data_report,
    error_indication_report,
    node_answer,
    recovery_time_stamp,
    session_refused,
)
from loadgen.upf.node import Node, OnEvent, PfcpAssociation
from loadgen.upf.reliable import Address
from loadgen.upf.rules import AddressKey
from loadgen.upf.session_requests import SESSION_REQUESTS, SessionRequests
from loadgen.upf.sessions import PfcpSession, PfcpSessions
from loadgen.upf.violation import (
    PFCP_CLAUSES,
    SERVICE_NOT_SUPPORTED,
    PfcpKind,
    PfcpViolation,
)

_NOT_OURS = frozenset({"PFDManagementRequest", "SessionSetDeletionRequest"})
"""Requests of features that the emulator does not support."""
_NODE = frozenset(
    {
        "HeartbeatRequest",
        "AssociationSetupRequest",
        "AssociationUpdateRequest",
        "AssociationReleaseRequest",
    }
)


class Upf:
    """One UPF: its socket, its associations and its sessions."""

    def __init__(
        self,
        config: UpfConfig,
        *,
        rng: Random | None = None,
        on_event: OnEvent | None = None,
        on_delivered: Callable[[Delivered], None] | None = None,
        on_violation: Callable[[PfcpViolation], None] | None = None,
    ) -> None:
        """Create a UPF that is not started.

        Args:
            config: its configuration.
            rng: draws the first SEID and TEID.
            on_event: called with changes: ``associated``, ``not-associated``, ``released``,
                ``peer-restarted``, ``peer-lost``, ``peer-back``, ``forgotten``, ``restarted``,
                ``established``,
                ``repeated``, ``modified``, ``deleted``, ``report``, ``report-refused``,
                ``report-unanswered``.
            on_delivered: called with buffered packets that were delivered.
            on_violation: called with violations; `violations` keeps them too.
        """
        self.config = config
        self.counts = UpfCounts()
        self.violations: list[PfcpViolation] = []
        self._event = on_event or _ignore
        self._interfaces = Interfaces(config.needs_interface_type, config.n3_instance)
        self._on_violation = on_violation
        # Random by default: a restarted process must not reuse its former SEIDs.
        ftup = "FTUP" in config.features
        restores = "keeps-sessions" not in config.quirks
        self.table = PfcpSessions(*config.n3, rng or Random(), ftup=ftup, restores=restores)
        self.endpoint = Endpoint(config, self, self.counts)
        recovery = recovery_time_stamp()
        self.node = Node(config, self.endpoint, self.table, self._event, recovery)
        self._session_requests = SessionRequests(
            config,
            self,
            self.endpoint,
            self.node,
            self.table,
            self.counts,
            self._event,
            on_delivered,
        )

    async def start(self) -> None:
        """Open the socket, and set up the association if a CP function is configured.

        Raises:
            OSError: the address is not available.
        """
        await self.endpoint.open()
        self.node.start()

    def close(self) -> None:
        """Close the socket without releasing the associations, like a process that dies."""
        self.node.stop()
        self.endpoint.close()

    async def associated(self) -> None:
        """Wait until there is an association."""
        await self.node.changed.wait()

    # state

    @property
    def address(self) -> Address:
        """The address and port for PFCP."""
        return self.endpoint.address

    @property
    def recovery(self) -> int:
        """Its Recovery Time Stamp, in seconds since 1900."""
        return self.node.recovery

    @property
    def associations(self) -> dict[str, PfcpAssociation]:
        """By the Node ID of the CP function."""
        return dict(self.node.associations)

    @property
    def rules_left(self) -> int:
        """The number of PDRs, FARs, QERs and URRs."""
        return self.table.rules

    @property
    def session_count(self) -> int:
        """The number of sessions."""
        return len(self.table.by_seid)

    @property
    def sessions(self) -> dict[AddressKey, SessionView]:
        """Sessions by network instance and the UE's IPv4 address or IPv6 prefix (such as
        ``2001::/64``)."""
        return {key: _view(key, found) for key, found in self.table.by_address.items()}

    def downlink_tunnel(self, ue: str) -> FTeid | None:
        """Return the F-TEID of downlink packets for a UE's address, or None."""
        found = self.table.find(ue)
        return None if found is None else downlink_target(found[1].rules)

    # triggers

    def associate(self, cp: Address) -> None:
        """Set up an association with a CP function (6.2.6.3), and retry until it succeeds."""
        self.node.associate(cp)

    def want_release(self, node: str) -> None:
        """Ask the CP function of a Node ID to release the association (6.2.7).

        Raises:
            KeyError: there is no such association.
        """
        self.node.want_release(node)

    def downlink_data(self, ue: str, network_instance: str | None = None) -> Delivery:
        """Handle a downlink packet for a UE.

        A FAR with NOCP reports its first buffered packet (8.2.26). It reports again after the FAR
        is updated, after the buffer is dropped, and after a report without an answer.

        Args:
            ue: its IPv4 address, its IPv6 prefix, or an address in that /64.
            network_instance: the network instance of the address; None for any.
        """
        found = self.table.find(ue, network_instance)
        if found is None:
            return UNMATCHED
        key, session = found
        now = asyncio.get_running_loop().time()
        limit, interfaces = self.config.buffer, self._interfaces
        delivery = arrive(key, session.rules, session.buffers, limit, now, interfaces)
        self.counts.delivered += delivery.outcome == "delivered"
        self.counts.buffered += delivery.outcome == "buffered"
        self.counts.dropped += delivery.outcome == "dropped"
        if delivery.report and delivery.pdr is not None:
            self._report(session, key[1], delivery.pdr, delivery.qfi)
        return delivery

    def uplink_data(self, ue: str, network_instance: str | None = None) -> bool:
        """Return whether an uplink packet of a UE is forwarded; the arguments are those of
        `downlink_data`."""
        found = self.table.find(ue, network_instance)
        return found is not None and leaves(found[1].rules, self._interfaces)

    def error_indication(self, ue: str, network_instance: str | None = None) -> bool:
        """Report a GTP-U Error Indication of the gNB for downlink packets of a UE (5.10).

        Returns:
            Whether there was a tunnel to report.
        """
        found = self.table.find(ue, network_instance)
        target = None if found is None else downlink_target(found[1].rules)
        if found is None or target is None:
            return False
        session = found[1]
        sequence = self.endpoint.requests.sequence()
        tree = error_indication_report(session.cp.number, sequence, target)
        self._ask(tree, session, lambda answer: self._reported(session, None, answer))
        return True

    def restart(self) -> None:
        """Lose all state, and restart with another Recovery Time Stamp."""
        lost = self.session_count
        self.node.stop()
        self.endpoint.requests.cancel()
        self.endpoint.answers.clear()
        self.table.clear()
        self.node.recovery = max(recovery_time_stamp(), self.node.recovery + 1)
        self.counts.restarts += 1
        self._event("restarted", {"sessions": lost, "recovery_time_stamp": self.recovery})
        self.node.start()

    def forget(self) -> None:
        """End all associations without a message or a restart. The sessions are deleted too, but
        for the quirk ``keeps-sessions``."""
        self.node.forget()

    def silence(self, on: bool) -> None:
        """Stop reading and sending, or start again."""
        self.endpoint.silent = on

    def misbehave(self, misbehaviour: Misbehaviour | None) -> None:
        """Misbehave in answers from now on; None stops the misbehaviour."""
        self.endpoint.misbehave(misbehaviour)

    # called by the endpoint

    def request(self, tree: Tree, peek: wire.PfcpPeek, octets: bytes, at: Address) -> Tree | None:
        """Execute a request. Return its answer, or None for no answer."""
        if peek.message in _NODE:
            return self.node.request(tree, peek, at)
        if peek.message in SESSION_REQUESTS:
            return self._session_requests.request(tree, peek, octets)
        text = f"{peek.message}, which a CP function does not send to this UPF"
        self.violate(PfcpKind.UNEXPECTED, text, f"{at[0]}:{at[1]}")
        if peek.message in _NOT_OURS:
            return self.refusal(peek, SERVICE_NOT_SUPPORTED, None)
        return None

    def refusal(self, peek: wire.PfcpPeek, cause: int, offending_ie: int | None) -> Tree | None:
        """Return the answer that refuses a request."""
        message, sequence, node = peek.message, peek.sequence, self.config.node_id
        if message == "HeartbeatRequest":
            return None
        if message.startswith("Session") and message != "SessionSetDeletionRequest":
            seid = 0
            if message == "SessionEstablishmentRequest":
                seid = 0 if peek.f_seid is None else peek.f_seid[0]
            elif (session := self.table.by_seid.get(peek.seid or 0)) is not None:
                seid = session.cp.number
            return session_refused(message, seid, sequence, node, cause, offending_ie=offending_ie)
        answer = node_answer(message, sequence, node, cause, offending_ie)
        if message == "AssociationSetupRequest":
            answer["ies"].insert(2, {"Recovery Time Stamp": self.recovery})
        return answer

    def violate(self, kind: PfcpKind, text: str, who: str) -> None:
        """Count, keep and report a violation."""
        self.counts.violations += 1
        at = asyncio.get_running_loop().time()
        found = PfcpViolation(kind, PFCP_CLAUSES[kind], text, who, at)
        if len(self.violations) < self.config.keep_violations:
            self.violations.append(found)
        if self._on_violation is not None:
            self._on_violation(found)

    # reports

    def _report(self, session: PfcpSession, ue: str, pdr: int, qfi: int | None) -> None:
        self.counts.reports += 1
        far = session.rules.pdrs[pdr].far
        sequence = self.endpoint.requests.sequence()
        tree = downlink_data_report(session.cp.number, sequence, pdr, qfi)
        self._event("report", {"who": session.who, "ue": ue, "pdr": pdr})
        self._ask(tree, session, lambda answer: self._reported(session, far, answer))

    def _reported(self, session: PfcpSession, far: int | None, answer: Tree | None) -> None:
        """Handle a Session Report Response (7.5.9), or its absence."""
        if answer is None:
            self.counts.unanswered += 1
            self._event("report-unanswered", {"who": session.who})
            buffer = None if far is None else session.buffers.get(far)
            if buffer is not None:
                buffer.reported = False
            return
        ies, seid = answer["ies"], answer.get("seid")
        cause = first(ies, "Cause")
        if cause != "Request accepted":
            self._event("report-refused", {"who": session.who, "cause": cause})
        if seid != session.seid and not (seid == 0 and cause == "Session context not found"):
            text = f"{answer['message']} to SEID {seid}, but the session has {session.seid}"
            self.violate(PfcpKind.SEID, text, session.who)
        if "DROBU" in flags_in(ies, "PFCPSRRsp-Flags"):
            self.counts.dropped += drop(session.buffers)

    def _ask(
        self, tree: Tree, session: PfcpSession, answered: Callable[[Tree | None], None]
    ) -> None:
        association = self.node.associations.get(session.node)
        if association is None:
            return  # forgotten: there is no CP function to report to
        host, port = association.address
        same = session.cp.ipv6 if ":" in self.endpoint.address[0] else session.cp.ipv4
        self.endpoint.ask(tree, (same or host, self.config.cp_port or port), answered)


def _ignore(name: str, what: Tree) -> None:
    del name, what


def _view(key: AddressKey, session: PfcpSession) -> SessionView:
    return SessionView(
        cp_seid=session.cp.number,
        up_seid=session.seid,
        who=session.who,
        network_instance=key[0],
        uplink=uplink_f_teid(session.rules),
        downlink=downlink_target(session.rules),
        buffered=sum(buffer.packets for buffer in session.buffers.values()),
        rules=session.rules.count,
    )
