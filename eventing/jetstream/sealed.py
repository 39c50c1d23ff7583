"""NGAP messages for gateways, sealed: they carry K_gNB and NH (TS 38.413 9.3.1.87, 9.3.1.88).

Every process that sends NGAP to gNBs derives a key of its own from the key of the 5G-TMSIs, which
the N2 gateways have too. A sealed message has these parts:

| octets | content |
|---|---|
| 1 | `VERSION` |
| 16 | the sender: 8 octets of its start time in milliseconds, and 8 random octets |
| 12 | the number of the message, which is the nonce of AES-256-GCM |
| rest | a batch of CloudEvents, encrypted, with the tag of 16 octets |

The key of a sender is HKDF-SHA-256 (RFC 5869) of the key of the 5G-TMSIs, with `_SALT` and the
sender as info. So no nonce is used twice, however many messages the core sends. The association is
authenticated too: a message that is copied to the subject of another association is refused. Within
an association, the numbers of a sender show copies.
"""

import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from eventing import subjects
from eventing.jetstream.messages import Addressed, Outgoing, batched, gathered
from wire import Sealer, WireError

MEDIA_TYPE: Final = "application/vnd.evcore.sealed"
VERSION: Final = 1
RENEWED: Final = 3600.0
"""Seconds after which a sender takes another name and key."""
MOST: Final = 1 << 14
"""Maximum number of senders that a gateway remembers."""
WINDOW: Final = 1 << 12
"""How far the number of a message may be behind the highest number of its sender. After the loss of
a connection a sender repeats its last messages behind newer ones (`eventing.jetstream.downlinks`).
"""

_SALT: Final = b"evcore NGAP downlink"
_SENDER: Final = slice(1, 17)
_NONCE: Final = slice(17, 29)
_SHORTEST: Final = 29 + 16
_MASK: Final = (1 << WINDOW) - 1


class SealError(ValueError):
    """A message is not sealed with the key of this core; the text is one phrase with the reason."""


class DownlinkSealer:
    """Seals the NGAP messages of one process."""

    def __init__(self, tmsi_key: bytes) -> None:
        """`tmsi_key` is the key of the 5G-TMSIs, 32 octets."""
        self._key = _extract(tmsi_key)
        self._until = 0.0
        self._prefix = b""
        self._number = 0
        self._sealer: Sealer

    def messages(self, leaving: Sequence[Addressed], most: int) -> list[Outgoing]:
        """Return events for gateways as few messages, at most `most` events in each.

        The events for one gNB or UPF stay in order. Messages for gNBs are sealed, and have no
        headers.
        """
        for_gnbs = [one for one in leaving if one.subject.startswith(subjects.N2)]
        if not for_gnbs:
            return gathered(leaving, str, most)
        others = [one for one in leaving if not one.subject.startswith(subjects.N2)]
        batches = batched(for_gnbs, str, most)
        sealed = [Outgoing(subject, self.seal(subject, data), {}) for subject, data in batches]
        return [*sealed, *gathered(others, str, most)]

    def seal(self, subject: str, batch: bytes) -> bytes:
        """Return a batch of events, sealed for the association in a subject."""
        if time.monotonic() >= self._until:
            self._renew()
        self._number += 1
        context = _context(subject.rpartition(".")[2])
        return self._prefix + self._sealer.seal(self._number.to_bytes(12), batch, context)

    def _renew(self) -> None:
        sender = (time.time_ns() // 1_000_000).to_bytes(8) + os.urandom(8)
        self._prefix = bytes([VERSION]) + sender
        self._sealer = Sealer(_expand(self._key, sender))
        self._number = 0
        self._until = time.monotonic() + RENEWED


class _Sender:
    """A sender that a gateway knows, with the numbers of its last messages."""

    __slots__ = ("highest", "sealer", "seen")

    def __init__(self, sealer: Sealer) -> None:
        self.sealer = sealer
        self.highest = 0
        self.seen = 0
        """A bit for each of the last `WINDOW` numbers, the lowest for `highest`."""

    def is_new(self, number: int) -> bool:
        """Whether no message had this number; from now on one had.

        Raises:
            SealError: the number is too far behind the highest one to know.
        """
        ahead = number - self.highest
        if ahead > 0:
            self.seen = (self.seen << ahead | 1) & _MASK if ahead < WINDOW else 1
            self.highest = number
            return True
        if -ahead >= WINDOW:
            raise SealError("an old message of its sender")
        bit = 1 << -ahead
        new = not self.seen & bit
        self.seen |= bit
        return new


class DownlinkOpener:
    """Opens the sealed NGAP messages for the associations of one gateway."""

    def __init__(self, tmsi_key: bytes) -> None:
        """`tmsi_key` is the key of the 5G-TMSIs, 32 octets."""
        self._key = _extract(tmsi_key)
        self._senders: OrderedDict[bytes, _Sender] = OrderedDict()
        self._forgotten = b""
        """The latest of the senders that were forgotten; an unknown sender must have begun later.
        Otherwise its messages may be copies."""

    def open(self, association: str, data: bytes) -> bytes | None:
        """Return the batch of events in a message for an association; None if it is a copy.

        Raises:
            SealError: the message is not sealed with the key of this core, was sealed for another
                association, or is so old that it may be a copy.
        """
        if len(data) < _SHORTEST or data[0] != VERSION:
            raise SealError("not a sealed message")
        name = data[_SENDER]
        sender = self._senders.get(name) or _Sender(Sealer(_expand(self._key, name)))
        try:
            batch = sender.sealer.open(data[17:], _context(subjects.token(association)))
        except WireError:
            raise SealError(
                "sealed with another key or for another association, or changed"
            ) from None
        if name not in self._senders and name[:8] <= self._forgotten:
            raise SealError("an old sender")
        new = sender.is_new(int.from_bytes(data[_NONCE]))
        self._senders[name] = sender
        self._senders.move_to_end(name)
        if len(self._senders) > MOST:
            self._forgotten = max(self._forgotten, self._senders.popitem(last=False)[0][:8])
        return batch if new else None


def number_of(data: bytes) -> str:
    """Return the sender and the number of a sealed message, as text."""
    return data[_SENDER.start : _NONCE.stop].hex()


def _extract(tmsi_key: bytes) -> bytes:
    """Return the pseudorandom key of the downlinks (RFC 5869 2.2)."""
    return hmac.digest(_SALT, tmsi_key, "sha256")


def _expand(key: bytes, sender: bytes) -> bytes:
    """Return the key of a sender: the first block, of 32 octets (RFC 5869 2.3)."""
    return hmac.digest(key, sender + b"\x01", "sha256")


def _context(association: str) -> bytes:
    return b"n2\0" + association.encode()
