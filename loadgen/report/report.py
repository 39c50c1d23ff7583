"""The samples of a run and its report: exact figures, for people and for programs.

The report's JSON has the fields of `Report`, with the same names; latencies and times are in
seconds.
"""

from array import array
from math import ceil
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from loadgen.errors import ConfigError
from loadgen.session_model import SessionRecord
from loadgen.ue.model import SKIPPED, Ended, Procedure
from loadgen.violation import Kind, Violation

MAX_VIOLATIONS = 1000
"""The number of violations that are kept in full; all are counted."""


ANSWER_TIMERS = frozenset({"T3510", "T3517", "T3521", "T3580", "T3582"})
"""The timers of a UE that waits for the answer to a request (TS 24.501 10.2, 10.3)."""

MAX_FAILURES = 1000
"""The number of failures that are kept with their UEs; all are counted."""


class Failure(Struct, frozen=True):
    """A procedure that failed."""

    procedure: str
    cause: str
    who: str
    """The SUPI of the UE."""
    at: float
    """Seconds since the start of the run."""


class Samples:
    """The ended procedures of one name."""

    def __init__(self) -> None:
        self.latencies = array("d")
        """The latencies in seconds of the successful procedures."""
        self.admitted = array("d")
        """The same from the last connection, so from the request that was accepted."""
        self.ends = array("d")
        """When each of them ended."""
        self.failures: dict[str, int] = {}
        self.failed_at = array("d")
        self.skipped = 0
        self.recovered = 0
        """Procedures that succeeded in a later attempt after injected faults."""

    @property
    def failed(self) -> int:
        """The number of failed procedures."""
        return len(self.failed_at)


class Recorder:
    """Counts and samples of one run, without averaging."""

    def __init__(self) -> None:
        self.procedures: dict[Procedure, Samples] = {}
        self.violations: list[Violation] = []
        self.violation_counts: dict[Kind, int] = {}
        self.failed: list[Failure] = []
        """The first failures; their times are on the monotonic clock."""
        self.finished = 0
        """Procedures that ended, successful or not."""

    def ended(self, end: Ended, who: str) -> None:
        """Record the end of a procedure of the UE with the SUPI `who`."""
        samples = self.procedures.setdefault(end.procedure, Samples())
        if end.cause == SKIPPED:
            samples.skipped += 1
            return
        self.finished += 1
        if end.recovered and end.cause is None:
            samples.recovered += 1
        elif end.cause is None:
            samples.latencies.append(max(0.0, end.ended - end.began))
            admitted = end.began if end.admitted is None else end.admitted
            samples.admitted.append(max(0.0, end.ended - admitted))
            samples.ends.append(end.ended)
        else:
            samples.failures[end.cause] = samples.failures.get(end.cause, 0) + 1
            samples.failed_at.append(end.ended)
            if len(self.failed) < MAX_FAILURES:
                self.failed.append(Failure(str(end.procedure), end.cause, who, end.ended))

    def failed_since(self, start: float) -> list[Failure]:
        """Return the kept failures of a run that started at `start`."""
        return [replace(failure, at=failure.at - start) for failure in self.failed]

    def violated(self, violation: Violation) -> None:
        """Record a violation."""
        kind = violation.kind
        self.violation_counts[kind] = self.violation_counts.get(kind, 0) + 1
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(violation)

    @property
    def failures(self) -> int:
        """Procedures that failed."""
        return sum(samples.failed for samples in self.procedures.values())


class Latency(Struct, frozen=True):
    """Percentiles by nearest rank over all samples, in seconds."""

    p50: float
    p90: float
    p99: float
    max: float
    mean: float


class Second(Struct, frozen=True):
    """One second of a procedure."""

    at: int
    """Seconds since the start of the run."""
    succeeded: int
    failed: int
    p50: float | None
    p99: float | None


