"""The figures of a bench: written, read again, and converted to tables."""

from pathlib import Path

import msgspec

from bench.figures import Figure, Row
from bench.kernel import Outcome as Seen
from bench.kernel import Switches
from bench.kernel import markdown as kernel_table
from bench.many import Outcome as Crowd
from bench.many import Part
from bench.memory import IDLE, Resident
from bench.open_loop import Share
from bench.procedures import Cost
from bench.procedures import Run as Each
from bench.result import Result, markdown
from bench.throughput import PROGRAMMES, Latency, Run
from loadgen.report.report import Latency as Percentiles

ROOT = Path(__file__).resolve().parents[2]
LATENCY = Latency(0.010, 0.020)


def run_of(programme: str, failures: int = 0) -> Run:
    spent = {"gateways": 0.5, "workers": 1.5, "nats-server": 0.5, "loadgen": 7.0}
    return Run(100, 50.0, dict.fromkeys(PROGRAMMES[programme], LATENCY), failures, spent)


def result_of(failures: int = 0) -> Result:
    cost = Cost(256, 500.0, LATENCY, {"gateways": 0.3, "workers": 1.0, "nats-server": 0.4}, 0.6)
    percentiles = Percentiles(0.01, 0.02, 0.03, 0.04, 0.01)
    return Result(
        machine="a machine",
        first_message_ms=[300.0],
        forked_ms=[30.0],
        http_ms=[600.0],
        python_ms=[12.0],
        throughput={name: {256: [run_of(name)]} for name in PROGRAMMES},
        procedures={256: [Each(0, {"register": cost})]},
        objectives=[],
        parts=[Row("codec", "a message", "us", Figure.of([1.0]))],
        open_loop={"registration": [Share(0.5, 250.0, [run_of("registration", failures)])]},
        many=Crowd(10, 3.0, 0, {"register": Part(10, percentiles)}, []),
        kernel=Seen(
            {"workers": {"pwrite64": 9.0, "mmap": 0.01}}, {"workers": Switches([2.0], [1.0])}
        ),
        memory=[
            Resident(IDLE, 0, {"evcore": 60.0}, 50.0),
            Resident(IDLE, 1024, {"evcore": 60.0, "nats-server": 30.0}, 80.0),
            Resident(IDLE, 2048, {"evcore": 60.0, "nats-server": 31.0}, 81.0),
        ],
    )


def test_what_is_written_is_read_again() -> None:
    result = result_of()
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result


def test_the_result_that_is_kept_can_be_read_and_made_tables() -> None:
    kept = (ROOT / "bench" / "results" / "latest.json").read_bytes()
    result = msgspec.json.decode(kept, type=Result)
    assert result.failures == 0
    assert "### each procedure on its own" in markdown(result)


def test_the_core_of_a_procedure_does_not_count_the_load_generator() -> None:
    (line,) = (
        line for line in markdown(result_of()).splitlines() if line.startswith("| register | 256")
    )
    assert line.endswith("| 0.30 | 1.00 | 0.40 | 1.70 | 0.60 | 0 |")


def test_the_core_of_an_open_loop_does_not_either() -> None:
    assert "| 50 % | 250 | 10.0 / 20.0 | 10.0 / 20.0 | 2.50 | 0 | 0 |" in markdown(result_of())


def test_rare_system_calls_are_the_others() -> None:
    assert "| workers | 9.0 | pwrite64 9.00, others 0.01 |" in markdown(result_of())


def test_the_memory_of_a_ue_is_between_the_first_load_and_the_last() -> None:
    assert "Each of the last 1024 UEs added 1.00 KiB to the idle core." in markdown(result_of())


def test_a_failure_anywhere_is_one_of_the_bench() -> None:
    assert result_of(failures=2).failures == 2


def test_without_strace_there_is_a_line_that_says_why() -> None:
    seen = Seen(None, {}, "strace is not installed")
    assert "System calls are not counted: strace is not installed." in kernel_table(seen)
