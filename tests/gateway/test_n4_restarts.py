"""The end of requests to a UPF that has restarted, and UPFs that have lost their association."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import structs

from gateway.n4 import path as module
from gateway.n4.incarnation import MAX_FORMER, Incarnation
from schemas.cloudevents import EventType
from schemas.identity import index_seid
from tests.gateway import n4_edge
from tests.gateway.n4_edge import (
    ACCEPTED,
    CORE_STAMP,
    KEY,
    QUICK,
    SEID,
    UPF_STAMP,
    Edge,
    Upf,
    deletion,
    encode,
    node,
    report,
    report_answer,
    setup,
    stamp,
)

ONE = ["10.0.0.1"]
SLOW = structs.replace(QUICK, t1=5.0, max_requests=1)
AFTER = UPF_STAMP + 7


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path, SLOW, ONE) as edge:
        yield edge


def heartbeat(value: int, sequence: int = 900) -> bytes:
    return encode("HeartbeatRequest", [stamp(value)], sequence)


def ended(edge: Edge) -> list[tuple[str, int | None, int | None]]:
    found = [event for event in edge.events if event.type == EventType.PFCP_ENDED]
    return [(event.partitionkey, event.sequence, event.incarnation) for event in found]


async def asked(edge: Edge, upf: Upf, number: int, seid: int = SEID, **more: int) -> None:
    await edge.ask(upf, deletion(number), number, index_seid(seid), **more)


@pytest.mark.parametrize("learnt", ["heartbeat", "association"])
async def test_what_is_pending_ends_with_a_restart(edge: Edge, learnt: str) -> None:
    """TS 23.527 4.3: the old SEIDs may be those of other sessions. One request was sent, and one
    waits behind it; none of them is sent to the next incarnation."""
    (upf,) = edge.upfs
    await upf.associated()
    await asked(edge, upf, 1, incarnation=UPF_STAMP)
    await asked(edge, upf, 2, SEID + 1, incarnation=UPF_STAMP)
    await upf.next()
    before = len(edge.events)
    if learnt == "heartbeat":
        await upf.restarted(AFTER)
    else:
        await edge.ask(upf, setup("127.0.0.1", CORE_STAMP), 3, upf.key)
        (request,) = await upf.next()
        upf.answer(request, node(upf.node_id), {"Cause": ACCEPTED}, stamp(AFTER))
    await edge.until(before + (2 if learnt == "heartbeat" else 3))
    assert sorted(ended(edge)) == [(KEY, 1, AFTER), (index_seid(SEID + 1), 2, AFTER)]
    await asked(edge, upf, 3, incarnation=AFTER)
    (peek,) = [p for p in await upf.next() if p.message != "HeartbeatResponse"] or (
        await upf.next()
    )
    assert peek.seid == 3, "a request for the new incarnation is sent"
    assert edge.gateway.counters.ended == 2


async def test_a_late_request_for_the_incarnation_before(edge: Edge) -> None:
    """It was decided before the restart, or is redelivered by a worker that died."""
    (upf,) = edge.upfs
    await upf.associated()
    await upf.restarted(AFTER)
    await edge.path("10.0.0.1", "up")
    await asked(edge, upf, 1, incarnation=UPF_STAMP)
    await edge.settled()
    assert ended(edge) == [(KEY, 1, AFTER)]
    assert [octets for octets in upf.got if octets[1] >= 50] == []


async def test_a_request_shows_the_gateway_the_incarnation(tmp_path: Path) -> None:
    """A gateway that has just started may know of no restart: the core does."""
    async with n4_edge.running(tmp_path, QUICK, ONE) as edge:
        (upf,) = edge.upfs
        await asked(edge, upf, 1, incarnation=AFTER)
        (peek,) = await upf.next()
        upf.answer(peek, {"Cause": ACCEPTED})
        await edge.until(1)
        await asked(edge, upf, 2, SEID + 1, incarnation=UPF_STAMP)
        await edge.until(2)
        assert ended(edge) == [(index_seid(SEID + 1), 2, AFTER)]
        await asked(edge, upf, 3, SEID + 2)
        assert (await upf.next())[0].seid == 3, "a request for any incarnation"


async def test_a_gateway_that_missed_a_restart_asks_the_upf(tmp_path: Path) -> None:
    """The UPF's clock was set back, so its time stamp does not show that it is the later one. The
    request is not sent before a heartbeat has shown it, and not ended again and again after."""
    async with n4_edge.running(tmp_path, structs.replace(QUICK, heartbeat=3600.0), ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        await asked(edge, upf, 1, incarnation=UPF_STAMP - 9)
        await _beat(upf, UPF_STAMP - 9)
        await edge.path("10.0.0.1", "up")
        assert ended(edge) == [(KEY, 1, UPF_STAMP)]
        await asked(edge, upf, 2, incarnation=UPF_STAMP - 9)
        assert (await upf.next())[-1].seid == 2
        assert len(ended(edge)) == 1


async def test_requests_of_the_node_do_not_end(edge: Edge) -> None:
    (upf,) = edge.upfs
    await upf.associated()
    await edge.ask(upf, setup("127.0.0.1", CORE_STAMP), 2, upf.key)
    (request,) = await upf.next()
    upf.send(heartbeat(AFTER))
    await upf.next()
    before = len(edge.events)
    upf.answer(request, node(upf.node_id), {"Cause": ACCEPTED}, stamp(AFTER))
    events = await edge.until(before + 1)
    assert (events[-1].type, events[-1].sequence) == (EventType.PFCP_UPLINK, 2)
    assert ended(edge) == []


async def test_the_next_incarnation_may_send_the_octets_of_the_one_before(edge: Edge) -> None:
    """A restored session has its SEID at the core again, and the sequence numbers begin again: a
    report is no copy of one before the restart. Its UE would not be paged."""
    (upf,) = edge.upfs
    await upf.associated()
    before = len(edge.events)
    for count, upf_stamp in enumerate((UPF_STAMP, AFTER), 1):
        await asyncio.sleep(module.VERIFY_PAUSE)
        await upf.restarted(upf_stamp)
        await edge.path("10.0.0.1", *["up"] * count)
        for _ in range(2):
            upf.send(report(1))
        await edge.until(before + count)
        await edge.settled()
        assert len(edge.events) == before + count, "a repeated report is published once"
        await edge.ask(upf, report_answer(1), None)
        assert await upf.heard(1) == [report_answer(1)]
        upf.got.clear()


def test_incarnations() -> None:
    found = Incarnation()
    assert not found.is_over(5)
    assert found.is_later(5)
    assert not found.begin(5), "the first one is no restart"
    assert not found.begin(5)
    assert (found.is_over(4), found.is_over(5), found.is_over(6)) == (True, False, False)
    assert found.begin(3), "its clock was set back"
    assert (found.is_over(5), found.is_later(5), found.is_later(4)) == (True, False, True)
    assert found.begin(0xFFFF_FFF0)
    assert found.is_later(0x10), "they count modulo 2**32"
    for stamp_ in range(MAX_FORMER + 3):
        found.begin(0x100 + stamp_)
    assert not found.begin(0x100 + MAX_FORMER + 2)


# A UPF that answers heartbeats, but no requests about sessions

DEAF = structs.replace(QUICK, heartbeat=3600.0)


async def _beat(upf: Upf, value: int = UPF_STAMP) -> None:
    """Answer the next heartbeat, and nothing before it."""
    (peek,) = await upf.next()
    while peek.message != "HeartbeatRequest":
        (peek,) = await upf.next()
    upf.answer(peek, stamp(value))


async def test_a_upf_that_ignores_sessions_is_reported(tmp_path: Path) -> None:
    """It has ended the association without a restart: only a new association helps."""
    async with n4_edge.running(tmp_path, DEAF, ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        await asked(edge, upf, 1)
        await _beat(upf)
        told = await edge.path("10.0.0.1", "up", "ignoring")
        assert told[1].recovery_time_stamp == UPF_STAMP
        await asked(edge, upf, 2)
        await edge.until(3)
        assert edge.events[-1].type == EventType.PFCP_UNANSWERED
        await edge.settled()
        assert [octets for octets in upf.got if octets[1] == 1] == [], "after a pause"
        await asked(edge, upf, 3)
        (peek,) = (await upf.next(len(upf.got) + 1))[-1:]
        upf.answer(peek, {"Cause": ACCEPTED})
        await edge.path("10.0.0.1", "up", "ignoring", "up")


async def test_the_pause_between_two_reports_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IGNORED_FIRST", 0.2)
    monkeypatch.setattr(module, "IGNORED_MOST", 0.3)
    async with n4_edge.running(tmp_path, DEAF, ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        path = edge.gateway._senders.all[0].path  # pyright: ignore[reportPrivateUsage]
        pauses: list[float] = []
        for _ in range(3):
            before = len(edge.paths)
            path._ignoring_next = path._loop.time()  # pyright: ignore[reportPrivateUsage]
            path.session_unanswered(path._loop.time())  # pyright: ignore[reportPrivateUsage]
            await _beat(upf)
            while len(edge.paths) == before:
                await edge.settled()
            pauses.append(path._ignoring_pause)  # pyright: ignore[reportPrivateUsage]
        assert pauses == [0.2, 0.3, 0.3]


async def test_a_upf_that_ignores_one_session_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An association deletes all sessions (TS 29.244 6.2.6.2.2). It does not help against a UPF
    that discards the requests of one session, so the responses of others do not bring the next one
    sooner."""
    monkeypatch.setattr(module, "IGNORED_FIRST", 0.4)
    monkeypatch.setattr(module, "IGNORED_MOST", 0.8)
    async with n4_edge.running(tmp_path, DEAF, ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        path = edge.gateway._senders.all[0].path  # pyright: ignore[reportPrivateUsage]
        path.session_unanswered(path._loop.time())  # pyright: ignore[reportPrivateUsage]
        await _beat(upf)
        await edge.path("10.0.0.1", "up", "ignoring")
        path.session_answered()
        await edge.path("10.0.0.1", "up", "ignoring", "up")
        got = len(upf.got)
        path.session_unanswered(path._loop.time())  # pyright: ignore[reportPrivateUsage]
        await edge.settled()
        assert len(upf.got) == got, "no heartbeat, so no report"
        await asyncio.sleep(0.4)
        path.session_unanswered(path._loop.time())  # pyright: ignore[reportPrivateUsage]
        await _beat(upf)
        await edge.path("10.0.0.1", "up", "ignoring", "up", "ignoring")
        assert path._ignoring_pause == 0.8  # pyright: ignore[reportPrivateUsage]
        path._ignoring_next -= 1.7  # pyright: ignore[reportPrivateUsage]
        path.session_unanswered(path._loop.time())  # pyright: ignore[reportPrivateUsage]
        await _beat(upf)
        await edge.path("10.0.0.1", "up", "ignoring", "up", "ignoring", "ignoring")
        assert path._ignoring_pause == 0.4, "after a long time it is a new trouble"  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("shown", ["restarted", "down", "answers another"])
async def test_a_upf_that_does_not_ignore_sessions(tmp_path: Path, shown: str) -> None:
    async with n4_edge.running(tmp_path, DEAF, ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        await asked(edge, upf, 1)
        if shown == "answers another":
            await upf.next()
            await asked(edge, upf, 2, SEID + 1)
            found = (await upf.next(2))[-1]
            while found.seid != 2:
                (found,) = await upf.next()
            upf.answer(found, {"Cause": ACCEPTED}, seid=SEID + 1)
            await edge.until(3)
            await edge.settled()
            assert [path.state for path in edge.paths if path.state != "served"] == []
        elif shown == "restarted":
            await _beat(upf, AFTER)
            await edge.path("10.0.0.1", "up")
        else:
            await edge.path("10.0.0.1", "down")
