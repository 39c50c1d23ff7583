"""How often latency objectives are missed under a skewed, bursty load, with and without them.

The load is the scenario skewed-burst.yaml: four registrations, with an objective of a second, for
each service request, with an objective of `OBJECTIVE`. The measured time is the time to which an
objective applies: from the storage of an event in JetStream to the end of its processing.
"""

import asyncio
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.core import loaded
from evcore import population as populations
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from evcore.local.group import Group, Scale
from evcore.local.table import by_procedure
from eventing.stats import PERIOD, quantile, share_above
from loadgen import LoadConfig, Population
from loadgen.load.scenario import find_scenario, read_scenario
from loadgen.report.report import Report
from schemas.config.objectives import ObjectiveConfig, Objectives, objectives_of
from schemas.config.reading import Config, N2Config
from schemas.procedures import Procedure
from transport import Mode

OBJECTIVE: Final = 50
"""The objective of a service request, in milliseconds."""
SCENARIO: Final = "skewed-burst"


class Way(Struct, frozen=True):
    """How the objective is used."""

    ordered: bool
    """Whether workers process urgent events first."""
    predictive: bool
    """Whether workers are scaled by the predicted waiting time instead of the queue length."""

    @property
    def text(self) -> str:
        """Return the text for the table."""
        order = "urgent first" if self.ordered else "as they come"
        return f"{order}, scaled by {'prediction' if self.predictive else 'length'}"


WAYS: Final = (
    Way(ordered=False, predictive=False),
    Way(ordered=False, predictive=True),
    Way(ordered=True, predictive=False),
    Way(ordered=True, predictive=True),
)


class Outcome(Struct, frozen=True):
    """The result of one way."""

    way: Way
    urgent: int
    """The number of service requests."""
    missed: float
    """The share of service requests that missed the objective."""
    p99: float | None
    """Of the service requests, in seconds."""
    others_p99: float | None
    """Of the registrations, in seconds."""
    worker_seconds: float
    failures: int


async def outcomes(folder: Path) -> list[Outcome]:
    """Run every way in sequence, with the same arrivals.

    Raises:
        RuntimeError: the load could not be run.
    """
    return [await _outcome(folder / str(number), way) for number, way in enumerate(WAYS)]


async def _outcome(folder: Path, way: Way) -> Outcome:
    data = DataDirectory(folder)
    secrets = data.prepare()
    scenario = read_scenario(find_scenario(SCENARIO))
    population = Population(count=scenario.ues, home_keys=populations.home_keys(secrets))
    await populations.provision(data.root, population)
    n2 = N2Config(transport=Mode.USERSPACE_UDP)
    objective = (ObjectiveConfig(OBJECTIVE, Procedure.SERVICE_REQUEST),)
    config = Config(n2=n2, objective=objective if way.ordered else ())
    objectives = objectives_of(objective) if way.predictive else Objectives()
    group = Group("core", tuple(Procedure), objectives=objectives)
    load = LoadConfig(
        port=n2.port,
        udp_port=n2.udp_port,
        mode=Mode.USERSPACE_UDP,
        gnbs=scenario.gnbs,
        population=population,
        seed=1,
        json=str(folder / "report.json"),
        **scenario.load(),
    )
    async with local_core(data, config, (group,)) as core:
        report = await loaded(load, folder / "report.json")
        ended = time.monotonic()
        await asyncio.sleep(2 * PERIOD)  # workers report their counts once a second
        return _of(way, core, report, ended)


def _of(way: Way, core: LocalCore, report: Report, ended: float) -> Outcome:
    found = by_procedure(core.stats.totals())
    urgent = found[Procedure.SERVICE_REQUEST]
    return Outcome(
        way=way,
        urgent=urgent.steps,
        missed=share_above(urgent.latency, OBJECTIVE / 1000),
        p99=quantile(urgent.latency, 0.99),
        others_p99=quantile(found[Procedure.REGISTRATION].latency, 0.99),
        worker_seconds=worker_seconds([*core.scaler.history], ended),
        failures=report.failures,
    )


def worker_seconds(history: list[Scale], ended: float) -> float:
    """Return the total running time of all workers until a time."""
    following = [*(scale.at for scale in history[1:]), ended]
    return sum(
        scale.workers * max(0.0, until - scale.at)
        for scale, until in zip(history, following, strict=True)
    )


def markdown(found: list[Outcome]) -> list[str]:
    """Return the table of the results."""
    heads = ("missed", "p99 ms", "registration p99 ms", "worker seconds", "failures")
    lines = [
        f"| {OBJECTIVE} ms for a service request | {' | '.join(heads)} |",
        "|---" * (1 + len(heads)) + "|",
    ]
    for one in found:
        cells = [
            one.way.text,
            f"{100 * one.missed:.1f} % of {one.urgent}",
            _milliseconds(one.p99),
            _milliseconds(one.others_p99),
            f"{one.worker_seconds:.0f}",
            str(one.failures),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.0f}"
