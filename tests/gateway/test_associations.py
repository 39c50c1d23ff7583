"""gNBs connect, disconnect and reconnect: the core gets one event for each lost association."""

import pytest
from msgspec import msgpack

from loadgen.gnb import messages
from schemas.cloudevents import AssociationLost, CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import Procedure
from tests.gateway.edge import Edge, Ran, ng_setup_response
from tests.gateway.test_uplink import request, suci
from transport.memory import MemoryTransport


def lost(edge: Edge) -> list[CloudEvent]:
    return [event for event in edge.events if event.type == EventType.ASSOCIATION_LOST]


async def leave(ran: Ran, how: str) -> None:
    assert isinstance(ran.transport, MemoryTransport)
    if how == "shutdown":
        ran.association.shutdown()
    elif how == "abort":
        ran.association.abort()
    else:
        ran.transport.vanish()


@pytest.mark.parametrize("how", ["shutdown", "abort", "no heartbeat"])
async def test_the_end_of_an_association_is_an_event_after_all_that_came_by_it(
    edge: Edge, how: str
) -> None:
    ran = await edge.ran()
    setup = await ran.set_up()
    await ran.sent(ran.initial(request(suci())))
    await leave(ran, how)
    *_, event = await edge.got(3)
    association = setup.source.rpartition("/")[2]
    found = msgpack.decode(event.data, type=AssociationLost)
    assert found.association == association
    assert found.reason
    assert event.type == EventType.ASSOCIATION_LOST
    assert (event.source, event.procedure) == (setup.source, Procedure.RAN)
    assert (event.partitionkey, event.slot) == (f"gnb-{ran.id}", slot_of(ran.id))
    assert edge.gateway.gnbs == []


@pytest.mark.parametrize("answered_before", [False, True])
async def test_it_is_an_event_from_the_ng_setup_request_on(
    edge: Edge, answered_before: bool
) -> None:
    """The core may have accepted the gNB, though its answer has not arrived yet."""
    ran = await edge.ran()
    if answered_before:
        await ran.set_up()
    await ran.sent(messages.ng_setup_request(ran.config))
    assert edge.gateway.gnbs == []
    await leave(ran, "abort")
    events = await edge.got(len(edge.events) + 1)
    assert events[-1].type == EventType.ASSOCIATION_LOST


async def test_who_has_never_said_who_it_is_is_nobodys_loss(edge: Edge) -> None:
    ran = await edge.ran()
    await ran.sent(b"hello")
    await leave(ran, "abort")
    await edge.gnb()
    assert lost(edge) == []


async def test_a_gnb_that_comes_back_takes_the_place_of_itself(edge: Edge) -> None:
    """SCTP may detect the loss of the old association only later."""
    old = await edge.ran(5)
    first = await old.set_up()
    await old.sent(old.initial(request(suci())))
    new = await edge.ran(5)
    second = await new.set_up()
    await old.heard.downs()
    await edge.got(4)
    assert first.source != second.source
    (event,) = lost(edge)
    assert event.source == first.source
    assert edge.gateway.gnbs == [new.id]
    fresh = await new.sent(new.initial(request(suci())))
    assert (fresh.source, fresh.sequence) == (second.source, 0)


async def test_who_only_says_that_it_is_a_gnb_takes_nobodys_place(edge: Edge) -> None:
    """A second gNB with the same Global RAN Node ID, which the core refuses."""
    there = await edge.gnb(5)
    other = await edge.ran(5)
    await other.sent(messages.ng_setup_request(other.config))
    fresh = await there.sent(there.initial(request(suci())))
    assert fresh.procedure == Procedure.REGISTRATION
    assert edge.gateway.gnbs == [there.id]
    assert (lost(edge), there.heard.down_) == ([], [])
    await leave(other, "abort")
    (*_, event) = await edge.got(len(edge.events) + 1)
    assert event.source != fresh.source
    assert edge.gateway.gnbs == [there.id]


async def test_ng_setup_again_on_the_same_association(edge: Edge) -> None:
    ran = await edge.ran()
    first, second = await ran.set_up(), await ran.set_up()
    assert first.source == second.source
    assert (lost(edge), ran.heard.down_) == ([], [])
    assert edge.gateway.gnbs == [ran.id]


async def test_many_gnbs_at_once(edge: Edge) -> None:
    rans = [await edge.ran() for _ in range(40)]
    for ran in rans:
        ran.send(messages.ng_setup_request(ran.config))
    setups = await edge.got(40)
    sources = {event.source.split("/")[2]: event.source for event in setups}
    assert sources.keys() == {ran.id for ran in rans}
    for event in list(setups):
        await edge.answer(event, ng_setup_response())
    for ran in rans:
        await ran.heard.got(1)
        for ran_id in range(5):
            ran.send(ran.initial(request(suci()), ran_id))
    events = (await edge.got(240))[40:]
    for ran in rans:
        own = [event for event in events if event.source == sources[ran.id]]
        assert [event.data for event in own] == [
            ran.initial(request(suci()), ran_id) for ran_id in range(5)
        ]
    for ran in rans[::2]:
        await leave(ran, "abort")
    await edge.got(260)
    assert {event.source for event in lost(edge)} == {sources[ran.id] for ran in rans[::2]}
    assert edge.gateway.gnbs == sorted(ran.id for ran in rans[1::2])


async def test_a_gateway_that_stops_says_so_of_each_gnb(edge: Edge) -> None:
    rans = [await edge.gnb() for _ in range(3)]
    await edge.gateway.stop()
    for ran in rans:
        await ran.heard.downs()
    events = [e for e in await edge.stored() if e.type == EventType.ASSOCIATION_LOST]
    assert {event.partitionkey for event in events} == {f"gnb-{ran.id}" for ran in rans}
    assert edge.gateway.waiting == 0
