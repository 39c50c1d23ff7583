"""JetStream or the workers do not keep up: gNBs are slowed, get OVERLOAD START, lose nothing."""

import asyncio
from pathlib import Path

import msgspec
import pytest

import wire
from eventing import subjects
from eventing.stats import Load, Stats
from gateway.n2 import gateway as module
from gateway.n2 import indications, pressure, room
from gateway.n2.peer import GnbPeer
from gateway.n2.shares import WaitingRoom
from tests.eventing.brokers import until
from tests.gateway import edge as edges
from tests.gateway.edge import Edge, Ran
from tests.gateway.test_uplink import request, suci
from transport import Association, BufferFull, Limits

OVERLOAD = ("OverloadStart", "OverloadStop")


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "OVERLOAD_AFTER", 0.05)
    monkeypatch.setattr(pressure, "DEPTH_POLL", 0.02)
    monkeypatch.setattr(indications, "PERIOD", 0.02)


pytestmark = pytest.mark.usefixtures("_soon")


def names(ran: Ran) -> list[str]:
    """Return the PDUs that a gNB has received since its NG Setup."""
    return [wire.ngap_peek(message.payload).message for message in ran.heard.messages[1:]]


async def ids_are_stored(edge: Edge, sent: list[bytes]) -> None:
    """Assert that JetStream has each event, with one id for all its copies."""

    async def all_there() -> bool:
        by_id = {event.id: event.data for event in await edge.stored()}
        found = sorted(by_id.values())
        return [data for data in found if data in set(sent)] == sorted(sent)

    await until(all_there)


async def test_a_broker_that_stands_still(tmp_path: Path) -> None:
    async with edges.running(tmp_path, bound=8) as edge:
        ran, other = await edge.gnb(), await edge.gnb()
        sent = [ran.initial(request(suci()), ran_id) for ran_id in range(50)]
        with edge.bus.frozen():
            for pdu in sent:
                ran.send(pdu)
            for told in (ran, other):
                (start,) = await told.messages(*OVERLOAD)
                assert start["message"] == "OverloadStart"
            assert edge.gateway.waiting == 8, "and what is not read waits with the gNB"
        for told in (ran, other):
            await told.heard.got(3)
            assert names(told) == ["OverloadStart", "OverloadStop"]
        await ids_are_stored(edge, sent)
        assert edge.gateway.counters.overloads >= 1


async def test_the_back_pressure_reaches_the_gnb(tmp_path: Path) -> None:
    narrow = Limits(send_buffer=4096, receive_window=4096, max_message=2048)
    async with edges.running(tmp_path, bound=4, limits=narrow) as edge:
        ran = await edge.gnb(limits=narrow)
        pdus = [ran.initial(request(suci()), ran_id) for ran_id in range(1000)]
        sent: list[bytes] = []
        with edge.bus.frozen():
            full = False
            while not full:
                try:
                    ran.send(pdus[len(sent)])
                except BufferFull:
                    full = True
                else:
                    sent.append(pdus[len(sent)])
                    await asyncio.sleep(0)
        await ids_are_stored(edge, sent)
        await until(lambda: bool(ran.heard.writable_))
        ran.send(pdus[-1])
        await ids_are_stored(edge, [*sent, pdus[-1]])


async def test_a_short_stop_is_nobodys_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pressure, "OVERLOAD_AFTER", 60.0)
    async with edges.running(tmp_path, bound=4) as edge:
        ran = await edge.gnb()
        sent = [ran.initial(request(suci()), ran_id) for ran_id in range(20)]
        with edge.bus.frozen():
            for pdu in sent:
                ran.send(pdu)
            await until(lambda: edge.gateway.waiting >= 4)
        await ids_are_stored(edge, sent)
        assert names(ran) == []
        assert edge.gateway.counters.overloads == 0


async def test_a_stream_that_is_full(tmp_path: Path) -> None:
    """JetStream works, but no worker pulls events."""
    async with edges.running(tmp_path, max_bytes=20_000) as edge:
        ran = await edge.gnb()
        sent = [ran.initial(request(suci()), ran_id) for ran_id in range(100)]
        for pdu in sent:
            ran.send(pdu)
        (start,) = await ran.messages(*OVERLOAD)
        assert start["message"] == "OverloadStart"
        late = ran.initial(request(suci()), 1000)
        ran.send(late)
        js = edge.core.jetstream()
        assert sorted(e.data for e in await edge.stored() if e.data in set(sent)) == sorted(sent)
        await js.purge_stream("EVCORE")  # a worker has processed them
        await ran.heard.got(3)
        assert names(ran) == ["OverloadStart", "OverloadStop"]
        await ids_are_stored(edge, [late])


