"""All that a decision may know beside the state and the trigger, and all of it recorded."""

import hashlib
from collections.abc import Callable

from schemas.network import Network
from schemas.subscriber import Subscriber

ENTROPY_OCTETS = 32

UPFS = "upfs"
"""The question for the UPFs that can be used: ``"<node id>=<load>,..."``, load in per cent."""


def address_question(dnn: str, upf: str, version: int) -> str:
    """The question for a free address of a UPF's pool, ``""`` for none left. `version` is that of
    IP: an IPv4 address, or an IPv6 prefix of 64 bits."""
    return f"address {version} {upf} {dnn}"


class NotReadyError(LookupError):
    """A question cannot be answered yet: the runtime looks it up, and decides again."""


def nobody(_: str) -> str:
    """The oracle of surroundings without UPFs and addresses."""
    return ""


class Env:
    """The inputs of one decision: the same values give the same decision, for ever.

    `now` is in milliseconds since the Unix epoch. `random` draws from `entropy` alone. What `ask`
    is answered is recorded in the step, and given again when it is replayed.
    """

    __slots__ = (
        "_drawn",
        "_oracle",
        "answers",
        "entropy",
        "flags",
        "network",
        "now",
        "subscriber",
    )

    def __init__(
        self,
        now: int,
        entropy: bytes,
        network: Network,
        subscriber: Subscriber | None = None,
        flags: tuple[int, ...] = (),
        oracle: Callable[[str], str] = nobody,
    ) -> None:
        self.now = now
        self.entropy = entropy
        self.network = network
        self.subscriber = subscriber
        self.flags = flags
        self.answers: list[tuple[str, str]] = []
        self._drawn = 0
        self._oracle = oracle

    def random(self, octets: int) -> bytes:
        """The next `octets` octets of the stream that the entropy of this step gives."""
        self._drawn += 1
        seed = self.entropy + self._drawn.to_bytes(4, "big")
        return hashlib.shake_256(seed).digest(octets)

    def random_int(self, bits: int) -> int:
        """A number of up to `bits` bits from the same stream."""
        drawn = int.from_bytes(self.random((bits + 7) // 8), "big")
        return drawn & ((1 << bits) - 1)

    def ask(self, question: str) -> str:
        """The answer of the runtime to one of the questions above, ``""`` for nothing.

        Raises:
            NotReadyError: it has to be looked up first. A procedure lets it pass.
        """
        answer = self._oracle(question)
        self.answers.append((question, answer))
        return answer
