"""A report as tables, and the progress bar of a run, for a terminal."""

from math import inf

from rich.console import Console, Group, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from loadgen.report.report import ProcedureReport, Recorder, Report
from loadgen.ue.model import Procedure

_SHOWN_VIOLATIONS = 10
_SHOWN_FAILURES = 3


def tables(report: Report) -> RenderableType:
    """Return the tables of a report: procedures, and failures and violations if there are any."""
    parts: list[RenderableType] = [_procedures(report)]
    if any(phase.asked_rate is not None for phase in report.phases):
        parts.append(_arrivals(report))
    if report.failures:
        parts.append(_failures(report))
    if report.violation_counts:
        parts.append(_violations(report))
    parts.append(_notes(report))
    return Group(*parts)


def print_tables(report: Report, console: Console | None = None) -> None:
    """Print the tables."""
    (console or Console()).print(tables(report))


def _procedures(report: Report) -> Table:
    table = Table(title=f"{report.ues} UEs on {report.gnbs} gNBs, {report.seconds:.1f} s")
    table.add_column("procedure", min_width=max(map(len, Procedure)))
    for heading in (
        "count",
        "failed",
        "recovered",
        "per s",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "max ms",
    ):
        table.add_column(heading, justify="right")
    for name, procedure in report.procedures.items():
        table.add_row(name, *_row(procedure))
    return table


def _arrivals(report: Report) -> Table:
    table = Table(title="arrivals")
    table.add_column("phase")
    for heading in ("asked /s", "rate /s", "begun", "blocked", "unfit", "late p99 ms", "seconds"):
        table.add_column(heading, justify="right")
    for phase in report.phases:
        asked, rate, late = phase.asked_rate, phase.rate, phase.late_p99
        table.add_row(
            phase.name,
            "-" if asked is None else f"{asked:.1f}",
            "-" if rate is None else f"{rate:.1f}",
            str(phase.begun),
            str(phase.blocked),
            str(phase.unfit),
            "-" if late is None else f"{late * 1000:.1f}",
            f"{phase.seconds:.1f}",
        )
    return table


def _row(procedure: ProcedureReport) -> list[str]:
    row = [str(procedure.count), str(procedure.failed), str(procedure.recovered)]
    row.append(f"{procedure.rate:.1f}")
    latency = procedure.latency
    if latency is None:
        return [*row, "-", "-", "-", "-"]
    values = latency.p50, latency.p90, latency.p99, latency.max
    return row + [f"{value * 1000:.1f}" for value in values]


def _failures(report: Report) -> Table:
    table = Table(title="failures")
    table.add_column("procedure")
    table.add_column("cause")
    table.add_column("count", justify="right")
    table.add_column("the first of", overflow="fold")
    for name, procedure in report.procedures.items():
        for cause, count in procedure.failures.items():
            own = [f.who for f in report.failed if (f.procedure, f.cause) == (name, cause)]
            table.add_row(name, cause, str(count), " ".join(own[:_SHOWN_FAILURES]))
    return table


def _violations(report: Report) -> Table:
    table = Table(title=f"violations: {sum(report.violation_counts.values())}")
    for heading in ("kind", "clause", "who", "what"):
        table.add_column(heading, overflow="fold")
    for one in report.violations[:_SHOWN_VIOLATIONS]:
        table.add_row(str(one.kind), one.clause, one.who, one.text)
    return table


def _notes(report: Report) -> str:
    per = report.cpu_seconds / report.count * 1e6 if report.count else 0.0
    notes = [
        f"CPU {report.cpu_seconds:.2f} s ({per:.0f} us per procedure)",
        f"NGAP {report.ngap_sent} sent, {report.ngap_received} received",
    ]
    notes += [f"{timer} x{count}" for timer, count in sorted(report.retransmissions.items())]
    notes += [f"{reject} x{count}" for reject, count in sorted(report.rejects.items())]
    counted = {
        "duplicates": report.duplicates,
        "re-associations": report.reassociations,
        "held": report.held,
        "blocked arrivals": report.blocked_arrivals,
        "overload starts": report.overload_starts,
        "sessions left": len(report.sessions),
        "tunnels moved": report.tunnels_moved,
        "pagings": report.pagings,
        "faults injected": sum(report.faults.values()),
        "tolerated": sum(report.tolerated.values()),
        "not understood": sum(report.not_understood.values()),
        "congested": report.congested,
        "ERROR INDICATIONs": report.error_indications_received,
        "sessions lost": report.sessions_lost,
        "sessions released by the network": report.sessions_released,
        "configured": report.configured,
        "deregistered by the network": report.deregistered,
    }
    notes += [f"{count} {what}" for what, count in counted.items() if count]
    if report.cut_off is not None:
        notes.append(f"ended early: {report.cut_off}")
    return ", ".join(notes)


_INTERVAL = 0.2


class ProgressBar:
    """Shows the number of ended procedures. The heap of deadlines redraws it, without a thread."""

    def __init__(self, recorder: Recorder, planned: int | None) -> None:
        """Create a bar of `planned` procedures; None for an unknown number."""
        self.queued = inf
        self._at = inf
        self._recorder = recorder
        self._progress = Progress(
            TextColumn("load"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failures]} failed"),
            TimeElapsedColumn(),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task("load", total=planned, failures=0)

    def start(self, now: float) -> None:
        """Show the bar."""
        self._progress.start()
        self._at = now

    def deadline(self) -> float:
        """Return when the bar is drawn again."""
        return self._at

    def advance(self, now: float) -> None:
        """Draw the bar."""
        self._at = now + _INTERVAL
        recorder = self._recorder
        self._progress.update(
            self._task, completed=recorder.finished, failures=recorder.failures, refresh=True
        )

    def stop(self) -> None:
        """Remove the bar."""
        self._at = inf
        self._progress.stop()
