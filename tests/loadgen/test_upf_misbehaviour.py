"""Misbehaviour of the emulated UPF."""

import asyncio
import time

import pytest

import wire
from loadgen.upf.config import Misbehaviour
from tests.loadgen.test_upf_peer import (
    ACCEPTED,
    FORWARD,
    Tree,
    cause_of,
    session,
    value,
    world,
)


async def test_refusing() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="reject", cause=75, times=1))
        answer = await cp.establish(session())
        assert (cause_of(answer), answer["seid"]) == ("No resources available", 1)
        assert (upf.session_count, upf.violations) == (0, [])
        assert cause_of(await cp.establish(session())) == ACCEPTED
        upf.misbehave(Misbehaviour(kind="reject", message="SessionDeletionRequest"))
        assert cause_of(await cp.modify(FORWARD)) == ACCEPTED
        for _ in range(2):
            assert cause_of(await cp.delete()) == "Request rejected (reason not specified)"
        upf.misbehave(None)
        assert cause_of(await cp.delete()) == ACCEPTED


async def test_refusing_an_association() -> None:
    async with world(associated=False) as (upf, cp):
        upf.misbehave(Misbehaviour(kind="reject", cause=77, message="AssociationSetupRequest"))
        assert cause_of(await cp.associate()) == "System failure"
        assert upf.associations == {}


async def test_without_a_cause() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="no-cause", times=1))
        answer = await cp.establish(session())
        assert (cause_of(answer), value(answer, "F-SEID") is not None) == (None, True)
        assert upf.session_count == 1
        assert len(cp.faults) == 1
        cp.faults.clear()


async def test_late_and_not_twice() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="delay", seconds=0.1, times=1))
        tree: Tree = {"message": "SessionEstablishmentRequest", "seid": 0, "sequence": 9}
        data = wire.pfcp_encode(tree | {"ies": session()})
        before = time.monotonic()
        cp.send(data)
        answer = await cp.exchange(data, 9)
        assert time.monotonic() - before > 0.09
        assert cause_of(answer) == ACCEPTED
        assert (upf.session_count, upf.counts.duplicates) == (1, 1)
        await cp.nothing()


async def test_twice() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="duplicate", times=1))
        answer = await cp.establish(session())
        assert await asyncio.wait_for(cp.answers.get(), 2) == answer


async def test_an_answer_that_is_lost() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="lose", times=1))
        tree: Tree = {"message": "SessionEstablishmentRequest", "seid": 0, "sequence": 9}
        data = wire.pfcp_encode(tree | {"ies": session()})
        cp.send(data)
        await cp.nothing()
        assert upf.session_count == 1
        assert cause_of(await cp.exchange(data, 9)) == ACCEPTED
        assert (upf.session_count, upf.counts.duplicates) == (1, 1)


async def test_with_another_seid() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="unknown-seid"))
        assert (await cp.establish(session()))["seid"] not in (0, 1)


async def test_with_an_f_teid_to_choose() -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind="wrong-f-teid"))
        answer = await cp.establish(session())
        assert value(answer, "Created PDR") == [{"PDR ID": 1}, {"F-TEID": {"choose": ["V4"]}}]


@pytest.mark.parametrize("kind", ["no-cause", "unknown-seid", "wrong-f-teid"])
async def test_heartbeats_are_right_all_the_same(kind: str) -> None:
    async with world() as (upf, cp):
        upf.misbehave(Misbehaviour(kind=kind))  # pyright: ignore[reportArgumentType]
        await cp.nothing()
