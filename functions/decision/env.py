"""All that a decision may know beside the state and the trigger, and all of it recorded."""

import hashlib
from collections.abc import Callable, Iterable

from schemas.identity import Tai
from schemas.network import Network
from schemas.ran import tai_index_prefix
from schemas.subscriber import Subscriber
from schemas.upf import Upf

ENTROPY_OCTETS = 32

UPFS = "upfs"
"""The question for the UPFs that can be used: ``"<node id>=<load>,..."``, load in per cent, with a
``*`` behind it where the core allocates the F-TEIDs."""


def upfs_answer(upfs: Iterable[Upf], now: int) -> str:
    """The answer to it at a time in milliseconds, of the states of UPFs."""
    usable = [upf for upf in upfs if upf.associated and upf.reachable]
    return ",".join(
        f"{upf.node_id}={upf.load_at(now)}{'' if 'FTUP' in upf.features else '*'}" for upf in usable
    )


def address_question(dnn: str, upf: str, version: int) -> str:
    """The question for a free address of a UPF's pool, ``""`` for none left. `version` is that of
    IP: an IPv4 address, or an IPv6 prefix of 64 bits."""
    return f"address {version} {upf} {dnn}"


def features_question(upf: str) -> str:
    """The question for the UP Function Features of a UPF that can be used: ``"EMPU,FTUP"``."""
    return f"features {upf}"


def association_question(tai: Tai, gnb: str) -> str:
    """The question for the association by which a gNB serves a tracking area, ``""`` for none."""
    return f"association {tai_index_prefix(tai)}{gnb}"


CONGESTION = "congestion"
"""The question whether the worker is behind with its events: ``"behind"``, or ``""`` if not, which
is not recorded."""


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
        "rejected",
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
        self.rejected = False
        """Whether the UE is denied what it asked for. It is counted, and in no step."""
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
        if answer or question != CONGESTION:
            self.answers.append((question, answer))
        return answer