class ProcedureReport(Struct, frozen=True):
    """One procedure. A procedure during a violation by the core counts as failed."""

    count: int
    """Procedures that ended, successful or not, without skipped ones."""
    succeeded: int
    failed: int
    failures: dict[str, int]
    """The number of failures by cause."""
    recovered: int
    """Procedures that succeeded in a later attempt after injected faults."""
    skipped: int
    """Procedures with nothing to do, such as idle for an idle UE."""
    rate: float
    """Successes per second, from the start of the run to the last success."""
    latency: Latency | None
    timeline: list[Second]
    admitted: Latency | None = None
    """The latency from the request that was accepted: without the time for which a gNB or the core
    had put the UE off, and without attempts that failed."""


class PhaseReport(Struct, frozen=True, kw_only=True):
    """A phase of the load and its arrivals."""

    name: str
    seconds: float
    """From its start to that of the next phase, or to the end."""
    begun: int
    """Programmes that started."""
    blocked: int
    """Arrivals that found no free UE."""
    unfit: int
    """Arrivals that found only UEs in a state, after failures, that does not allow the
    programme."""
    asked_rate: float | None
    """The configured long-term rate of arrivals per second; None for the closed loop."""
    rate: float | None
    """The measured rate of arrivals per second; None for fewer than two arrivals."""
    late_p99: float | None
    """The delay of an arrival in the load generator, in seconds."""
    late_max: float | None


