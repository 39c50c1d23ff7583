"""The inputs of a procedure of a UE, and opening protected NAS messages (TS 24.501 4.4)."""

from typing import TypeAlias

from msgspec import Struct

import wire
from functions.messages.nas import codec
from functions.messages.trees import Tree
from schemas.gmm.state import SecurityContext
from schemas.ue.state import Ue

_PLAIN_OFFSET = 7
"""Octets of the security header before the message (TS 24.501 9.1.1)."""


class Nas(Struct, frozen=True, omit_defaults=True):
    """An uplink NAS message that can be read."""

    type: int
    """The message type; -1 for 5GSM."""
    plain: bytes
    """The message, without its security header."""
    security_header: int
    verified: bool = False
    """Whether its MAC is right."""
    count: int | None = None
    """The NAS COUNT that it used."""
    pending: bool = False
    """Whether the pending context of a SECURITY MODE COMMAND verified it."""


class Unreadable(Struct, frozen=True):
    """An uplink NAS message that cannot be processed."""

    reason: str
    count: int | None = None
    """The NAS COUNT that it used, if its MAC was right."""
    answer: bytes = b""
    """The plain message that answers it, empty for none."""


def open_nas(ue: Ue, octets: bytes, *, initial: bool = False) -> Nas | Unreadable:
    """Verify and decipher an uplink NAS message with the security contexts of the UE.

    `initial`: the message opens a connection, so no SECURITY MODE COMMAND is pending on it.

    A readable message without a valid MAC is returned unverified. The procedures decide which of
    these they process (4.4.4.3).
    """
    if len(octets) < 3 or octets[0] not in (0x7E, 0x2E):
        return Unreadable("not a 5GS NAS message")
    header = octets[1] & 0x0F if octets[0] == 0x7E else 0
    if header == 0:
        return _plain(octets, 0)
    if len(octets) <= _PLAIN_OFFSET:
        return Unreadable("a security header without a message")
    new = header in (3, 4)
    context = ue.security
    if new:
        context = None if initial else ue.pending
    if context is not None:
        opened = _verify(context, octets, pending=new)
        if opened is not None:
            return opened
    if header in (1, 3):
        return _plain(octets[_PLAIN_OFFSET:], header)
    why = "no security context" if context is None else "the MAC is wrong"
    return Unreadable(f"a ciphered message: {why}")


def _plain(octets: bytes, header: int) -> Nas | Unreadable:
    if len(octets) < 3:
        return Unreadable("too short for a NAS message")
    if octets[0] == 0x2E:
        return Nas(-1, octets, header)
    if octets[0] != 0x7E or octets[1] & 0x0F:
        return Unreadable("no plain 5GMM message after the security header")
    return Nas(octets[2], octets, header)


def _verify(context: SecurityContext, octets: bytes, *, pending: bool) -> Nas | Unreadable | None:
    """Return None if the MAC is wrong, or if no NAS COUNT is left to verify it."""
    try:
        security = wire.NasSecurity(
            context.kamf, context.nia, context.nea, context.uplink, context.downlink
        )
        found = security.unprotect(octets, downlink=False)
    except wire.WireError as err:
        if err.kind in ("nas-integrity", "nas-count", "security"):
            return None
        plain = err.plain or b""
        # A 5GSM message comes in an UL NAS TRANSPORT. A 5GSM message alone has no answer (5.4.5).
        answer = codec.answer(plain) if plain[:1] == b"\x7e" else None
        # The COUNTs of a pending context do not move before its first valid message.
        return Unreadable(str(err), None if pending else err.count, answer or b"")
    message_type = found.plain[2] if found.plain[0] == 0x7E else -1
    return Nas(message_type, found.plain, found.security_header, True, found.count, pending)


class NasReceived(Struct, frozen=True):
    """An uplink NAS message, opened."""

    nas: Nas
    tree: Tree
    """The message, decoded."""
    initial: bool
    """Whether it came in an INITIAL UE MESSAGE, on a new connection."""
    container: bytes | None = None
    """The octets of its NAS message container. They are not checked."""


class NgapReceived(Struct, frozen=True):
    """An uplink NGAP message without NAS, or one about its NAS."""

    message: str
    ies: Tree
    amf_ue_ngap_id: int


class TimerExpired(Struct, frozen=True):
    """A timer expired, and does not run any more. `count` is the number of its expiries before."""

    name: str
    count: int
    late: int = 0
    """Milliseconds from its expiry to this decision."""


class EventReceived(Struct, frozen=True):
    """An event of the core itself, as its data structure in `schemas.cloudevents`."""

    type: str
    data: Struct


class PfcpReceived(Struct, frozen=True):
    """A PFCP message of a session of the UE."""

    message: str
    tree: Tree | None
    """None for an unreadable answer."""
    seid: int
    """The core's SEID of the session."""
    number: int | None
    """The number of the request, for an answer."""
    key: str
    """The partition key of its event."""


class PfcpUnanswered(Struct, frozen=True):
    """A UPF has not answered a PFCP request or any of its retransmissions."""

    seid: int
    number: int | None


class PfcpEnded(Struct, frozen=True):
    """The gateway has ended a PFCP request, because the UPF has restarted since."""

    seid: int
    number: int | None
    incarnation: int
    """The Recovery Time Stamp of the restarted UPF; 0 if the gateway did not tell it."""


Input: TypeAlias = (
    NasReceived
    | NgapReceived
    | PfcpReceived
    | PfcpUnanswered
    | PfcpEnded
    | TimerExpired
    | EventReceived
)
