"""How the procedures are grouped into deployments, and the metrics that scale them."""

from typing import Final

from msgspec import Struct

from evcore.local.group import Group
from eventing import subjects
from schemas.config.objectives import Objectives
from schemas.procedures import Procedure

NAMESPACE: Final = "evcore"
MONITORING: Final = f"nats-headless.{NAMESPACE}.svc.cluster.local:8222"
"""The headless Service. KEDA prepends the name of the server that leads a consumer."""


TOGETHER: Final = 4
"""Approximate number of events per message under load. KEDA counts messages."""


class Sizing(Struct, frozen=True):
    """The inputs of the function manifests."""

    partitions: int = 16
    """The number of partitions of the streams: ``nats.partitions`` of evcore.toml."""
    objectives: Objectives = Objectives()
    """The longest time for an event, by procedure: ``[[objective]]`` of evcore.toml."""
    service_ms: float = 2.0
    """The total worker time of one decision: 1000 divided by the measured steps/s."""
    max_replicas: int = 16
    """The limit for one group. A worker above the number of partitions has none to pull from."""

    polling: int = 5
    """Seconds between two polls of the consumers of a group by KEDA."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a value cannot be scaled on. The message names it and the reason.
        """
        if self.service_ms <= 0:
            raise ValueError("the service time must be above 0")
        if min(self.partitions, self.max_replicas, self.polling) < 1:
            raise ValueError("partitions, replicas and polling seconds must be 1 or more")

    def target(self, group: Group) -> int:
        """Return the lag per worker of a group at which the last event just meets the objective.

        The lag counts events that wait or are being decided. The predicted time is ``lag *
        service_ms / workers``. The strictest objective of the group's procedures applies.
        """
        objective = min(map(self.objectives.of, group.procedures))
        return max(1, int(objective * 1000 / self.service_ms))

    def messages(self, group: Group) -> int:
        """Return the target as messages of a stream."""
        return max(1, self.target(group) // TOGETHER)

    @property
    def replicas(self) -> int:
        """Return the largest useful number of workers of a group."""
        return min(self.max_replicas, self.partitions)


class Trigger(Struct, frozen=True):
    """One consumer that KEDA watches."""

    name: str
    """The name in the formula: letters, digits and underscores."""
    consumer: str


def triggers(group: Group, partitions: int) -> list[Trigger]:
    """Return the consumers of a group: ``p00``, ``p01``, ...; prefixed with the procedure if the
    group has several."""
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
    """Return the name of a group's resources, an RFC 1123 label."""
    return group.name.replace("+", "-")
