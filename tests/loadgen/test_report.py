"""Reports: exact figures, their JSON, their tables and their plot."""

import json
import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from loadgen.errors import ConfigError
from loadgen.report.plot import save_plot
from loadgen.report.report import (
    MAX_VIOLATIONS,
    Recorder,
    Report,
    latency_of,
    percentile,
    procedures_of,
)
from loadgen.report.terminal import ProgressBar, print_tables
from loadgen.ue.model import SKIPPED, Ended, Procedure
from loadgen.violation import Kind, violation

REGISTER = Procedure.REGISTER


def recorder() -> Recorder:
    made = Recorder()
    for n in range(1, 101):
        made.ended(Ended(REGISTER, None, 50.0, 50.0 + n / 100), "imsi-1")
    made.ended(Ended(REGISTER, "t3510-expired", 50.0, 52.5), "imsi-1")
    made.ended(Ended(REGISTER, SKIPPED, 50.0, 50.0), "imsi-1")
    made.ended(Ended(Procedure.IDLE, "not-released", 50.0, 51.0), "imsi-2")
    made.violated(violation(Kind.NAS_MAC, "wrong MAC", "imsi-1", 51.0))
    return made


def report(made: Recorder) -> Report:
    return Report(
        started_at="2026-11-21T08:00:00.000+00:00",
        seconds=4.0,
        ues=10,
        gnbs=2,
        mode="auto",
        cut_off=None,
        procedures=procedures_of(made, 50.0),
        failed=made.failed_since(50.0),
        violations=made.violations,
        violation_counts={str(k): n for k, n in made.violation_counts.items()},
        retransmissions={"T3510": 2},
        duplicates=3,
        repeated_contexts=0,
        undelivered=0,
        reassociations=1,
        ng_setups=3,
        error_indications_sent=0,
        error_indications_received=0,
        resets_received=0,
        overload_starts=0,
        held=0,
        blocked_arrivals=7,
        ngap_sent=100,
        ngap_received=90,
        cpu_seconds=0.05,
    )


def test_figures_are_exact() -> None:
    found = report(recorder())
    register = found.procedures["register"]
    assert (register.count, register.succeeded, register.failed, register.skipped) == (
        (101, 100, 1, 1)
    )
    assert register.failures == {"t3510-expired": 1}
    assert register.rate == pytest.approx(100.0)
    assert register.latency is not None
    assert register.latency.p50 == pytest.approx(0.50)
    assert register.latency.p90 == pytest.approx(0.90)
    assert register.latency.p99 == pytest.approx(0.99)
    assert register.latency.max == pytest.approx(1.0)
    assert [(s.at, s.succeeded, s.failed) for s in register.timeline] == (
        [(0, 99, 0), (1, 1, 0), (2, 0, 1)]
    )
    assert found.procedures["idle"].latency is None
    assert (found.count, found.failures, found.ok) == (102, 2, False)
    assert found.line == "load: ues=10 procedures=102 failures=2 seconds=4.000"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.floats(0.1, 100))
def test_a_percentile_is_a_sample_that_enough_others_are_not_above(
    samples: list[float], percent: float
) -> None:
    ordered = sorted(samples)
    found = percentile(ordered, percent)
    assert found in ordered
    assert sum(s <= found for s in ordered) >= len(ordered) * percent / 100 - 1e-6
    latency = latency_of(samples)
    assert latency is not None
    assert latency.p50 <= latency.p90 <= latency.p99 <= latency.max


def test_json_has_the_fields_of_the_report(tmp_path: Path) -> None:
    made = report(recorder())
    made.save(str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text())
    assert set(found) == set(Report.__struct_fields__)
    assert found["version"] == 1
    assert found["procedures"]["register"]["latency"].keys() == {"p50", "p90", "p99", "max", "mean"}
    assert found["violations"] == [
        {
            "kind": "nas-mac",
            "clause": "TS 24.501 4.4.4.2",
            "text": "wrong MAC",
            "who": "imsi-1",
            "at": 51.0,
        }
    ]
    assert found["failed"] == [
        {"procedure": "register", "cause": "t3510-expired", "who": "imsi-1", "at": 2.5},
        {"procedure": "idle", "cause": "not-released", "who": "imsi-2", "at": 1.0},
    ]
    with pytest.raises(ConfigError, match="json: cannot write"):
        made.save(str(tmp_path / "no" / "out.json"))


def test_tables_show_what_went_wrong() -> None:
    console = Console(width=200, file=StringIO())
    with console.capture() as capture:
        print_tables(report(recorder()), console)
    text = capture.get()
    for part in ("register", "t3510-expired", "nas-mac", "TS 24.501 4.4.4.2", "T3510 x2"):
        assert part in text
    assert "imsi-2" in text, "whose procedure failed"
    assert "7 blocked arrivals" in text
    assert "1 re-associations" in text


def test_violations_are_counted_beyond_those_that_are_kept() -> None:
    made = Recorder()
    for n in range(MAX_VIOLATIONS + 5):
        made.violated(violation(Kind.NAS_MAC, str(n), "imsi-1", 0.0))
    assert len(made.violations) == MAX_VIOLATIONS
    assert made.violation_counts == {Kind.NAS_MAC: MAX_VIOLATIONS + 5}


def test_the_plot_is_a_png(tmp_path: Path) -> None:
    made = recorder()
    save_plot(report(made), made, str(tmp_path / "out.png"))
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="plot: cannot write"):
        save_plot(report(made), made, str(tmp_path / "no" / "out.png"))
    empty = Recorder()
    save_plot(report(empty), empty, str(tmp_path / "empty.png"))


def test_without_matplotlib_there_is_no_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    made = recorder()
    with pytest.raises(ConfigError, match="matplotlib is not installed"):
        save_plot(report(made), made, str(tmp_path / "out.png"))


def test_the_progress_bar_is_drawn_when_it_is_due() -> None:
    bar = ProgressBar(recorder(), 200)
    bar.start(1.0)
    assert bar.deadline() == 1.0
    bar.advance(1.0)
    assert bar.deadline() == pytest.approx(1.2)
    bar.stop()
    assert bar.deadline() == float("inf")
