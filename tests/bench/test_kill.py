"""The figures of `make kill`: times beside outages, and what counts as noticed by a UE."""

import pytest
from msgspec.structs import replace

from bench.kill.figures import LIMIT_MS, Figures, Outage, Procedures, beside
from loadgen.ue.model import SKIPPED, Ended, Procedure

OUTAGES = (Outage(10.0, 12.0), Outage(20.0, 20.5))
WELL = Figures(procedures=100, longest_ms=LIMIT_MS - 1)


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [
        (1.0, 3.0, 2.0),
        (9.0, 13.0, 2.0),
        (10.5, 11.5, 0.0),
        (11.0, 21.0, 8.5),
        (12.0, 20.0, 8.0),
    ],
    ids=["before", "around", "within", "over two", "between"],
)
def test_the_time_of_a_procedure_beside_the_outages(
    began: float, ended: float, seconds: float
) -> None:
    found = beside(Ended(Procedure.REGISTER, None, began, ended), OUTAGES)
    assert found == pytest.approx(seconds)


def test_only_successful_procedures_have_a_time() -> None:
    procedures = Procedures()
    for cause in (None, SKIPPED, "t3517-expired"):
        procedures.ended(Ended(Procedure.SERVICE, cause, 1.0, 2.0), "imsi-1")
    assert [who for _, who in procedures.succeeded] == ["imsi-1"]
    assert procedures.failures == 1


def test_figures_of_parts_together() -> None:
    both = WELL.plus(Figures(1, 2, 3, 4, 5))
    assert both == Figures(101, 2, 3, LIMIT_MS - 1, 5)
    assert both.line == (
        f"procedures=101 failures=2 retransmissions=3 longest_ms={LIMIT_MS - 1} differences=5"
    )


@pytest.mark.parametrize(
    "noticed",
    [
        {"procedures": 0},
        {"failures": 1},
        {"retransmissions": 1},
        {"longest_ms": LIMIT_MS},
        {"differences": 1},
    ],
)
def test_one_figure_out_of_bounds_is_enough(noticed: dict[str, int]) -> None:
    assert WELL.ok
    assert not replace(WELL, **noticed).ok
