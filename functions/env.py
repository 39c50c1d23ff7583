"""All that a decision may know beside the state and the trigger, and all of it recorded."""

import hashlib

from schemas.network import Network
from schemas.subscriber import Subscriber

ENTROPY_OCTETS = 32


class Env:
    """The inputs of one decision: the same values give the same decision, for ever.

    `now` is in milliseconds since the Unix epoch. `random` draws from `entropy` alone.
    """

    __slots__ = ("_drawn", "entropy", "flags", "network", "now", "subscriber")

    def __init__(
        self,
        now: int,
        entropy: bytes,
        network: Network,
        subscriber: Subscriber | None = None,
        flags: tuple[int, ...] = (),
    ) -> None:
        self.now = now
        self.entropy = entropy
        self.network = network
        self.subscriber = subscriber
        self.flags = flags
        self._drawn = 0

    def random(self, octets: int) -> bytes:
        """The next `octets` octets of the stream that the entropy of this step gives."""
        self._drawn += 1
        seed = self.entropy + self._drawn.to_bytes(4, "big")
        return hashlib.shake_256(seed).digest(octets)

    def random_int(self, bits: int) -> int:
        """A number of up to `bits` bits from the same stream."""
        drawn = int.from_bytes(self.random((bits + 7) // 8), "big")
        return drawn & ((1 << bits) - 1)
