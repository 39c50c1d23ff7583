"""A procedure is swapped under load: canary, finish, and roll-back of versions that are worse."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from evcore.swap import asking, kept
from evcore.swap.asking import Asking
from eventing import subjects
from eventing.access.roles import Role
from eventing.jetstream.streams import assignment_bucket
from eventing.ownership import assignments
from eventing.ownership.assignments import Assignment, Margins, SwapError
from eventing.stats import ProcedureStats, StatsWatch
from functions.runtime.code import this_code
from functions.runtime.replay import all_aggregates
from loadgen import Procedure as Does
from loadgen import Report, run
from loadgen.load.phases import Phase, Share
from schemas.gmm.events import RegistrationAccepted
from schemas.identity import PARTITIONS, partition_of, slot_of
from schemas.network import Timers
from schemas.procedures import Procedure
from tests.e2e import checks, versions
from tests.servers import Site, site
from tests.variants import edited, environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

UES = 64
CANARY = (0, 1, 2, 3)
BEGUN = 3000
"""Milliseconds that the slowest version may take for the events it has begun with."""
SERVICE = str(Procedure.SERVICE_REQUEST)
REGISTRATION = str(Procedure.REGISTRATION)
OWN = this_code().id


class Decided(NamedTuple):
    """A step of the procedure that is swapped."""

    at: int
    partition: int
    version: str
    t3512: int
    """Of a REGISTRATION ACCEPT in it; else 0."""


class Loaded:
    """A core with UEs that come and go all the time, and the statistics of its workers."""

    def __init__(
        self, it: Site, watch: StatsWatch, heard: asyncio.Event, procedure: str = SERVICE
    ) -> None:
        self.it = it
        self.watch = watch
        self.procedure = procedure
        self._heard = heard
        self.load: asyncio.Task[Report]

    async def counted(self, enough: Callable[[dict[str, ProcedureStats]], bool]) -> None:
        """Wait until the statistics of the procedure, by version, are enough."""
        while True:
            found = self.watch.totals().items()
            if enough({version: one for (name, version), one in found if name == self.procedure}):
                return
            self._heard.clear()
            await self._heard.wait()

    async def steps(self, version: str, more: int) -> None:
        """Wait until a version has decided so many more."""
        known = self.watch.totals().get((self.procedure, version))
        least = more + (0 if known is None else known.steps)
        await self.counted(lambda found: version in found and found[version].steps >= least)

    async def state(self, state: str) -> Assignment:
        """Wait until the last swap is in a state."""
        async with self.it.connected(Role.SETUP) as client:
            kv = await assignment_bucket(client)
            watcher = await kv.watch(self.procedure)
            async for entry in watcher:
                if entry is not None:
                    found = assignments.decode(entry.value or b"")
                    if found.state == state:
                        await watcher.stop()
                        return found
        raise AssertionError

    async def dead_letters(self) -> int:
        async with self.it.connected(Role.SETUP) as client:
            found = await client.jetstream().stream_info(subjects.DEAD_LETTERS)
            return found.state.messages

    async def decided(self) -> list[Decided]:
        """All steps of the procedure in the log."""
        return await decided(self.it.data, self.procedure)


async def decided(data: DataDirectory, procedure: str) -> list[Decided]:
    """All steps of a procedure in the log."""
    found: list[Decided] = []
    async with opened(data.root) as access:
        async for name, _ in all_aggregates(access.log, "ue/imsi-"):
            partition = partition_of(slot_of(name.removeprefix("ue/")), PARTITIONS)
            async for step in access.log.steps(name):
                if step.procedure == procedure:
                    accepts = [e for e in step.events if isinstance(e, RegistrationAccepted)]
                    t3512 = accepts[-1].t3512 if accepts else 0
                    found.append(Decided(step.at, partition, step.code, t3512))
    return found


SERVICES = Share((Does.SERVICE, Does.IDLE))
REGISTRATIONS = Share((Does.DEREGISTER, Does.REGISTER, Does.IDLE))
"""The programmes of UEs, again and again."""


def phases(seconds: float, share: Share) -> tuple[Phase, ...]:
    """UEs that register, and then do the same again and again for some seconds."""
    return (
        Phase(name="attach", mix=(Share((Does.REGISTER, Does.IDLE)),)),
        Phase(name="again", mix=(share,), repeat=None, duration=seconds, think=0.3),
    )


@asynccontextmanager
async def loaded(
    folder: Path, seconds: float, procedure: str = SERVICE, share: Share = SERVICES
) -> AsyncGenerator[Loaded]:
    """A core under a load that has begun, and ends after some seconds or with the block."""
    heard = asyncio.Event()
    watch = StatsWatch(lambda _: heard.set())
    async with site(folder, UES) as it, it.connected(Role.CONSOLE) as client:
        await watch.start(client)
        core = Loaded(it, watch, heard, procedure)
        core.load = asyncio.create_task(run(it.load(phases=phases(seconds, share))))
        try:
            await core.steps(OWN, 50)
            yield core
        finally:
            core.load.cancel()
            await asyncio.gather(core.load, return_exceptions=True)


@asynccontextmanager
async def swapping(core: Loaded) -> AsyncGenerator[Asking]:
    async with asking.asking(core.it.core.config.nats, core.procedure) as found:
        yield found


def now() -> int:
    return time.time_ns() // 1_000_000


async def test_a_version_is_tried_and_taken_over_without_a_failed_procedure(tmp_path: Path) -> None:
    async with loaded(tmp_path, 12) as core, swapping(core) as ask:
        path = versions.write(tmp_path, versions.RIGHT)
        variant = kept.keep(core.it.data, path).id
        asked = now()
        said = await ask.begin(variant, CANARY, Margins())
        begun = now()
        assert said == f"{SERVICE} {variant} decides in partitions 0, 1, 2, 3"
        await core.steps(variant, 50)
        finishing = now()
        assert await ask.finish() == f"{SERVICE} {variant} decides everywhere"
        finished = now()
        await core.steps(variant, 100)
        aborting = now()
        await ask.abort()
        aborted = now()
        await core.steps(OWN, 50)
        report = await core.load
        assert report.ok, checks.failed(report)
        await core.it.settled()
        steps = await core.decided()
    assert {one.version for one in steps if one.at < asked} == {OWN}
    for one in steps:
        if begun <= one.at < finishing:
            assert one.version == (variant if one.partition in CANARY else OWN), one
    assert Counter(one.version for one in steps if one.at < finishing)[variant] >= 50
    everywhere = [one for one in steps if finished <= one.at < aborting]
    assert {one.version for one in everywhere} == {variant}
    assert {one.partition for one in everywhere} > set(CANARY)
    assert {one.version for one in steps if one.at >= aborted} == {OWN}
    verification = await checks.verified(core.it.data)
    assert verification.elsewhere == []


WORSE = {
    "raises": (versions.RAISES, "it fails: of"),
    "is slow": (versions.SLOW, "it is slow: "),
    "ends": (versions.ENDS, "ended with 3"),
    "hangs": (versions.HANGS, "runs, and has renewed no lease for 3 s"),
}


@pytest.mark.parametrize(("text", "why"), WORSE.values(), ids=WORSE.keys())
async def test_what_is_worse_is_rolled_back_and_no_ue_fails(
    tmp_path: Path, text: str, why: str
) -> None:
    async with (
        loaded(tmp_path, 20 if text is versions.HANGS else 12) as core,
        swapping(core) as ask,
    ):
        path = versions.write(tmp_path, text)
        variant = kept.keep(core.it.data, path).id
        with contextlib.suppress(SwapError):  # it may be rolled back before all have adopted it
            await ask.begin(variant, CANARY, Margins())
        found = await core.state("rolled-back")
        assert why in found.reason, found.reason
        back = now()
        report = await core.load
        assert report.ok, checks.failed(report)
        await core.it.settled()
        assert await core.dead_letters() == 0
        steps = await core.decided()
    late = [one for one in steps if one.at > back + BEGUN]
    assert {one.partition for one in late} > set(CANARY)
    assert {one.version for one in late} == {OWN}, "all are with the stable version again"


async def test_what_rejects_is_rolled_back_before_many_ues_fail(tmp_path: Path) -> None:
    async with loaded(tmp_path, 10) as core, swapping(core) as ask:
        path = versions.write(tmp_path, versions.REJECTS)
        variant = kept.keep(core.it.data, path).id
        await ask.begin(variant, CANARY, Margins())
        found = await core.state("rolled-back")
        assert "were rejects" in found.reason
        back = now()
        await core.steps(OWN, 100)
        report = await core.load
        await core.it.settled()
        steps = await core.decided()
    rejected = [one for one in steps if one.version == variant]
    assert report.violations == []
    failed = report.procedures[Does.SERVICE].failed
    assert 3 <= failed <= len(rejected) < 150
    assert {one.partition for one in rejected} <= set(CANARY)
    assert max(one.at for one in rejected) < back + 1000


# A package that changes REGISTRATION ACCEPT


async def test_another_registration_accept_for_an_eighth_of_the_ues(tmp_path: Path) -> None:
    async with (
        loaded(tmp_path, 8, REGISTRATION, REGISTRATIONS) as core,
        swapping(core) as ask,
    ):
        path = versions.write(tmp_path, versions.OTHER_T3512, versions.ACCEPT)
        variant = kept.keep(core.it.data, path).id
        await ask.begin(variant, (0,), Margins())
        begun = now()
        await core.steps(variant, 40)
        report = await core.load
        assert report.ok, checks.failed(report)
        await core.it.settled()
        steps = await core.decided()
    check_accepts([one for one in steps if one.at >= begun], {0}, variant)
    verification = await checks.verified(core.it.data)
    assert verification.elsewhere == []


def check_accepts(steps: list[Decided], partitions: set[int], variant: str) -> None:
    """Assert that the UEs of some partitions alone have the T3512 of the variant."""
    for one in steps:
        assert one.version == (variant if one.partition in partitions else OWN), one
    told = {(one.partition in partitions, one.t3512) for one in steps if one.t3512}
    assert told == {(True, versions.T3512), (False, Timers().t3512)}


async def test_a_registration_accept_that_raises_is_rolled_back_and_no_ue_fails(
    tmp_path: Path,
) -> None:
    async with (
        loaded(tmp_path, 12, REGISTRATION, REGISTRATIONS) as core,
        swapping(core) as ask,
    ):
        path = versions.write(tmp_path, versions.ACCEPT_RAISES, versions.ACCEPT)
        await ask.begin(kept.keep(core.it.data, path).id, (0,), Margins())
        found = await core.state("rolled-back")
        assert "it fails: of" in found.reason
        report = await core.load
        assert report.ok, checks.failed(report)
        await core.it.settled()
        assert await core.dead_letters() == 0


async def test_another_release_decides_for_some_ues_and_then_for_all(tmp_path: Path) -> None:
    """Its workers run in an environment of their own."""
    async with (
        loaded(tmp_path, 14, REGISTRATION, REGISTRATIONS) as core,
        swapping(core) as ask,
    ):
        path = environment(tmp_path, {versions.ACCEPT: versions.OTHER_T3512})
        release = kept.keep(core.it.data, path)
        assert release.variant == ""
        await ask.begin(release.id, (0,), Margins())
        begun = now()
        await core.steps(release.id, 20)
        finishing = now()
        assert await ask.finish() == f"registration {release.id} decides everywhere"
        finished = now()
        await core.steps(release.id, 60)
        aborting = now()
        await ask.abort()
        aborted = now()
        report = await core.load
        assert report.ok, checks.failed(report)
        await core.it.settled()
        steps = await core.decided()
    check_accepts([one for one in steps if begun <= one.at < finishing], {0}, release.id)
    everywhere = [one for one in steps if finished <= one.at < aborting]
    assert {one.version for one in everywhere} == {release.id}
    assert {one.version for one in steps if one.at >= aborted} <= {OWN}


async def test_identification_is_swapped_and_rolled_back_when_it_raises(tmp_path: Path) -> None:
    """It leaves no steps: only its failures are counted. All UEs come with a SUCI at first."""
    module = "gmm/identification"
    text = edited(
        module, ("    try:\n        suci = _suci", "    1 / 0\n    try:\n        suci = _suci")
    )
    procedure = str(Procedure.IDENTIFICATION)
    async with site(tmp_path, UES) as it, asking.asking(it.core.config.nats, procedure) as ask:
        path = versions.write(tmp_path, text, module)
        await ask.begin(kept.keep(it.data, path).id, CANARY, Margins())
        core = Loaded(it, StatsWatch(), asyncio.Event(), procedure)
        load = asyncio.create_task(run(it.load(phases=phases(4, REGISTRATIONS))))
        found = await core.state("rolled-back")
        assert "it fails: of" in found.reason
        report = await load
        assert report.ok, checks.failed(report)
        await it.settled()
        assert await core.dead_letters() == 0
