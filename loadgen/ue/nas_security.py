"""The NAS security of a UE: its contexts, its COUNTs and the checks of each downlink message."""

from enum import Enum
from typing import NamedTuple

import wire
from loadgen.trees import Tree, number, numbers, part
from loadgen.violation import Kind, ReportViolation

PLAIN, INTEGRITY, CIPHERED, NEW_CONTEXT, CIPHERED_NEW_CONTEXT = range(5)
"""Security header types (TS 24.501 9.3.1)."""

_BEARER_3GPP = 1
"""The NAS connection identifier of 3GPP access, an input of the MAC (TS 33.501 6.4.3.1)."""

_ACCEPTED_PLAIN = frozenset(
    {
        "identity-request",
        "authentication-request",
        "authentication-result",
        "authentication-reject",
        "registration-reject",
        "deregistration-accept-ue-originating",
        "service-reject",
    }
)
"""Messages that a UE accepts without protection before the secure exchange (4.4.4.2)."""
_CAUSES_NEVER_PLAIN = frozenset({76, 78, 81, 82})
_REMEMBERED = 64


class SecurityContext:
    """A 5G NAS security context in use."""

    __slots__ = ("_integrity_key", "kamf", "nas", "nea", "ngksi", "nia", "seen")

    def __init__(
        self, ngksi: int, kamf: bytes, nia: int, nea: int, nas: wire.NasSecurity | None = None
    ) -> None:
        """Create a context of a K_AMF and algorithms; the COUNTs are zero unless `nas` has
        others."""
        self.ngksi = ngksi
        self.kamf = kamf
        self.nia = nia
        self.nea = nea
        self.nas = wire.NasSecurity(kamf, nia, nea) if nas is None else nas
        self.seen: dict[int, int] = {}
        """The digests of the messages with the last downlink COUNTs, by COUNT."""
        self._integrity_key: bytes | None = None

    def remember(self, count: int, pdu: bytes) -> None:
        """Store the digest of the message with a downlink COUNT."""
        self.seen[count] = hash(pdu)
        if len(self.seen) > _REMEMBERED:
            del self.seen[next(iter(self.seen))]

    def used_count(self, pdu: bytes) -> int | None:
        """Return the last COUNT before the expected one that fits the MAC of `pdu`, or None."""
        expected = self.nas.downlink
        if expected is None or len(pdu) < 7:
            return None
        count = (expected & ~0xFF) | pdu[6]
        if count >= expected:
            count -= 0x100
        if count < 0:
            return None
        if self._integrity_key is None:
            self._integrity_key = wire.knas_int(self.kamf, self.nia)
        mac = wire.nia(self.nia, self._integrity_key, count, _BEARER_3GPP, pdu[6:], downlink=True)
        return count if mac == pdu[2:6] else None


class Received(NamedTuple):
    """A downlink message that passed all checks."""

    tree: Tree
    plain: bytes


class Refusal(Enum):
    """The 5GMM cause of SECURITY MODE REJECT."""

    CAPABILITIES_MISMATCH = 23
    UNSPECIFIED = 24


