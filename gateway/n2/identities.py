"""The Global RAN Node IDs that associations claim with NG SETUP REQUEST (TS 38.413 8.7.1).

An association is one RAN node. NGAP does not prove an identity, so the address decides who may
replace a node: the address of its association, or one that had the identity earlier. Any other
address waits until SCTP has proved that the old association is dead.
"""

from collections import OrderedDict
from typing import Final, TypeVar

BURST: Final = 10
"""NG SETUP REQUESTs of one identity and address at once; later ones are `PAUSE` apart."""
PAUSE: Final = 5.0
"""Seconds."""
IDENTITIES: Final = 4
"""Identities that one association may have in turn."""
HOUR: Final = 3600.0
REMEMBERED: Final = 16384
"""Identities and addresses that are remembered. The one seen longest ago goes first."""
_OWNERS: Final = 4
K = TypeVar("K")


class _Bucket:
    """A token bucket."""

    __slots__ = ("at", "left")

    def __init__(self, size: float, now: float) -> None:
        self.left = size
        self.at = now

    def take(self, size: float, per_second: float, now: float) -> bool:
        """Take a token. Return whether there was one."""
        self.left = min(size, self.left + (now - self.at) * per_second)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Identities:
    """Remembers who had which identity, and bounds how often identities are claimed.

    Each claim is a step in the log of a gNB, and each new identity is a new log.
    """

    def __init__(self, per_hour: int) -> None:
        """Remember nothing.

        Args:
            per_hour: new identities that one host may claim at once, and in an hour.
        """
        self._per_hour = per_hour
        self._hosts: OrderedDict[str, _Bucket] = OrderedDict()
        self._claims: OrderedDict[tuple[str, str], _Bucket] = OrderedDict()
        self._owners: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        """The addresses with an accepted NG SETUP of an identity, the earliest first."""

    @property
    def remembered(self) -> int:
        """The number of entries in memory."""
        return len(self._hosts) + len(self._claims) + len(self._owners)

    def too_many(self, gnb: str, host: str, now: float) -> str:
        """Count a claim. Return why it is one too many; an empty string if it is not."""
        claim = self._claims.get((host, gnb))
        if claim is None:
            new = _entry(self._hosts, host, self._per_hour, now)
            if not new.take(self._per_hour, self._per_hour / HOUR, now):
                return f"{host} claims more than {self._per_hour} identities in an hour"
        claim = _entry(self._claims, (host, gnb), BURST, now)
        if not claim.take(BURST, 1 / PAUSE, now):
            return f"{host} repeats NG SETUP of {gnb} too often"
        return ""

    def owned(self, gnb: str, address: str) -> None:
        """Note that an NG SETUP was accepted."""
        owners = self._owners.get(gnb, ())
        if address not in owners:
            self._owners[gnb] = (*owners, address)[-_OWNERS:]
        self._owners.move_to_end(gnb)
        if len(self._owners) > REMEMBERED:
            self._owners.popitem(last=False)

    def may_replace(self, gnb: str, address: str, other: str) -> bool:
        """Whether a node at `address` may replace a live association of its identity at `other`."""
        if address == other:
            return True
        owners = self._owners.get(gnb, ())
        if address not in owners:
            return False
        return other not in owners or owners.index(address) < owners.index(other)


def _entry(table: OrderedDict[K, _Bucket], key: K, size: float, now: float) -> _Bucket:
    """Return the bucket of a key, a full one for a new key."""
    found = table.get(key)
    if found is None:
        found = table[key] = _Bucket(size, now)
        if len(table) > REMEMBERED:
            table.popitem(last=False)
    table.move_to_end(key)
    return found
