"""A whole core under a load that checks it: registrations, idle, deregistrations."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore.commands.up import groups_of
from evcore.logs.access import opened
from loadgen import Procedure, run
from schemas.subscriber import AuthMethod
from tests.e2e import checks
from tests.servers import site

pytestmark = pytest.mark.slow

PROGRAMME = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)


async def test_functions_start_at_zero_and_nothing_is_left(tmp_path: Path) -> None:
    async with site(tmp_path, 40) as it:
        assert it.core.scaler.workers == []
        report = await run(it.load(programme=PROGRAMME, strict_duplicates=True))
        assert report.ok, report.violations
        await it.settled()
        assert {p.count for p in report.procedures.values()} == {40}
        assert max(s.workers for s in it.core.scaler.history) > 0
    result = await checks.verified(it.data)
    assert result.aggregates == 42
    for ue in (await checks.ues(it.data)).values():
        assert not ue.registered
        assert ue.connection is None
        assert ue.stale == ()
    assert await checks.index_entries(it.data, "gnb") == []
    assert len(await checks.index_entries(it.data, "tmsi")) == 40


async def test_each_procedure_in_a_worker_of_its_own(tmp_path: Path) -> None:
    """A deciphered message of a procedure on another worker is sent through JetStream."""
    async with site(tmp_path, 30, groups_of("each", 1)) as it:
        report = await run(it.load(programme=PROGRAMME))
        assert report.ok, checks.failed(report)
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []


async def test_every_identity_a_ue_can_come_with(tmp_path: Path) -> None:
    """Stored context, SUCI while registered, and unassigned 5G-GUTIs."""
    async with site(tmp_path, 30) as it:
        config = it.load(
            programme=(
                Procedure.REGISTER,
                Procedure.IDLE,
                Procedure.REGISTER,
                Procedure.SWITCH_OFF,
            ),
            identities=("stored", "suci", "unknown-guti"),
            repeat=3,
        )
        report = await run(config)
        assert report.ok, checks.failed(report)
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []


async def test_stale_usims_are_re_synchronised(tmp_path: Path) -> None:
    async with site(tmp_path, 20) as it:
        ahead = replace(it.population, sqn_ahead=3)
        report = await run(it.load(population=ahead))
        assert report.ok, checks.failed(report)
        await it.settled()
    assert sum(ue.sqn > 1_000 for ue in (await checks.ues(it.data)).values()) >= 6
    await checks.verified(it.data)


async def test_eap_aka_prime(tmp_path: Path) -> None:
    """The subscription selects it. The SQN of one USIM is ahead."""
    async with site(tmp_path, 20) as it:
        async with opened(it.data.root) as access:
            names = [one["supi"] for one in it.population.to_json()]
            stored = [await access.subscribers.get(name) for name in names]
            subscribers = [one.subscriber for one in stored if one and one.subscriber]
            method = AuthMethod.EAP_AKA_PRIME
            await access.subscribers.put_all([replace(s, auth_method=method) for s in subscribers])
        assert len(subscribers) == 20
        report = await run(
            it.load(programme=PROGRAMME, population=replace(it.population, sqn_ahead=3))
        )
        assert report.ok, checks.failed(report)
        await it.settled()
    await checks.verified(it.data)