class NasChannel:
    """The NAS security of one UE over all its connections (TS 24.501 4.4)."""

    __slots__ = (
        "_report",
        "_strict",
        "current",
        "duplicates",
        "initial_count",
        "mode_counts",
        "partial",
        "secure",
    )

    def __init__(self, report: ReportViolation, *, strict: bool = False) -> None:
        """Create a UE without a context; with `strict`, a repeated message is a violation."""
        self._report = report
        self._strict = strict
        self.current: SecurityContext | None = None
        self.partial: tuple[int, bytes] | None = None
        """ngKSI and K_AMF of an authentication without a SECURITY MODE COMMAND yet."""
        self.secure = False
        """Whether the secure exchange of NAS messages is established on this connection."""
        self.initial_count: int | None = None
        self.mode_counts: list[int] = []
        self.duplicates = 0

    def open_connection(self) -> None:
        """Start a new N1 NAS signalling connection, which is not secure yet."""
        self.secure = False
        self.initial_count = None
        self.mode_counts = []

    def forget(self) -> None:
        """Delete every key."""
        self.current = self.partial = None
        self.secure = False

    # uplink

    def protect(self, plain: bytes, header: int = CIPHERED) -> bytes:
        """Return a message as the connection requires: protected after the secure exchange
        started."""
        context = self.current
        if context is None or not self.secure:
            return plain
        if header == CIPHERED_NEW_CONTEXT and context.nas.uplink is not None:
            self.mode_counts.append(context.nas.uplink)
        return context.nas.protect(plain, header, downlink=False)

    def protect_initial(self, plain: bytes) -> bytes:
        """Return an initial message under the current context, with its container ciphered
        (4.4.6)."""
        context = self.current
        if context is None:
            return plain
        self.initial_count = context.nas.uplink
        return context.nas.protect_initial(plain)

    def k_gnb_candidates(self) -> dict[int, bytes]:
        """Return K_gNB by the uplink COUNT that it derives from (TS 33.501 6.8.1.1.2, annex A.9).

        The COUNTs are those of each SECURITY MODE COMPLETE, repeated ones included. Without one,
        the COUNT is that of the initial message.
        """
        context = self.current
        if context is None:
            return {}
        counts = self.mode_counts
        if not counts:
            counts = [] if self.initial_count is None else [self.initial_count]
        return {count: wire.kgnb(context.kamf, count) for count in counts}

    # downlink

    def receive(self, pdu: bytes) -> Received | None:
        """Check a downlink message. Return None if it must not be processed.

        A SECURITY MODE COMMAND is returned unverified: `command` verifies it.
        """
        if len(pdu) < 3 or pdu[0] != 0x7E:
            self._report(Kind.NAS_MALFORMED, f"{len(pdu)} octets that are not a 5GMM message")
            return None
        header = pdu[1] & 0x0F
        if header == PLAIN:
            return self._receive_plain(pdu)
        if header == NEW_CONTEXT:
            return self._decode(pdu)
        if header in (INTEGRITY, CIPHERED):
            return self._receive_protected(pdu, header)
        self._report(Kind.NAS_HEADER, f"security header type {header} in the downlink")
        return None

    def _decode(self, octets: bytes) -> Received | None:
        try:
            tree = wire.nas_decode(octets)
        except wire.WireError as error:
            self._report(Kind.NAS_MALFORMED, f"message type {octets[2]:#04x}: {error}")
            return None
        if "unknown-ies" in tree:
            what = f"{tree.get('message-type')} with octets that are not its IEs"
            self._report(Kind.NAS_MALFORMED, what)
        return Received(tree, octets)

    def _receive_plain(self, pdu: bytes) -> Received | None:
        received = self._decode(pdu)
        if received is None:
            return None
        name = received.tree.get("message-type")
        if self.secure:
            text = f"{name} without protection after the secure exchange was established"
            self._report(Kind.NAS_UNPROTECTED, text)
            return None
        fault = self._plain_fault(received)
        if fault is not None:
            self._report(Kind.NAS_UNPROTECTED, fault)
            return None
        return received

    def _plain_fault(self, received: Received) -> str | None:
        name = received.tree.get("message-type")
        if name == "5gmm-status":
            # Not to be processed either, but returned so that the status of the core is counted.
            return None
        if name not in _ACCEPTED_PLAIN:
            return f"{name} without protection"
        asked = received.tree.get("identity-type")
        if name == "identity-request" and asked != "suci":
            return f"identity-request for {asked} without protection"
        if name in ("registration-reject", "service-reject") and len(received.plain) > 3:
            cause = received.plain[3]
            if cause in _CAUSES_NEVER_PLAIN:
                return f"{name} with cause #{cause} without protection"
        return None

    def _receive_protected(self, pdu: bytes, header: int) -> Received | None:
        context = self.current
        if context is None:
            self._report(Kind.NAS_NO_CONTEXT, "a protected message, but the UE has no context")
            return None
        try:
            verified = context.nas.unprotect(pdu, downlink=True)
        except wire.WireError as error:
            self._refused(context, pdu, error)
            return None
        context.remember(verified.count, pdu)
        self.secure = True
        received = self._decode(verified.plain)
        if received is not None and header == INTEGRITY:
            name = received.tree.get("message-type")
            self._report(Kind.NAS_NOT_CIPHERED, f"{name} with only integrity protection")
        return received

    def _refused(self, context: SecurityContext, pdu: bytes, error: wire.WireError) -> None:
        """Report why a protected message was refused."""
        if error.kind == "nas-integrity":
            self._unverified(context, pdu)
        elif error.kind == "nas-refused":
            if error.count is not None:
                context.remember(error.count, pdu)
            self.secure = True
            if _decodes(pdu[7:]) and context.nea != 0:
                text = f"header type 2, but the message is not ciphered with NEA{context.nea}"
                self._report(Kind.NAS_NOT_CIPHERED, text)
            else:
                self._report(Kind.NAS_MALFORMED, f"authentic, but: {error}")
        else:
            self._report(Kind.NAS_MALFORMED, str(error))

    def _unverified(self, context: SecurityContext, pdu: bytes) -> None:
        """Distinguish a repeated or late message, which is authentic, from a wrong MAC."""
        count = context.used_count(pdu)
        if count is None:
            expected = context.nas.downlink
            self._report(Kind.NAS_MAC, f"wrong MAC, with COUNT {expected} expected")
        elif count not in context.seen:
            self._report(Kind.NAS_COUNT_BACK, f"COUNT {count} after a higher one")
        elif context.seen[count] != hash(pdu):
            self._report(Kind.NAS_COUNT_REUSED, f"COUNT {count} for two different messages")
        else:
            # The same octets again are discarded as a replay (4.4.3.2). They are harmless: a core
            # may send its recorded answer again after a fault.
            self.duplicates += 1
            if self._strict:
                self._report(Kind.NAS_DUPLICATE, f"the message with COUNT {count} was repeated")

    # SECURITY MODE COMMAND

    def command(
        self, pdu: bytes, tree: Tree, ea: tuple[int, ...], ia: tuple[int, ...]
    ) -> Refusal | None:
        """Take the context of a SECURITY MODE COMMAND into use (5.4.2.3). Return None for
        success."""
        context = self._commanded(tree, ea, ia)
        if isinstance(context, Refusal):
            return context
        try:
            verified = context.nas.unprotect(pdu, downlink=True)
        except wire.WireError as error:
            self._refused(context, pdu, error)
            return Refusal.UNSPECIFIED
        replayed = part(tree, "replayed-ue-security-capabilities")
        if numbers(replayed, "ea") != ea or numbers(replayed, "ia") != ia:
            text = f"replayed {replayed}; the UE has EA {ea} and IA {ia}"
            self._report(Kind.SMC_CAPABILITIES, text)
            return Refusal.CAPABILITIES_MISMATCH
        context.remember(verified.count, pdu)
        self.current = context
        self.partial = None
        self.secure = True
        return None

    def repeated_command(self, pdu: bytes) -> bool:
        """Whether these octets are a SECURITY MODE COMMAND that was already processed."""
        context = self.current
        if context is None or not self.secure:
            return False
        count = context.used_count(pdu)
        if count is None or context.seen.get(count) != hash(pdu):
            return False
        self._unverified(context, pdu)
        return True

    def _commanded(
        self, tree: Tree, ea: tuple[int, ...], ia: tuple[int, ...]
    ) -> SecurityContext | Refusal:
        selected = part(tree, "selected-nas-security-algorithms")
        nea, nia = str(selected.get("ciphering")), str(selected.get("integrity"))
        if nea not in {f"nea{n}" for n in ea} or nia not in {f"nia{n}" for n in ia}:
            text = f"{nia} and {nea} selected, of EA {ea} and IA {ia} offered"
            self._report(Kind.SMC_ALGORITHM, text)
            return Refusal.UNSPECIFIED
        chosen = int(nia[3:]), int(nea[3:])
        ngksi = native_ngksi(tree)
        horizontal = part(tree, "additional-5g-security-information").get("hdp") is True
        if self.partial is not None and self.partial[0] == ngksi:
            kamf = self.partial[1]
            return SecurityContext(ngksi, self._derived(kamf, horizontal=horizontal), *chosen)
        current = self.current
        if current is None or current.ngksi != ngksi:
            self._report(Kind.SMC_NGKSI, f"ngKSI {ngksi}, which no context of the UE has")
            return Refusal.UNSPECIFIED
        if horizontal:
            return SecurityContext(ngksi, self._derived(current.kamf, horizontal=True), *chosen)
        if (current.nia, current.nea) == chosen:
            return current
        counts = current.nas.uplink or 0, current.nas.downlink or 0
        nas = wire.NasSecurity(current.kamf, *chosen, uplink=counts[0], downlink=counts[1])
        return SecurityContext(ngksi, current.kamf, *chosen, nas)

    def _derived(self, kamf: bytes, *, horizontal: bool) -> bytes:
        """Return K_AMF' if the command has the HDP bit, else K_AMF (TS 33.501 6.9.3, annex
        A.13)."""
        if not horizontal or self.initial_count is None:
            return kamf
        return wire.kamf_prime(kamf, False, self.initial_count)


def native_ngksi(tree: Tree) -> int:
    """Return the ngKSI of a message's tree: 7 for no key, 8 and more for a mapped context."""
    value = part(tree, "ngksi")
    native, mapped = number(value, "native"), number(value, "mapped")
    if native is not None:
        return native
    return 7 if mapped is None else mapped + 8


def _decodes(octets: bytes) -> bool:
    try:
        tree = wire.nas_decode(octets)
    except wire.WireError:
        return False
    return "message-type" in tree
