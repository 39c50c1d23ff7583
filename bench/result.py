"""All figures of a bench, and their tables."""

from msgspec import Struct

from bench import kernel, many, memory, micro, open_loop, procedures, slo
from bench.figures import Figure, Row
from bench.kernel import Outcome as Seen
from bench.many import Outcome as Crowd
from bench.memory import Resident
from bench.open_loop import Share
from bench.throughput import PROGRAMMES, Run
from loadgen import Procedure

PROCESSES = ("gateways", "workers", "nats-server", "loadgen")


class Result(Struct, frozen=True):
    """All figures of a bench."""

    machine: str
    first_message_ms: list[float]
    """Of a worker started as a separate Python."""
    forked_ms: list[float]
    """Of a worker that a server forks, as with `evcore up`."""
    http_ms: list[float]
    """Of an HTTP function, up to its response."""
    python_ms: list[float]
    """A Python process that does nothing, from start to end."""
    throughput: dict[str, dict[int, list[Run]]]
    """By programme and number of UEs."""
    procedures: dict[int, list[procedures.Run]]
    """Each procedure by itself, by number of UEs."""
    objectives: list[slo.Outcome]
    """Latency objectives, one run each. Empty in a quick bench."""
    parts: list[Row]
    """The parts by themselves. Empty in a quick bench."""
    open_loop: dict[str, list[Share]] = {}
    """At shares of the capacity, by programme."""
    many: Crowd | None = None
    """20,000 UEs. None in a quick bench, like the following fields."""
    kernel: Seen | None = None
    memory: list[Resident] = []

    @property
    def failures(self) -> int:
        """The number of failed procedures in all measurements."""
        runs = [
            run for found in self.throughput.values() for runs in found.values() for run in runs
        ]
        runs += [run for found in self.open_loop.values() for share in found for run in share.runs]
        found = sum(run.failures for run in runs)
        found += sum(run.failures for runs in self.procedures.values() for run in runs)
        found += sum(outcome.failures for outcome in self.objectives)
        return found + (0 if self.many is None else self.many.failures)


def markdown(result: Result) -> str:
    """Return the figures as tables."""
    first, nothing = Figure.of(result.first_message_ms), Figure.of(result.python_ms)
    forked, http = Figure.of(result.forked_ms), Figure.of(result.http_ms)
    lines = [
        f"Machine: {result.machine}. Medians (least-greatest).",
        "",
        "| cold start | ms | runs |",
        "|---|---|---|",
        f"| forked worker process to its first answer | {forked.text(0)} | {forked.runs} |",
        f"| the same as a Python of its own | {first.text(0)} | {first.runs} |",
        f"| an HTTP function to its first response | {http.text(0)} | {http.runs} |",
        f"| a Python process that does nothing | {nothing.text(0)} | {nothing.runs} |",
    ]
    for name, programme in PROGRAMMES.items():
        lines += [
            "",
            f"### {', '.join(programme)}",
            "",
            *_table(programme, result.throughput[name]),
        ]
    lines += ["", "Latencies in ms, p50 / p99; CPU in ms of one programme, all its messages."]
    lines += ["", "### each procedure on its own", "", *_each(result.procedures)]
    for name, found in result.open_loop.items():
        heading = f"### open loop: {', '.join(PROGRAMMES[name])}"
        lines += ["", heading, "", *open_loop.markdown(PROGRAMMES[name], found)]
    if result.many is not None:
        lines += ["", "### many UEs", "", *many.markdown(result.many)]
    if result.kernel is not None:
        lines += ["", "### what the kernel sees", "", *kernel.markdown(result.kernel)]
    if result.memory:
        lines += ["", "### memory", "", *memory.markdown(result.memory)]
    if result.objectives:
        lines += ["", "### objectives", "", *slo.markdown(result.objectives)]
    if result.parts:
        lines += ["", "### the parts on their own", "", *micro.markdown(result.parts)]
    return "\n".join(lines)


def _table(programme: tuple[Procedure, ...], found: dict[int, list[Run]]) -> list[str]:
    heads = ["UEs", "programmes/s", *programme, *(f"{name} CPU" for name in PROCESSES), "failures"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for ues, runs in found.items():
        cells = [str(ues), Figure.of([run.per_second for run in runs]).text(0)]
        for procedure in programme:
            latencies = [run.latency[procedure] for run in runs]
            p50 = Figure.of([1000 * latency.p50 for latency in latencies]).text(1)
            p99 = Figure.of([1000 * latency.p99 for latency in latencies]).text(1)
            cells.append(f"{p50} / {p99}")
        cells += [Figure.of([r.cpu_ms.get(name, 0.0) for r in runs]).text(2) for name in PROCESSES]
        cells.append(str(sum(run.failures for run in runs)))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _each(found: dict[int, list[procedures.Run]]) -> list[str]:
    heads = ["procedure", "UEs", "per s", "p50 / p99 ms", *procedures.PROCESSES, "core"]
    heads += ["loadgen", "failures"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for ues, runs in found.items():
        for name in runs[0].costs:
            costs = [run.costs[name] for run in runs]
            p50 = Figure.of([1000 * cost.latency.p50 for cost in costs]).text(1)
            p99 = Figure.of([1000 * cost.latency.p99 for cost in costs]).text(1)
            cells = [name, str(ues), Figure.of([cost.per_second for cost in costs]).text(0)]
            cells.append(f"{p50} / {p99}")
            for process in procedures.PROCESSES:
                spent = [cost.cpu_ms[process] for cost in costs if cost.cpu_ms]
                cells.append(Figure.of(spent).text(2) if spent else "")
            core = [sum(cost.cpu_ms.values()) for cost in costs if cost.cpu_ms]
            cells.append(Figure.of(core).text(2) if core else "")
            loads = [cost.loadgen_ms for cost in costs if cost.loadgen_ms is not None]
            cells.append(Figure.of(loads).text(2) if loads else "")
            cells.append(str(sum(run.failures for run in runs)))
            lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", "CPU in ms of one procedure, with all its messages."]