async def test_a_broker_that_stores_nothing_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events are far fewer than may wait, but each UE waits in vain."""
    monkeypatch.setattr(room, "STUCK", 0.3)
    async with edges.running(tmp_path) as edge:
        ran = await edge.gnb()
        sent = [ran.initial(request(suci()), ran_id) for ran_id in range(3)]
        with edge.bus.frozen():
            for pdu in sent:
                ran.send(pdu)
            await ran.messages("OverloadStart")
            assert reductions(ran) == [None]
        await ran.messages("OverloadStop")
        await ids_are_stored(edge, sent)


async def test_a_gnb_that_comes_during_an_overload_is_told_too(tmp_path: Path) -> None:
    async with edges.running(tmp_path, max_bytes=20_000) as edge:
        ran, late = await edge.gnb(), await edge.ran()
        setup = await late.sent(edges.ngap_gnb.ng_setup_request(late.config))
        for ran_id in range(100):
            ran.send(ran.initial(request(suci()), ran_id))
        await ran.messages(*OVERLOAD)
        await edge.answer(setup, edges.ng_setup_response())
        await late.heard.got(2)
        assert names(late) == ["OverloadStart"]


async def test_a_broker_that_dies_and_comes_back(tmp_path: Path) -> None:
    async with edges.running(tmp_path, bound=16) as edge:
        ran = await edge.gnb()
        sent = [ran.initial(request(suci()), ran_id) for ran_id in range(200)]
        for pdu in sent[:20]:
            ran.send(pdu)
        await edge.bus.end(kill=True)
        for pdu in sent[20:]:
            ran.send(pdu)
        await ran.messages(*OVERLOAD)
        await edge.bus.start()
        await until(lambda: edge.core.is_connected)
        await ids_are_stored(edge, sent)
        await until(lambda: names(ran)[-1] == "OverloadStop")


async def test_a_gnb_that_takes_nothing_is_told_of_the_end_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without OVERLOAD STOP a gNB would reject its UEs for ever (TS 38.413 8.7.8)."""
    peers: list[GnbPeer] = []

    class Kept(GnbPeer):
        def __init__(self, identifier: str, association: Association, room: WaitingRoom) -> None:
            super().__init__(identifier, association, room)
            peers.append(self)

    def full(*_: object) -> None:
        raise BufferFull("test")

    monkeypatch.setattr(module, "GnbPeer", Kept)
    async with edges.running(tmp_path, bound=8) as edge:
        ran = await edge.gnb()
        (peer,) = peers
        with monkeypatch.context() as patched:
            with edge.bus.frozen():
                for ran_id in range(50):
                    ran.send(ran.initial(request(suci()), ran_id))
                await ran.messages(*OVERLOAD)
                patched.setattr(peer.association, "send", full)
                start = wire.ngap_encode({"message": "OverloadStart", "ies": []})
                peer.downlink.extend([(0, start)] * indications.MAX_DOWNLINK)
            await until(lambda: not peer.reduction)
            assert len(peer.downlink) == indications.MAX_DOWNLINK + 1
        edge.gateway.writable(peer.association)
        await until(lambda: names(ran)[-1] == "OverloadStop")


class Workers:
    """A worker of the core, which reports its load again and again."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self.load = Load(capacity=100.0)
        self._task = asyncio.create_task(self._report())

    async def _report(self) -> None:
        while True:
            stats = Stats("worker", "1", 1, load=self.load)
            await self._edge.core.publish(subjects.stats("worker"), msgspec.json.encode(stats))
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._task.cancel()


def reductions(ran: Ran) -> list[int | None]:
    """Return the reductions that a gNB was asked for; None without a percentage, 0 to stop."""
    found: list[int | None] = []
    for message in ran.heard.messages:
        tree = wire.ngap_decode(message.payload)
        ies = {name: value for ie in tree["ies"] for name, value in ie.items()}
        if tree["message"] == "OverloadStart":
            found.append(ies.get("AMFTrafficLoadReductionIndication"))
        elif tree["message"] == "OverloadStop":
            found.append(0)
    return found


async def test_workers_that_do_not_keep_up(tmp_path: Path) -> None:
    """GNBs get a percentage while requests wait too long, also those that come meanwhile."""
    async with edges.running(tmp_path, after=0.5) as edge:
        ran = await edge.gnb()
        workers = Workers(edge)
        workers.load.requests = 200.0
        await ran.messages("OverloadStart")
        late = await edge.gnb()
        await late.messages("OverloadStart")
        for told in (ran, late):
            assert all(percent and 1 <= percent <= 99 for percent in reductions(told))
        workers.load.requests = 0.0
        for told in (ran, late):
            await told.messages("OverloadStop")
        workers.stop()


async def test_a_broker_that_stands_still_during_an_overload_of_workers(tmp_path: Path) -> None:
    """While nothing is read, gNBs are asked for all; then for the percentage again."""
    async with edges.running(tmp_path, after=0.5, bound=8) as edge:
        ran = await edge.gnb()
        workers = Workers(edge)
        workers.load.requests = 200.0
        await ran.messages("OverloadStart")
        with edge.bus.frozen():
            for ran_id in range(50):
                ran.send(ran.initial(request(suci()), ran_id))
            await ran.heard.until(lambda: None in reductions(ran))
        await ran.heard.until(lambda: reductions(ran)[-1] is not None)
        assert 1 <= (reductions(ran)[-1] or 0) <= 99
        workers.stop()
