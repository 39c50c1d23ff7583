"""What an uplink message is, once its protection is taken off (TS 24.501 4.4)."""

from typing import TypeAlias

from msgspec import Struct

import wire
from functions.messages.trees import Tree
from schemas.gmm.state import SecurityContext
from schemas.ue.state import Ue

_PLAIN_OFFSET = 7
"""Where the message starts behind a security header (TS 24.501 9.1.1)."""


class Nas(Struct, frozen=True, omit_defaults=True):
    """An uplink NAS message that can be read."""

    type: int
    """The message type, or for 5GSM -1."""
    plain: bytes
    """The message: for an initial one, the entire message of its container."""
    security_header: int
    verified: bool = False
    """Whether its MAC is right."""
    count: int | None = None
    """The NAS COUNT that it used."""
    pending: bool = False
    """Whether it was verified with the context that a SECURITY MODE COMMAND offers."""


class Unreadable(Struct, frozen=True):
    """An uplink NAS message that cannot be acted on."""

    reason: str
    count: int | None = None
    """The NAS COUNT that it used, if its MAC was right."""
    answer: bytes = b""
    """The plain message that it is to be answered with, if any."""


def open_nas(ue: Ue, octets: bytes, *, initial: bool = False) -> Nas | Unreadable:
    """Verify and decipher an uplink NAS message with what is known of the UE.

    `initial` is whether it opens a connection, on which no security context is offered.

    A message whose MAC is wrong or cannot be checked is given unverified when it can be read;
    which of those may be acted on is the procedures' decision (4.4.4.3).
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
        return Unreadable("no plain 5GMM message behind the security header")
    return Nas(octets[2], octets, header)


def _verify(context: SecurityContext, octets: bytes, *, pending: bool) -> Nas | Unreadable | None:
    """None when the MAC is wrong, or no NAS COUNT is left to verify it with."""
    try:
        security = wire.NasSecurity(
            context.kamf, context.nia, context.nea, context.uplink, context.downlink
        )
        found = security.unprotect(octets, downlink=False)
    except wire.WireError as err:
        if err.kind in ("nas-integrity", "nas-count", "security"):
            return None
        plain = err.plain or b""
        # A 5GSM message comes in UL NAS TRANSPORT; by itself nothing can answer it (5.4.5).
        answer = wire.nas_answer(plain) if plain[:1] == b"\x7e" else None
        # The COUNTs of a context that is not in use do not move before its first right message.
        return Unreadable(str(err), None if pending else err.count, answer or b"")
    message_type = found.plain[2] if found.plain[0] == 0x7E else -1
    return Nas(message_type, found.plain, found.security_header, True, found.count, pending)


class NasReceived(Struct, frozen=True):
    """An uplink NAS message, opened."""

    nas: Nas
    tree: Tree
    """The message, decoded."""
    initial: bool
    """Whether it came in an INITIAL UE MESSAGE, on a connection that is new."""
    container: bytes | None = None
    """The octets of its NAS message container, which may be anything."""


class NgapReceived(Struct, frozen=True):
    """An uplink NGAP message without NAS, or one about its NAS."""

    message: str
    ies: Tree
    amf_ue_ngap_id: int


class TimerExpired(Struct, frozen=True):
    """A timer expired; it runs no more. `count` is how often it had expired before."""

    name: str
    count: int


class EventReceived(Struct, frozen=True):
    """An event of the core itself, as its data structure in `schemas.cloudevents`."""

    type: str
    data: Struct


class PfcpReceived(Struct, frozen=True):
    """A PFCP message of a session of the UE."""

    message: str
    tree: Tree | None
    """None for an answer that cannot be read."""
    seid: int
    """The core's SEID of the session."""
    number: int | None
    """Of an answer, the number of the request."""
    key: str
    """The partition key of its event."""


class PfcpUnanswered(Struct, frozen=True):
    """The gateway has repeated a PFCP request in vain."""

    seid: int
    number: int | None


Input: TypeAlias = (
    NasReceived | NgapReceived | PfcpReceived | PfcpUnanswered | TimerExpired | EventReceived
)
