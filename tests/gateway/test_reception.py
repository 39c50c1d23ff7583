"""Associations without NG SETUP, and associations that claim the identities of others."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

import wire
from gateway.n2.admission import Places
from gateway.n2.reception import NOT_NOW
from loadgen.gnb import messages
from loadgen.gnb.messages import GnbConfig
from schemas.cloudevents import EventType
from tests.eventing.brokers import until
from tests.gateway.edge import Edge, Ran, running
from tests.gateway.test_associations import leave, lost
from tests.gateway.test_uplink import request, suci
from tests.transport.worlds import MEMORY
from transport import Mode, TransportError

THERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"


@asynccontextmanager
async def small(
    path: Path, world: str = MEMORY, setup_within: float = 60.0, **places: int
) -> AsyncGenerator[Edge]:
    given = replace(Places(setup_within=setup_within), **places)
    async with running(path, world=world, places=given) as edge:
        yield edge


@pytest.mark.parametrize("world", [MEMORY, Mode.USERSPACE_UDP.value])
async def test_an_association_without_ng_setup_ends(tmp_path: Path, world: str) -> None:
    async with small(tmp_path, world, setup_within=1.0) as edge:
        gnb = await edge.gnb()
        idle = await edge.ran()
        asking = await edge.ran()
        await asking.sent(messages.ng_setup_request(asking.config))
        await idle.heard.downs()
        assert edge.gateway.reception.counters.overdue == 1
        assert (gnb.heard.down_, asking.heard.down_) == ([], [])
        assert edge.gateway.gnbs == [gnb.id]
        assert lost(edge) == []


@pytest.mark.parametrize("world", [MEMORY, Mode.USERSPACE_UDP.value])
async def test_one_address_cannot_lock_the_others_out(tmp_path: Path, world: str) -> None:
    async with small(tmp_path, world, max_associations=24, max_per_address=12) as edge:
        rans = [await edge.ran(host=ELSEWHERE) for _ in range(24)]
        await until(lambda: edge.gateway.reception.counters.refused == 18)
        await until(lambda: sum(bool(ran.heard.down_) for ran in rans) == 18)
        gnb = await edge.gnb(host=THERE)
        assert edge.gateway.gnbs == [gnb.id]


async def test_a_gnb_that_was_here_before_finds_a_place(tmp_path: Path) -> None:
    async with small(tmp_path, max_associations=4, max_per_address=4) as edge:
        gnb = await edge.gnb(5, host=THERE)
        await leave(gnb, "abort")
        await until(lambda: edge.gateway.gnbs == [])
        hostile = [await edge.gnb(10 + n, host=ELSEWHERE) for n in range(4)]
        back = await edge.ran(5, host=THERE)
        await hostile[-1].heard.downs()
        await until(lambda: len(lost(edge)) == 2)
        await back.set_up()
        assert back.id in edge.gateway.gnbs
        assert len(edge.gateway.gnbs) == 4


async def test_an_association_is_one_ran_node(edge: Edge) -> None:
    """TS 38.413 8.7.1.1: NG SETUP erases the previous application level configuration data."""
    first = await edge.gnb(5)
    source = edge.events[0].source
    await first.sent(first.initial(request(suci())))
    second = Ran(edge, 6)
    second.heard, second.transport = first.heard, first.transport
    before = len(edge.events)
    second.send(messages.ng_setup_request(second.config))
    ended, setup = (await edge.got(before + 2))[before:]
    assert (ended.type, ended.source) == (EventType.ASSOCIATION_LOST, source)
    assert setup.partitionkey == f"gnb-{second.id}"
    assert edge.gateway.gnbs == []
    await leave(first, "abort")
    *_, last = await edge.got(before + 3)
    assert (last.type, last.partitionkey) == (EventType.ASSOCIATION_LOST, f"gnb-{second.id}")
    assert len(lost(edge)) == 2


async def test_many_ng_setups_on_one_association_end_it(edge: Edge) -> None:
    hostile = await edge.ran()
    with contextlib.suppress(TransportError):  # until the association ends
        for number in range(2_000):
            hostile.send(messages.ng_setup_request(GnbConfig(f"gnb-{number}", number)))
            if number % 50 == 0:
                await asyncio.sleep(0)
    await hostile.heard.downs()
    named = [e for e in edge.events if e.type == EventType.NGAP_UPLINK]
    assert len(named) <= 4
    await edge.got(2 * len(named))
    # Every identity of the association is told lost.
    assert {e.partitionkey for e in lost(edge)} == {e.partitionkey for e in named}


async def test_a_repeated_ng_setup_is_bounded(edge: Edge) -> None:
    hostile = await edge.ran()
    for _ in range(100):
        hostile.send(messages.ng_setup_request(hostile.config))
    await hostile.heard.downs()
    assert len([e for e in edge.events if e.type == EventType.NGAP_UPLINK]) <= 10


async def test_a_neighbour_does_not_take_the_identity_of_a_gnb(edge: Edge) -> None:
    """The association of the gNB is alive, and the neighbour has another address."""
    gnb = await edge.gnb(5, host=THERE)
    thief = await edge.ran(5, host=ELSEWHERE)
    before = len(edge.events)
    thief.send(messages.ng_setup_request(thief.config))
    (answer,) = await thief.messages("NGSetupFailure")
    ies = {name: value for ie in answer["ies"] for name, value in ie.items()}
    assert ies["TimeToWait"] == "v20s"
    event = await gnb.sent(gnb.initial(request(suci())))
    assert event.source == edge.events[0].source
    assert len(edge.events) == before + 1
    assert (edge.gateway.gnbs, gnb.heard.down_) == ([gnb.id], [])


async def test_a_gnb_that_moved_is_accepted_when_the_old_association_is_dead(edge: Edge) -> None:
    """And it keeps its identity, though the old address may take it back."""
    old = await edge.gnb(5, host=THERE)
    new = await edge.ran(5, host=ELSEWHERE)
    new.send(messages.ng_setup_request(new.config))
    await new.messages("NGSetupFailure")
    await leave(old, "no heartbeat")
    await until(lambda: len(lost(edge)) == 1)
    await new.set_up()
    assert edge.gateway.gnbs == [new.id]
    back = await edge.gnb(5, host=THERE)
    await new.heard.downs()
    assert edge.gateway.gnbs == [back.id]


async def test_a_refused_claim_leaves_no_other_identity(edge: Edge) -> None:
    """A node that claims another identity is not the node that it was before."""
    there = await edge.gnb(5, host=THERE)
    other = await edge.gnb(6, host=ELSEWHERE)
    other.send(messages.ng_setup_request(there.config))
    await other.messages("NGSetupFailure")
    await until(lambda: len(lost(edge)) == 1)
    assert lost(edge)[0].partitionkey == f"gnb-{other.id}"
    assert edge.gateway.gnbs == [there.id]


async def test_only_a_configured_address_may_have_the_identity(tmp_path: Path) -> None:
    """Also if the gNB itself has no association."""
    places = Places(gnbs={"001-01-gnb-24-5": (THERE,), "001-01-gnb-24-6": ()})
    async with running(tmp_path, places=places) as edge:
        thief = await edge.ran(5, host=ELSEWHERE)
        thief.send(messages.ng_setup_request(thief.config))
        await thief.messages("NGSetupFailure")
        gnb = await edge.gnb(5, host=THERE)
        other = await edge.gnb(6, host=ELSEWHERE)
        assert edge.gateway.gnbs == [gnb.id, other.id]


async def test_a_node_that_the_core_refuses_holds_no_identity(edge: Edge) -> None:
    """A neighbour with a wrong PLMN does not keep the gNB of that identity out."""
    hostile = await edge.ran(5, host=ELSEWHERE)
    event = await hostile.sent(messages.ng_setup_request(hostile.config))
    await edge.answer(event, NOT_NOW)
    await hostile.heard.got(1)
    gnb = await edge.gnb(5, host=THERE)
    assert edge.gateway.gnbs == [gnb.id]


def test_the_refusal_is_an_ng_setup_failure() -> None:
    assert wire.ngap_peek(NOT_NOW).message == "NGSetupFailure"
    assert wire.ngap_check(NOT_NOW) is None
