"""20,000 UEs that arrive, report in bursts from idle and leave, as sensors do: iot-burst.yaml."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.core import core_for
from loadgen import Procedure
from loadgen.load.scenario import find_scenario, read_scenario
from loadgen.report.report import Latency, PhaseReport

SCENARIO: Final = "iot-burst"
UES: Final = 20_000


class Part(Struct, frozen=True):
    """One procedure of the scenario."""

    count: int
    latency: Latency


class Outcome(Struct, frozen=True):
    """The result of one run."""

    ues: int
    seconds: float
    failures: int
    procedures: dict[str, Part]
    phases: list[PhaseReport]


async def outcome(folder: Path, ues: int = UES) -> Outcome:
    """Run the scenario once with `ues` UEs on a new core.

    Raises:
        RuntimeError: the load could not be run.
    """
    scenario = read_scenario(find_scenario(SCENARIO))
    async with core_for(folder, ues, (Procedure.SESSION,)) as core:
        report = await core.load.scenario(scenario)
    return Outcome(
        ues=ues,
        seconds=report.seconds,
        failures=report.failures,
        procedures={
            name: Part(found.succeeded, found.latency)
            for name, found in report.procedures.items()
            if found.latency is not None
        },
        phases=report.phases,
    )


def markdown(found: Outcome) -> list[str]:
    """Return two tables: the procedures, and whether the arrivals met the requested rate."""
    what = f"{SCENARIO}.yaml with {found.ues} UEs, once"
    lines = [
        f"{what}: {found.seconds:.0f} s, {found.failures} failures.",
        "",
        "| procedure | count | p50 ms | p90 ms | p99 ms |",
        "|---|---|---|---|---|",
    ]
    for name, part in found.procedures.items():
        latency = part.latency
        times = (f"{1000 * value:.1f}" for value in (latency.p50, latency.p90, latency.p99))
        lines.append(f"| {name} | {part.count} | {' | '.join(times)} |")
    heads = ("phase", "arrivals asked for, /s", "made, /s", "blocked", "p99 of their delay, ms")
    lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for phase in found.phases:
        late = 1000 * (phase.late_p99 or 0.0)
        rates = f"{phase.asked_rate or 0:.1f} | {phase.rate or 0:.1f}"
        lines.append(f"| {phase.name} | {rates} | {phase.blocked} | {late:.0f} |")
    return lines
