"""The liveness file that Kubernetes checks."""

import os
import subprocess
from pathlib import Path

import pytest

from eventing import process
from eventing.process import VARIABLE, beating
from tests.eventing.brokers import until


async def test_it_is_touched_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alive"
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setattr(process, "PERIOD", 0.01)
    async with beating():
        assert VARIABLE not in os.environ, "children would touch it too"
        for _ in range(2):
            os.utime(path, (0, 0))
            await until(lambda: path.stat().st_mtime > 0)
    assert not path.exists()


async def test_without_the_variable_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    async with beating():
        assert not list(tmp_path.iterdir())


async def test_a_file_that_cannot_be_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none" / "alive"))
    with pytest.raises(FileNotFoundError):
        async with beating():
            pass


@pytest.mark.parametrize(("age", "status"), [(0, 0), (14, 0), (60, 1)])
def test_the_probe_of_the_manifests_sees_how_old_it_is(
    tmp_path: Path, age: int, status: int
) -> None:
    from k8s import pods

    path = tmp_path / "alive"
    path.touch()
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    container = pods.container("worker", [], pods.Needs())
    probe = pods.beating(container)["livenessProbe"]["exec"]["command"]
    command = [word.replace(pods.ALIVE, str(path)) for word in probe]
    assert subprocess.run(command, check=False).returncode == status


def test_the_probe_fails_without_a_file(tmp_path: Path) -> None:
    from k8s import pods

    container = pods.container("worker", [], pods.Needs())
    probe = pods.beating(container)["livenessProbe"]["exec"]["command"]
    command = [word.replace(pods.ALIVE, str(tmp_path / "alive")) for word in probe]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 1
