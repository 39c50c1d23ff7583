"""The PFCP sessions of one UPF: establishment, modification and deletion (TS 29.244 6.3, 7.5).

A request is applied as a whole or not at all: the emulator does not support PSUCC (5.2.9).
"""

from collections.abc import Container, Iterable
from random import Random

from msgspec import Struct

from loadgen.upf.changes import apply
from loadgen.upf.checks import check_rules, explicit_f_teid
from loadgen.upf.downlink import Buffer, Delivered, drop, release
from loadgen.upf.ies import FSeid, FTeid, Ies, flags_in, tree_in
from loadgen.upf.rules import AddressKey, Pdr, RuleSet, prefix_of
from loadgen.upf.violation import (
    INVALID_F_TEID_ALLOCATION_OPTION,
    MANDATORY_IE_MISSING,
    NO_RESOURCES_AVAILABLE,
    RESTORATION_FAILURE,
    RULE_FAILURE,
    SERVICE_NOT_SUPPORTED,
    PfcpFault,
    PfcpKind,
)


class PfcpSession(Struct, eq=False):
    """One session."""

    seid: int
    """The SEID of the UP function."""
    cp: FSeid
    """The F-SEID of the CP function."""
    node: str
    """The Node ID of the CP function."""
    who: str
    """The SUPI, else the CP function's SEID."""
    digest: bytes
    """The digest of the establishment request."""
    created: tuple[tuple[int, FTeid], ...]
    """The created PDRs in the answer to that request."""
    rules: RuleSet
    buffers: dict[int, Buffer]
    """Downlink packets, by FAR."""


class SessionOutcome(Struct):
    """The result of a request: refused if it has faults or a cause."""

    session: PfcpSession | None = None
    faults: tuple[PfcpFault, ...] = ()
    cause: int | None = None
    """Why the request is refused without a fault of the CP function."""
    created: tuple[tuple[int, FTeid], ...] = ()
    """F-TEIDs by PDR ID, for Created PDRs."""
    repeated: bool = False
    """Whether the session existed already, from a request with the same content."""
    delivered: tuple[Delivered, ...] = ()
    dropped: int = 0
    """The number of dropped buffered packets."""