class Report(Struct, frozen=True, kw_only=True):
    """A load run."""

    version: int = 1
    started_at: str
    """UTC, ISO 8601."""
    seconds: float
    """From the start of the first procedure to the end of the last."""
    ues: int
    gnbs: int
    mode: str
    """The SCTP of the first gNB."""
    cut_off: str | None
    """Why the load ended early, or None. Procedures that had not started are missing from the
    report."""
    procedures: dict[str, ProcedureReport]
    failed: list[Failure] = []
    """The first thousand failed procedures and their UEs."""
    phases: list[PhaseReport] = []
    violations: list[Violation]
    """The first thousand."""
    violation_counts: dict[str, int]
    retransmissions: dict[str, int]
    """Repetitions by the UE's timer; ``T3550`` counts repetitions by the core."""
    sessions: list[SessionRecord] = []
    """The PDU sessions of the UEs at the end."""
    tunnels_moved: int = 0
    """How often a session was set up with another UL F-TEID than before."""
    faults: dict[str, int] = {}
    """Injected faults by direction and kind."""
    tolerated: dict[str, int] = {}
    """Violations that injected faults, or a message that overtook another, may have caused, by
    kind."""
    not_understood: dict[str, int] = {}
    """5GMM STATUS and 5GSM STATUS that UEs received, by cause."""
    not_understood_tolerated: dict[str, int] = {}
    """The same for UEs with corrupted messages."""
    error_indications: dict[str, int] = {}
    """ERROR INDICATIONs that gNBs received, by cause."""
    rejects: dict[str, int] = {}
    """Requests that the core refused: by message, cause and the timer in the message."""
    sessions_lost: int = 0
    """PDU sessions that the core did not have when it said the PDU session status of their UE."""
    sessions_released: int = 0
    """PDU sessions that the core released without a request of the UE."""
    congested: int = 0
    """How often a UE was rejected for congestion and waited for T3346."""
    configured: int = 0
    """CONFIGURATION UPDATE COMMANDs that UEs processed."""
    deregistered: int = 0
    """How often the network deregistered a UE."""
    reconfigured: int = 0
    """AMF CONFIGURATION UPDATEs that gNBs processed."""
    pagings: int = 0
    """PAGINGs that the gNBs received."""
    paged: int = 0
    """PAGINGs for a UE on the cell."""
    duplicates: int
    """Protected messages that were repeated octet for octet and discarded."""
    repeated_contexts: int
    """INITIAL CONTEXT SETUP REQUESTs that were repeated octet for octet."""
    undelivered: int
    """NAS messages that a gNB could not send before the AMF answered the UE's first message."""
    reassociations: int
    """Associations after the first of each gNB."""
    ng_setups: int
    error_indications_sent: int
    error_indications_received: int
    resets_received: int
    overload_starts: int
    overload_stops: int = 0
    held: int
    """RRC connections that a gNB refused for the AMF's overload."""
    blocked_arrivals: int
    """Arrivals of the open loop that found no free UE."""
    ngap_sent: int
    ngap_received: int
    cpu_seconds: float
    """CPU time of the process during the load."""

    @property
    def count(self) -> int:
        """Procedures that ended."""
        return sum(p.count for p in self.procedures.values())

    @property
    def recovered(self) -> int:
        """Procedures that recovered from injected faults."""
        return sum(p.recovered for p in self.procedures.values())

    @property
    def failures(self) -> int:
        """Procedures that failed."""
        return sum(p.failed for p in self.procedures.values())

    @property
    def expiries(self) -> int:
        """Requests of UEs that had no answer in time."""
        return sum(n for timer, n in self.retransmissions.items() if timer in ANSWER_TIMERS)

    @property
    def ok(self) -> bool:
        """Whether all procedures ran and succeeded, without a violation."""
        return self.failures == 0 and not self.violation_counts and self.cut_off is None

    @property
    def line(self) -> str:
        """The last line of a load's output, for programs."""
        return (
            f"load: ues={self.ues} procedures={self.count} failures={self.failures} "
            f"seconds={self.seconds:.3f}"
        )

    def to_json(self) -> bytes:
        """Return the report as JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def save(self, path: str) -> None:
        """Write the JSON to a file.

        Raises:
            ConfigError: the file cannot be written.
        """
        try:
            Path(path).write_bytes(self.to_json() + b"\n")
        except OSError as error:
            raise ConfigError(f"json: cannot write {path}: {error.strerror}") from error


def percentile(ordered: list[float], percent: float) -> float:
    """Return the nearest-rank percentile of at least one sample in ascending order."""
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def latency_of(samples: list[float]) -> Latency | None:
    """Return the percentiles of samples; None for no samples."""
    if not samples:
        return None
    ordered = sorted(samples)
    return Latency(
        p50=percentile(ordered, 50),
        p90=percentile(ordered, 90),
        p99=percentile(ordered, 99),
        max=ordered[-1],
        mean=sum(ordered) / len(ordered),
    )


def timeline_of(samples: Samples, start: float) -> list[Second]:
    """Return the seconds of the run in which procedures ended."""
    good: dict[int, list[float]] = {}
    for end, latency in zip(samples.ends, samples.latencies, strict=True):
        good.setdefault(int(end - start), []).append(latency)
    bad: dict[int, int] = {}
    for end in samples.failed_at:
        second = int(end - start)
        bad[second] = bad.get(second, 0) + 1
    found: list[Second] = []
    for second in sorted(good.keys() | bad.keys()):
        ordered = sorted(good.get(second, []))
        p50 = percentile(ordered, 50) if ordered else None
        p99 = percentile(ordered, 99) if ordered else None
        found.append(Second(second, len(ordered), bad.get(second, 0), p50, p99))
    return found


def procedures_of(recorder: Recorder, start: float) -> dict[str, ProcedureReport]:
    """Return the report of each procedure."""
    found: dict[str, ProcedureReport] = {}
    for name, samples in recorder.procedures.items():
        succeeded = len(samples.latencies)
        found[str(name)] = ProcedureReport(
            count=succeeded + samples.recovered + samples.failed,
            succeeded=succeeded,
            failed=samples.failed,
            failures=dict(sorted(samples.failures.items())),
            recovered=samples.recovered,
            skipped=samples.skipped,
            rate=succeeded / (max(samples.ends) - start) if succeeded else 0.0,
            latency=latency_of(list(samples.latencies)),
            admitted=latency_of(list(samples.admitted)),
            timeline=timeline_of(samples, start),
        )
    return found
