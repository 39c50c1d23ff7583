"""How the functions are cut into deployments, and what they scale on."""

from typing import Final

from msgspec import Struct

from evcore.local.group import Group
from eventing import subjects
from schemas.objectives import Objectives
from schemas.procedures import Procedure

NAMESPACE: Final = "evcore"
MONITORING: Final = f"nats-headless.{NAMESPACE}.svc.cluster.local:8222"
"""The headless Service: KEDA puts the name of the server that leads a consumer before it."""


TOGETHER: Final = 4
"""Events in a message where many wait, about: KEDA counts messages."""


class Sizing(Struct, frozen=True):
    """What the manifests of the functions are generated from."""

    partitions: int = 16
    """Those of the streams; the ``nats.partitions`` of evcore.toml."""
    objectives: Objectives = Objectives()
    """How long an event may take, by procedure; the ``[[objective]]`` of evcore.toml."""
    service_ms: float = 2.0
    """What one decision takes of a worker, all told: 1000 divided by its measured steps/s."""
    max_replicas: int = 16
    """Of one group. A worker beyond the partitions would have none to pull from."""

    polling: int = 5
    """Seconds between two looks of KEDA at the consumers of a group."""

    def __post_init__(self) -> None:
        """Refuse what nothing can be scaled on.

        Raises:
            ValueError: it says which value, and why.
        """
        if self.service_ms <= 0:
            raise ValueError("the service time is above 0")
        if min(self.partitions, self.max_replicas, self.polling) < 1:
            raise ValueError("partitions, replicas and seconds of polling are 1 or more")

    def target(self, group: Group) -> int:
        """Events that wait or are decided for each worker of a group when the last of them just
        meets the objective: the predicted time is ``lag * service_ms / workers``. Of a group's
        procedures the strictest objective counts."""
        objective = min(map(self.objectives.of, group.procedures))
        return max(1, int(objective * 1000 / self.service_ms))

    def messages(self, group: Group) -> int:
        """The same as messages of a stream."""
        return max(1, self.target(group) // TOGETHER)

    @property
    def replicas(self) -> int:
        """The most workers of a group that have something to pull."""
        return min(self.max_replicas, self.partitions)


class Trigger(Struct, frozen=True):
    """One consumer that KEDA watches."""

    name: str
    """In the formula: letters, digits and underscores."""
    consumer: str


def triggers(group: Group, partitions: int) -> list[Trigger]:
    """The consumers of a group: ``p00``, ``p01``, ...; with the procedure before, of several."""
    width = max(2, len(str(partitions - 1)))
    return [
        Trigger(
            f"{_prefix(group, procedure)}p{partition:0{width}}",
            subjects.consumer(partition, procedure),
        )
        for procedure in group.procedures
        for partition in range(partitions)
    ]


def _prefix(group: Group, procedure: Procedure) -> str:
    return "" if len(group.procedures) == 1 else procedure.replace("-", "_") + "_"


def name_of(group: Group) -> str:
    """The name of a group's resources, as RFC 1123 has labels."""
    return group.name.replace("+", "-")