class PfcpSessions:
    """All sessions of a UPF, by SEID, TEID and address."""

    def __init__(
        self,
        ipv4: str | None,
        ipv6: str | None,
        rng: Random,
        *,
        ftup: bool = True,
        restores: bool = True,
    ) -> None:
        """Start without sessions.

        Args:
            ipv4: the IPv4 address of N3 in F-TEIDs, or None.
            ipv6: the IPv6 address of N3 in F-TEIDs, or None.
            rng: draws the first SEID and TEID.
            ftup: whether the UPF allocates F-TEIDs, not the CP function (before Release 16).
            restores: whether a restoration (RESTI) replaces the session with its F-SEID; it is
                refused if not.
        """
        self.by_seid: dict[int, PfcpSession] = {}
        self.by_cp: dict[FSeid, PfcpSession] = {}
        self.by_address: dict[AddressKey, PfcpSession] = {}
        self.by_teid: dict[int, PfcpSession] = {}
        self._instances: dict[str, None] = {}
        self.former: set[int] = set()
        """The SEIDs of the sessions that a restart has deleted."""
        self._ipv4, self._ipv6, self._ftup, self._restores = ipv4, ipv6, ftup, restores
        self._seid, self._teid = rng.getrandbits(62), rng.getrandbits(31)

    @property
    def rules(self) -> int:
        """The number of PDRs, FARs, QERs and URRs."""
        return sum(session.rules.count for session in self.by_seid.values())

    def find(
        self, address: str, instance: str | None = None
    ) -> tuple[AddressKey, PfcpSession] | None:
        """Return the session of a UE's address, or of an address in a UE's prefix.

        Args:
            address: IPv4 or IPv6, as text.
            instance: the network instance; None for any.
        """
        text = prefix_of(address) if ":" in address and "/" not in address else address
        if instance is not None:
            session = self.by_address.get((instance, text))
            return None if session is None else ((instance, text), session)
        for known in self._instances:
            session = self.by_address.get((known, text))
            if session is not None:
                return (known, text), session
        return None

    def establish(self, ies: Ies, digest: bytes, node: str, who: str) -> SessionOutcome:
        """Establish a session (6.3.2), restore a session (RESTI), or find that of a repeated
        request.

        Args:
            ies: the IEs of the request.
            digest: the digest of the request's content, to detect repetitions.
            node: the Node ID of the CP function.
            who: the UE, for violations.
        """
        cp = FSeid.of(tree_in(ies, "F-SEID"))
        if cp is None:
            fault = PfcpFault(
                PfcpKind.SYNTAX, "no CP F-SEID", MANDATORY_IE_MISSING, offending_ie=57
            )
            return SessionOutcome(faults=(fault,))
        old = self.by_cp.get(cp)
        restoring = "RESTI" in flags_in(ies, "PFCPSEReq-Flags")
        if old is not None:
            found = self._existing(old, cp, digest, restoring=restoring)
            if found is not None:
                return found
        rules = RuleSet.empty()
        faults, _ = apply(ies, rules)
        faults += check_rules(rules)
        if not (rules.pdrs and rules.fars) and not faults:
            missing, number = ("Create PDR", 1) if not rules.pdrs else ("Create FAR", 3)
            faults.append(
                PfcpFault(PfcpKind.SYNTAX, f"no {missing}", MANDATORY_IE_MISSING, None, number)
            )
        faults += self._check_f_teids(rules, old, restoring=restoring)
        faults += self._check_addresses(rules, old)
        if faults:
            return SessionOutcome(faults=tuple(faults))
        created = self._assign(rules)
        if created is None:
            return SessionOutcome(cause=NO_RESOURCES_AVAILABLE)
        dropped = 0 if old is None else self.delete(old).dropped
        session = PfcpSession(self._next_seid(), cp, node, who, digest, created, rules, {})
        self.by_seid[session.seid] = self.by_cp[cp] = session
        self._index(session, RuleSet.empty())
        return SessionOutcome(session, created=created, dropped=dropped)

    def _existing(
        self, old: PfcpSession, cp: FSeid, digest: bytes, *, restoring: bool
    ) -> SessionOutcome | None:
        """Return the outcome of an establishment with the F-SEID of a session; None to replace the
        session."""
        if restoring:
            return None if self._restores else SessionOutcome(cause=RESTORATION_FAILURE)
        if old.digest == digest:
            return SessionOutcome(old, created=old.created, repeated=True)
        text = f"the session of {old.who} has the CP F-SEID {cp} already"
        return SessionOutcome(faults=(PfcpFault(PfcpKind.F_SEID_IN_USE, text, RULE_FAILURE),))

    def modify(self, session: PfcpSession, ies: Ies, now: float) -> SessionOutcome:
        """Modify a session (6.3.3). With a fault the session is not changed."""
        faults = list(self._check_cp(session, ies))
        rules = session.rules.copy()
        found, changed = apply(ies, rules)
        faults += found
        faults += check_rules(rules)
        faults += self._check_f_teids(rules, session, restoring=False)
        faults += self._check_addresses(rules, session)
        if faults:
            return SessionOutcome(session, faults=tuple(faults))
        created = self._assign(rules)
        if created is None:
            return SessionOutcome(session, cause=NO_RESOURCES_AVAILABLE)
        before, session.rules = session.rules, rules
        self._index(session, before)
        dropped = 0
        if "DROBU" in flags_in(ies, "PFCPSMReq-Flags"):
            dropped = drop(session.buffers)
        delivered, more = release(rules, session.buffers, changed, now)
        return SessionOutcome(
            session, created=created, delivered=tuple(delivered), dropped=dropped + more
        )

    def delete(self, session: PfcpSession) -> SessionOutcome:
        """Delete a session with its rules (6.3.4)."""
        before, session.rules = session.rules, RuleSet.empty()
        self._index(session, before)
        self.by_seid.pop(session.seid, None)
        if self.by_cp.get(session.cp) is session:
            del self.by_cp[session.cp]
        return SessionOutcome(session, dropped=drop(session.buffers))

    def of_node(self, node: str) -> list[PfcpSession]:
        """Return the sessions of a CP function."""
        return [session for session in self.by_seid.values() if session.node == node]

    def clear(self) -> None:
        """Delete all sessions; their SEIDs and TEIDs are not used again."""
        self.former.update(self.by_seid)
        for table in (self.by_seid, self.by_cp, self.by_address, self.by_teid):
            table.clear()

    def _check_cp(self, session: PfcpSession, ies: Ies) -> Iterable[PfcpFault]:
        cp = FSeid.of(tree_in(ies, "F-SEID"))
        if cp is not None and cp != session.cp:
            text = f"another CP F-SEID, {cp}: the UPF supports neither MPAS nor SSET"
            yield PfcpFault(PfcpKind.FEATURE, text, SERVICE_NOT_SUPPORTED)

    def _check_f_teids(
        self, rules: RuleSet, mine: PfcpSession | None, *, restoring: bool
    ) -> Iterable[PfcpFault]:
        """Check that the UPF chooses all F-TEIDs (5.5.1); without FTUP, that it chooses none."""
        own = {} if mine is None else mine.rules.teids
        for pdr in rules.pdrs.values():
            f_teid = pdr.pdi.f_teid
            if pdr.pdi.choose and not self._ftup:
                text = f"PDR {pdr.id} leaves its F-TEID to the UPF, which does not support FTUP"
                option = INVALID_F_TEID_ALLOCATION_OPTION
                yield PfcpFault(PfcpKind.F_TEID_OPTION, text, option, ("PDR", pdr.id))
            if f_teid is None or own.get(f_teid.number) == f_teid:
                continue
            if not restoring and self._ftup:
                yield explicit_f_teid(pdr)
                continue
            holder = self.by_teid.get(f_teid.number)
            if holder is not None and holder is not mine:
                text = f"PDR {pdr.id} has the F-TEID {f_teid}, which {holder.who} has too"
            elif f_teid.ipv4 not in (None, self._ipv4) or f_teid.ipv6 not in (None, self._ipv6):
                text = f"PDR {pdr.id} has the F-TEID {f_teid}, which belongs to another UPF"
            else:
                continue
            yield PfcpFault(PfcpKind.F_TEID_IN_USE, text, RESTORATION_FAILURE, ("PDR", pdr.id))

    def _check_addresses(self, rules: RuleSet, mine: PfcpSession | None) -> Iterable[PfcpFault]:
        for pdr in rules.pdrs.values():
            for key in pdr.keys:
                holder = self.by_address.get(key)
                if holder is None or holder is mine:
                    continue
                text = f"PDR {pdr.id} is for {key[1]} in {key[0]}, which {holder.who} has"
                yield PfcpFault(PfcpKind.UE_ADDRESS_IN_USE, text, RULE_FAILURE, ("PDR", pdr.id))

    def _assign(self, rules: RuleSet) -> tuple[tuple[int, FTeid], ...] | None:
        """Assign F-TEIDs to PDRs. Return None if the UPF has no address of the requested type."""
        given = rules.teids
        chosen: dict[int, FTeid] = {}
        created: list[tuple[int, FTeid]] = []
        for number, pdr in rules.pdrs.items():
            if not pdr.pdi.choose:
                continue
            f_teid = None if pdr.pdi.choose_id is None else chosen.get(pdr.pdi.choose_id)
            f_teid = f_teid or self._new_f_teid(pdr, given)
            if f_teid is None:
                return None
            if pdr.pdi.choose_id is not None:
                chosen[pdr.pdi.choose_id] = f_teid
            rules.pdrs[number] = pdr.assigned(f_teid)
            created.append((number, f_teid))
        return tuple(created)

    def _new_f_teid(self, pdr: Pdr, given: Container[int]) -> FTeid | None:
        ipv4 = self._ipv4 if "V4" in pdr.pdi.choose else None
        ipv6 = self._ipv6 if "V6" in pdr.pdi.choose else None
        if ipv4 is None and ipv6 is None:
            return None
        while True:
            self._teid = self._teid % 0xFFFFFFFF + 1
            if self._teid not in self.by_teid and self._teid not in given:
                return FTeid(self._teid, ipv4, ipv6)

    def _next_seid(self) -> int:
        while True:
            self._seid = self._seid % (2**64 - 1) + 1
            if self._seid not in self.by_seid:
                return self._seid

    def _index(self, session: PfcpSession, before: RuleSet) -> None:
        """Update the indexes of addresses and TEIDs after a change of a session's rules."""
        now = session.rules
        for key in before.keys - now.keys:
            self.by_address.pop(key, None)
        for teid in before.teids.keys() - now.teids.keys():
            self.by_teid.pop(teid, None)
        for key in now.keys:
            self.by_address[key] = session
            self._instances[key[0]] = None
        self.by_teid.update(dict.fromkeys(now.teids, session))
