"""The parts of a bench that run a core, with a few UEs."""

from pathlib import Path

import pytest

from bench import kernel, memory, open_loop, profile
from bench.procedures import ROUND, runs_of
from loadgen import Procedure

pytestmark = pytest.mark.slow


async def test_each_procedure_and_what_it_costs_the_core_and_the_load_generator(
    tmp_path: Path,
) -> None:
    (run,) = await runs_of(tmp_path / "core", 32, 1, 32)
    assert run.failures == 0
    assert run.costs.keys() == set(ROUND)
    for cost in run.costs.values():
        assert cost.count >= 32
        assert cost.loadgen_ms is not None
        assert cost.loadgen_ms > 0
        assert all(spent >= 0 for spent in cost.cpu_ms.values())
    assert run.costs["register"].cpu_ms["workers"] > 0.1


async def test_an_open_loop_has_the_arrivals_that_were_asked_for(tmp_path: Path) -> None:
    half, most = await open_loop.shares_of(tmp_path / "core", "registration", 40, 1.0, 1)
    assert (half.rate, most.rate) == (20, 32)
    for share in (half, most):
        (run,) = share.runs
        assert run.failures == run.blocked == 0
        assert 0 < run.latency["register"].p50 <= run.latency["register"].p99


async def test_what_the_kernel_sees_of_a_registration(tmp_path: Path) -> None:
    found = await kernel.outcome(tmp_path / "core", ues=16, runs=1)
    assert found.switches["workers"].voluntary[0] > 0
    if found.calls is None:
        pytest.skip(found.why_not)
    # A registration is durable: at least one transaction is written, and at least one flush is
    # made.
    assert found.calls["workers"]["pwrite64"] > 1
    assert found.calls["workers"]["fdatasync"] > 0


async def test_the_memory_of_a_core_idle_and_after_loads(tmp_path: Path) -> None:
    found = await memory.looks(tmp_path / "core", rate=20, ues=8, each=4)
    assert [one.registered for one in found] == [0, 4, 4, 8, 8]
    for one in found:
        assert {"evcore", "nats-server", "gateway.n2", "gateway.n4"} <= one.rss.keys()
        assert ("functions.runtime" in one.rss) == (one.what != memory.IDLE)
        assert 10 < one.pss < one.total < 2000


@pytest.mark.parametrize(
    ("of", "decides"), [("register", ""), ("service-request", "gmm/service_r")]
)
async def test_a_profile_names_the_functions_that_ran(
    tmp_path: Path, of: str, decides: str
) -> None:
    programme = profile.PROGRAMMES[Procedure(of)]
    try:
        files = await profile.profile(tmp_path / "svg", programme, ues=32, rounds=4, native=False)
    except profile.ProfileError as error:
        pytest.skip(str(error))
    worker, gateway = (file.read_text() for file in files)
    assert f"decide (functions/{decides}" in worker
    assert "(gateway/n2/" in gateway
