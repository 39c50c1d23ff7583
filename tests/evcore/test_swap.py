"""`evcore swap` as a user has it: on a core that runs, ends and runs again."""

import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from evcore.commands.swap import count_of
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from evcore.swap import kept
from functions.runtime.code import this_code
from functions.runtime.replay import all_aggregates
from functions.runtime.variants import load
from schemas.identity import PARTITIONS, partition_of, slot_of
from tests.e2e.versions import BROKEN, MODULE, RIGHT, SOURCE, write
from tests.evcore.cores import Up, run, up
from tests.variants import environment, folder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

UES = 16
NO_UPFS = ("--upfs", 0)
CANARY = count_of("1/4", PARTITIONS)
OWN = this_code().id
LOAD = ("--ues", UES, "--procedures", "register,idle,service,idle,deregister")


class Swapped:
    """A core, and a variant of the service request procedure."""

    def __init__(self, core: Up, path: Path) -> None:
        self.core = core
        self.path = path

    async def swap(self, *more: object) -> str:
        status, said = await run("swap", "service-request", "--data", self.core.data, *more)
        assert status == 0, said
        return said

    async def versions(self) -> dict[int, set[str]]:
        """Who decided the last service request of each UE, by partition, as `log show` says."""
        found: dict[int, set[str]] = {}
        async with opened(self.core.data, read_only=True) as access:
            async for name, _ in all_aggregates(access.log, "ue/imsi-"):
                steps = [step async for step in access.log.steps(name)]
                *_, last = (step for step in steps if step.procedure == "service-request")
                partition = partition_of(slot_of(name[3:]), PARTITIONS)
                found.setdefault(partition, set()).add(last.code)
        supi = f"imsi-{1010000000001:015d}"
        status, said = await run("log", "show", supi, "--data", self.core.data)
        assert status == 0, said
        *_, title = (
            line
            for line in said.splitlines()
            if line.startswith("step ") and " service-request " in line
        )
        (shown,) = found[partition_of(slot_of(supi), PARTITIONS)]
        assert f"({shown})" in title
        return found

    async def load(self) -> None:
        status, said = await self.core.load(*LOAD)
        assert status == 0, said


@pytest.fixture
async def swapped(tmp_path: Path) -> AsyncGenerator[Swapped]:
    async with up(tmp_path / "data", *NO_UPFS) as core:
        yield Swapped(core, write(tmp_path, RIGHT))


async def test_it_goes_on_where_it_was_when_the_core_is_started_again(swapped: Swapped) -> None:
    core, to = swapped.core, ("--to", swapped.path, "--partitions", "1/4")
    said = await swapped.swap(*to)
    variant = said.split()[1]
    canary = ", ".join(map(str, range(CANARY)))
    assert said == f"service-request {variant} decides in partitions {canary}\n"
    await core.says(f"service-request {variant} decides in partitions")
    for path in swapped.path.rglob("*.py"):
        path.unlink()
    await core.ends(signal.SIGTERM)

    async with up(core.data, *NO_UPFS) as again:
        swapped.core = again
        await swapped.load()
        by_partition = await swapped.versions()
        assert by_partition.keys() & set(range(CANARY))
        for partition, found in by_partition.items():
            assert found == {variant if partition < CANARY else OWN}
        said = await swapped.swap("--finish")
        assert said == f"service-request {variant} decides everywhere\n"
        await again.ends(signal.SIGTERM)

    async with up(core.data, *NO_UPFS) as third:
        swapped.core = third
        await swapped.load()
        assert set.union(*(await swapped.versions()).values()) == {variant}
        said = await swapped.swap("--abort")
        assert said.endswith("; the version that evcore came with decides everywhere\n")
        await swapped.load()
        assert set.union(*(await swapped.versions()).values()) == {OWN}
        story = await swapped.swap("--status")
        for word in ("is being started", "decides in", "decides everywhere", "was withdrawn (by"):
            assert f"service-request {variant} {word}" in story
    status, said = await run("log", "verify", "--all", "--data", core.data)
    assert (status, "differences=0" in said, "elsewhere" in said) == (0, True, False), said
    for path in (core.data / "variants").iterdir():
        path.unlink()
    status, said = await run("log", "verify", "--all", "--data", core.data)
    assert status == 0
    assert f"my-variant ({variant}), which is not" in said
    assert "differences=0 elsewhere=" in said


