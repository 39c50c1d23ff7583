"""Groups of workers that swaps add and remove."""

from pathlib import Path

import pytest

from evcore.local.group import Group
from schemas.procedures import Procedure
from tests.evcore.test_autoscaler import FAILS, scaling

CANARY = Group("canary", (Procedure.RAN,), min_workers=1, cooldown=0.0)


async def test_a_group_is_added_with_its_least_workers_and_removed_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(tmp_path, monkeypatch) as plant:
        plant.scaler.add(CANARY)
        await plant.becomes(1)
        assert len(plant.scaler.workers_of("canary")) == 1
        assert [group.name for group in plant.scaler.groups] == ["ran", "canary"]
        await plant.looked(3)
        assert len(plant.scaler.workers) == 1, "nothing waits, and it stays"
        plant.scaler.remove("canary")
        assert [group.name for group in plant.scaler.groups] == ["ran"]
        await plant.becomes(0)


async def test_how_its_worker_failed_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(tmp_path, monkeypatch, command=FAILS) as plant:
        plant.scaler.add(CANARY)
        assert plant.scaler.failed("canary") == ""
        assert await plant.ends.get() == "worker-canary-1 ended with 5: no way"
        assert plant.scaler.failed("canary") == "worker-canary-1 ended with 5: no way"
        plant.scaler.remove("canary")
        plant.scaler.add(CANARY)
        assert plant.scaler.failed("canary") == "", "another one of that name has not failed"


async def test_one_whose_workers_end_again_and_again_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(tmp_path, monkeypatch) as plant:
        plant.scaler.add(CANARY)
        for _ in range(3):
            assert plant.scaler.failed("canary") == ""
            await plant.becomes(1)
            plant.scaler.workers_of("canary")[0].kill()
            await plant.ends.get()
        assert plant.scaler.failed("canary") == "worker-canary-1 was ended by SIGKILL"


async def test_workers_go_on_until_others_are_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(tmp_path, monkeypatch) as plant:
        plant.waits = 1
        await plant.becomes(1)
        (before,) = plant.scaler.workers_of("ran")
        assert plant.scaler.relieve("ran", ("--with", "ran=x.py")) == [before]
        await plant.becomes(1)
        (after,) = plant.scaler.workers_of("ran")
        assert set(plant.scaler.workers) == {before, after}
        assert plant.scaler.groups[0].arguments == ("--with", "ran=x.py")
        await plant.scaler.retire([before])
        assert plant.scaler.workers == [after]


async def test_nobody_is_relieved_where_nobody_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(tmp_path, monkeypatch) as plant:
        assert plant.scaler.relieve("ran", ()) == []
        await plant.looked(2)
        assert plant.scaler.workers == []
