"""Answers to what decisions ask: which UPFs can be used, and which address is free."""

import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

from functions.decision.env import CONGESTION, UPFS, NotReadyError, features_question, upfs_answer
from functions.runtime.addresses import Addresses
from functions.runtime.coverage import Coverage
from schemas.aggregates import slot_of_aggregate, upf_aggregate
from schemas.cloudevents import CloudEvent
from schemas.identity import partition_of
from schemas.network import Network
from schemas.upf import Upf
from statestore.log import Aggregate, EventLog

KEPT: Final = 1.0
"""Seconds after which the states of the UPFs are read again: how late a change may be noticed."""
KEPT_LACKING: Final = 0.1
"""The same, while a UPF is missing: it is more likely to come than the others are to go."""
ATTEMPTS: Final = 4
"""How often the answer to a question is looked up, before it is that there is none."""


class Upfs:
    """The UPFs of a network that can be used, with their loads."""

    def __init__(self, events: EventLog, network: Network) -> None:
        self._log = events
        self._names = [upf_aggregate(upf.node_id) for upf in network.upfs]
        self._until = 0.0
        self._answer = ""
        self._features: dict[str, str] = {}

    def features(self, upf: str) -> str:
        """The UP Function Features of a UPF that can be used, ``"EMPU,FTUP"``.

        Raises:
            NotReadyError: as `answer`.
        """
        self.answer()
        return self._features.get(upf, "")

    def answer(self) -> str:
        """`functions.decision.env.upfs_answer`, in the order of the configuration.

        Raises:
            NotReadyError: what is known is too old: `load`, and ask again.
        """
        if self._names and time.monotonic() > self._until:
            raise NotReadyError("the states of the UPFs are to be read")
        return self._answer

    async def load(self) -> None:
        """Read the states of all UPFs."""
        states: list[Upf] = [found.state for found in await self._log.load(self._names)]
        usable = [upf for upf in states if upf.associated and upf.reachable]
        self._answer = upfs_answer(usable, int(time.time() * 1000))
        self._features = {upf.node_id: ",".join(upf.features) for upf in usable}
        kept = KEPT if len(usable) == len(self._names) else KEPT_LACKING
        self._until = time.monotonic() + kept


class Oracle:
    """The surroundings of the decisions of a worker."""

    def __init__(self, events: EventLog, network: Network, partitions: int) -> None:
        self.upfs = Upfs(events, network)
        self.addresses = Addresses(events.engine, network, partitions)
        self.coverage = Coverage(events.engine)
        self._partitions = partitions
        self._network = network

    def asking(
        self, aggregate: Aggregate, event: CloudEvent, age: Callable[[], float] = float
    ) -> "Asking":
        """The oracle of one decision; `age` tells for how many seconds its event has waited."""
        slot = slot_of_aggregate(aggregate.name, event.slot or 0)
        return Asking(self, aggregate, partition_of(slot, self._partitions), age)

    def behind(self, age: float) -> bool:
        """Whether an event of that age says that this worker cannot keep up."""
        after = self._network.congestion.after
        return 0 < after <= age


class Asking:
    """What one decision asks. It is called with a question; `functions.decision.env` has their forms."""

    __slots__ = (
        "_age",
        "_aggregate",
        "_areas",
        "_attempts",
        "_given",
        "_held",
        "_missing",
        "_oracle",
        "_partition",
        "_upfs",
    )

    def __init__(
        self,
        oracle: Oracle,
        aggregate: Aggregate,
        partition: int,
        age: Callable[[], float] = float,
    ) -> None:
        self._oracle = oracle
        self._age = age
        self._aggregate = aggregate
        self._partition = partition
        self._attempts: Counter[str] = Counter()
        self._missing = ""
        self._upfs = ""
        self._areas: dict[str, list[tuple[str, str]]] = {}
        self._held: Collection[str] | None = None
        self._given: list[tuple[str, str]] = []
        """The DNN and the text of each address that was given."""

    def __call__(self, question: str) -> str:
        """The answer.

        Raises:
            NotReadyError: something is to be looked up first: `ready`, and decide again.
        """
        try:
            return self._answer(question)
        except NotReadyError:
            if self._attempts[question] >= ATTEMPTS:
                return ""
            self._missing = question
            raise

    def _answer(self, question: str) -> str:
        if question == UPFS:
            self._upfs = self._upfs or self._oracle.upfs.answer()  # one answer for one decision
            return self._upfs
        if question == CONGESTION:
            return "behind" if self._oracle.behind(self._age()) else ""
        if question.startswith(_FEATURES):
            return self._oracle.upfs.features(question.removeprefix(_FEATURES))
        if question.startswith(_ASSOCIATION):
            return self._association(question.removeprefix(_ASSOCIATION))
        dnn, upf, version = _address(question)
        found = self._oracle.addresses.take(dnn, upf, version, self._partition, self._keys())
        if found:
            self._given.append((dnn, found))
        return found

    def _association(self, asked: str) -> str:
        """The association of a gNB in a tracking area; the last, of one that has several."""
        area, _, gnb = asked.partition("/")
        if area not in self._areas:
            raise NotReadyError(f"who serves {area} is to be looked up")
        found = [association for name, association in self._areas[area] if name == gnb]
        return found[-1] if found else ""

    def _keys(self) -> Collection[str]:
        if self._held is None:
            entries: Any = self._aggregate.kind.indexes(self._aggregate.state)
            self._held = frozenset(key for kind, key in entries if kind == "address")
        return self._held

    async def ready(self) -> None:
        """Look up what was missing. What was given is asked for again."""
        self.withdraw()
        self._attempts[self._missing] += 1
        if self._missing == UPFS or self._missing.startswith(_FEATURES):
            await self._oracle.upfs.load()
            return
        if self._missing.startswith(_ASSOCIATION):
            area = self._missing.removeprefix(_ASSOCIATION).partition("/")[0]
            self._areas[area] = await self._oracle.coverage.serving(f"{area}/")
            return
        dnn, upf, version = _address(self._missing)
        if not await self._oracle.addresses.load(dnn, upf, version, self._partition):
            self._attempts[self._missing] = ATTEMPTS

    def withdraw(self) -> None:
        """Take back what was given: the decision came to nothing."""
        for dnn, text in self._given:
            self._oracle.addresses.withdraw(dnn, text)
        self._given.clear()


_FEATURES: Final = features_question("")
_ASSOCIATION: Final = "association "


def _address(question: str) -> tuple[str, str, int]:
    """DNN, UPF and IP version of a question for an address."""
    _, version, upf, dnn = question.split(" ", 3)
    return dnn, upf, int(version)