async def test_a_variant_that_was_made_for_another_evcore_is_withdrawn(swapped: Swapped) -> None:
    """An upgrade of evcore changes the modules that it replaces."""
    core = swapped.core
    said = await swapped.swap("--to", swapped.path)
    variant = said.split()[1]
    await swapped.swap("--finish")
    await core.ends(signal.SIGTERM)
    (path,) = (core.data / "variants").glob(f"*@{variant}.whl")
    other = folder(core.data, {MODULE: RIGHT + "# made for another evcore\n"}, "other")
    assert load(other).id != variant
    made = kept.keep(DataDirectory(core.data), other)
    (new,) = (core.data / "variants").glob(f"*@{made.id}.whl")
    new.replace(path)
    async with up(core.data, *NO_UPFS) as again:
        swapped.core = again
        said = await swapped.swap("--status")
        why = f"service-request {variant} was withdrawn (it was made for another evcore than this"
        assert why in said
        await swapped.load()
        assert set.union(*(await swapped.versions()).values()) == {OWN}


async def test_the_release_of_a_virtual_environment_goes_on_when_the_core_is_started_again(
    swapped: Swapped, tmp_path: Path
) -> None:
    core = swapped.core
    path = environment(tmp_path, {MODULE: RIGHT})
    said = await swapped.swap("--to", path)
    release = said.split()[1]
    assert await swapped.swap("--finish") == f"service-request {release} decides everywhere\n"
    await core.ends(signal.SIGTERM)
    async with up(core.data, *NO_UPFS) as again:
        swapped.core = again
        await swapped.load()
        assert set.union(*(await swapped.versions()).values()) == {release}
        await swapped.swap("--abort")
        await swapped.load()
        assert set.union(*(await swapped.versions()).values()) == {OWN}


async def test_one_whose_workers_do_not_start_decides_nothing(
    swapped: Swapped, tmp_path: Path
) -> None:
    text = SOURCE + "\nimport sys\nif 'evcore.commands.swap' not in sys.modules:\n    sys.exit(7)\n"
    path = write(tmp_path, text)
    status, said = await run("swap", "service-request", "--data", swapped.core.data, "--to", path)
    assert status == 1
    assert "is rolled back: worker-service-request-" in said
    assert "cannot be imported: SystemExit: 7" in said
    status, said = await run("swap", "service-request", "--data", swapped.core.data, "--finish")
    assert (status, said) == (1, "evcore: there is no canary of service-request\n")


async def test_what_is_asked_for_wrongly(swapped: Swapped, tmp_path: Path) -> None:
    data = swapped.core.data

    async def says(*arguments: object) -> tuple[int, str]:
        return await run("swap", *arguments, "--data", data)

    assert await says("service-request") == (
        2,
        "evcore: say one of --to VARIANT, --finish, --abort and --status\n",
    )
    status, said = await says("service-request", "--to", write(tmp_path, BROKEN))
    assert (status, "No module named 'there_is_no_such_module'" in said) == (2, True), said
    status, said = await says("service-request", "--to", tmp_path / "none")
    assert (status, "there is no folder or wheel" in said) == (2, True), said
    status, said = await says("service-request", "--to", folder(tmp_path, {"runtime/work": ""}))
    assert (status, "a variant changes decisions only" in said) == (2, True), said
    status, said = await says("smf", "--finish")
    assert status == 2, said
    assert "smf" in said
    status, said = await run("swap", "--status", "--data", tmp_path / "none")
    assert (status, "no core runs on" in said) == (1, True), said
