"""The states that a gateway reports of a UPF's path, and its heartbeats."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import structs

from gateway.n4 import path as module
from schemas.cloudevents import EventType
from schemas.config.reading import UpfConfig
from tests.eventing import brokers
from tests.gateway import n4_edge
from tests.gateway.n4_edge import (
    ACCEPTED,
    CORE_STAMP,
    QUICK,
    UPF_STAMP,
    Edge,
    Upf,
    encode,
    node,
    setup,
    stamp,
)

BEATING = structs.replace(QUICK, heartbeat=0.05)
ONE = ["10.0.0.1"]


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SERVED_FIRST", 0.02)
    monkeypatch.setattr(module, "SERVED_MOST", 0.04)


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path, nodes=ONE) as edge:
        yield edge


@pytest.fixture
async def beating(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path, BEATING, ONE) as edge:
        yield edge


def heartbeat(sequence: int, value: int) -> bytes:
    return encode("HeartbeatRequest", [stamp(value)], sequence)


async def beat(upf: Upf, value: int) -> int:
    """Answer the next heartbeat of the gateway; return its time stamp."""
    (asked,) = await upf.next()
    while asked.message != "HeartbeatRequest":
        (asked,) = await upf.next()
    upf.answer(asked, stamp(value))
    assert asked.recovery_time_stamp is not None
    return asked.recovery_time_stamp


async def test_a_heartbeat_is_answered_once_the_core_has_told_its_time_stamp(edge: Edge) -> None:
    (upf,) = edge.upfs
    upf.send(heartbeat(1, UPF_STAMP))
    upf.send(heartbeat(1, UPF_STAMP))
    await edge.settled()
    assert upf.got == []
    (asked,) = edge.events
    assert (asked.partitionkey, asked.data) == (upf.key, heartbeat(1, UPF_STAMP))
    answer = encode("HeartbeatResponse", [stamp(CORE_STAMP)], 1)
    await edge.ask(upf, answer, None, upf.key)
    assert await upf.heard(1) == [answer], "the core tells it when it is asked"
    await upf.next()
    await upf.associated()
    await upf.restarted(UPF_STAMP)
    for sequence in (2, 2, 3):
        upf.send(heartbeat(sequence, UPF_STAMP))
        (answer,) = await upf.next()
        assert (answer.message, answer.sequence) == ("HeartbeatResponse", sequence)
        assert answer.recovery_time_stamp == CORE_STAMP
    assert [event.type for event in edge.events[1:]] == [EventType.PFCP_UPLINK], "the association"


@pytest.mark.parametrize("kind", ["request", "response", "heartbeat"])
async def test_the_core_tells_its_time_stamp_in_whatever_it_sends(edge: Edge, kind: str) -> None:
    (upf,) = edge.upfs
    ies = [node("127.0.0.1"), {"Cause": ACCEPTED}, stamp(CORE_STAMP)]
    pdu = {
        "request": setup("127.0.0.1", CORE_STAMP),
        "response": encode("AssociationSetupResponse", ies, 1),
        "heartbeat": heartbeat(0, CORE_STAMP),
    }[kind]
    await edge.ask(upf, pdu, None if kind == "response" else 1, upf.key)
    await upf.next()
    upf.send(heartbeat(2, UPF_STAMP))
    await brokers.until(lambda: any(octets[1] == 2 for octets in upf.got))


async def test_up_is_told_of_each_new_time_stamp(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "VERIFY_PAUSE", 0.0)
    (upf,) = edge.upfs
    await upf.associated()
    for value in (5, 9):
        await upf.restarted(value)
        await edge.settled()
        upf.send(heartbeat(value, value))
        assert (await upf.next())[0].message == "HeartbeatResponse", "nothing new to verify"
    told = await edge.path("10.0.0.1", "up", "up")
    assert [path.recovery_time_stamp for path in told] == [5, 9]


async def test_a_heartbeat_of_before_the_restart_that_comes_late_is_asked_about(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "VERIFY_PAUSE", 0.0)
    (upf,) = edge.upfs
    await upf.associated()
    await upf.restarted(UPF_STAMP)
    await edge.path("10.0.0.1", "up")
    upf.send(heartbeat(2, UPF_STAMP - 1))
    await beat(upf, UPF_STAMP)
    await edge.settled()
    await edge.path("10.0.0.1", "up")
    upf.send(heartbeat(3, UPF_STAMP - 2))
    await beat(upf, UPF_STAMP - 2)
    told = await edge.path("10.0.0.1", "up", "up")
    assert told[1].recovery_time_stamp == UPF_STAMP - 2, "its clock was set back"


async def test_the_gateway_sends_heartbeats_and_tells_what_they_show(beating: Edge) -> None:
    (upf,) = beating.upfs
    await beating.settled()
    assert upf.got == [], "the core has told no time stamp"
    await upf.associated()
    for _ in range(3):
        assert await beat(upf, UPF_STAMP) == CORE_STAMP
    told = await beating.path("10.0.0.1", "up")
    assert told[0].recovery_time_stamp == UPF_STAMP
    await beating.path("10.0.0.1", "up", "down")
    await brokers.until(lambda: beating.gateway.counters.unanswered >= 2)
    await beating.path("10.0.0.1", "up", "down")
    upf.got.clear()
    await beat(upf, UPF_STAMP)
    await beating.path("10.0.0.1", "up", "down", "up")
    upf.got.clear()
    await beat(upf, UPF_STAMP + 7)
    told = await beating.path("10.0.0.1", "up", "down", "up", "up")
    assert told[-1].recovery_time_stamp == UPF_STAMP + 7


async def test_heartbeats_are_repeated_as_other_requests_are(beating: Edge) -> None:
    (upf,) = beating.upfs
    await upf.associated()
    heard = await upf.heard(3)
    assert heard[0] == heard[1] == heard[2]


async def test_heartbeats_wait_behind_nothing(tmp_path: Path) -> None:
    config = structs.replace(BEATING, max_requests=1, t1=5.0)
    async with n4_edge.running(tmp_path, config, ONE) as edge:
        (upf,) = edge.upfs
        await upf.associated()
        for number in range(5):
            await edge.ask(upf, n4_edge.deletion(), number)
        await beat(upf, UPF_STAMP)
        await edge.path("10.0.0.1", "up")


async def test_a_heartbeat_of_the_core_is_answered_to_it(edge: Edge) -> None:
    (upf,) = edge.upfs
    await edge.ask(upf, heartbeat(0, CORE_STAMP), 3, upf.key)
    await beat(upf, UPF_STAMP)
    (event,) = await edge.until(1)
    assert (event.partitionkey, event.sequence) == ("upf/10.0.0.1", 3)
    await edge.path("10.0.0.1", "served", "up")


async def test_each_upf_has_a_path_of_its_own(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path) as edge:
        one, other = edge.upfs
        for upf, value in ((one, 5), (other, 6)):
            await edge.ask(upf, setup("127.0.0.1", CORE_STAMP), 1, upf.key)
            await upf.next()
            await upf.restarted(value)
        for upf, value in ((one, 5), (other, 6)):
            told = await edge.path(upf.node_id, "served", "up")
            assert told[1].recovery_time_stamp == value


@pytest.mark.usefixtures("_often")
async def test_served_is_told_until_there_is_an_association(edge: Edge) -> None:
    (upf,) = edge.upfs
    await brokers.until(lambda: len(edge.paths) >= 4)
    assert {path.state for path in edge.paths} == {"served"}
    await upf.associated()
    await edge.settled()
    count = len(edge.paths)
    with pytest.raises(TimeoutError):
        await brokers.until(lambda: len(edge.paths) > count, seconds=0.2)


@pytest.mark.usefixtures("_often")
async def test_an_association_that_the_upf_requests_is_not_proved_by_it(edge: Edge) -> None:
    """Anyone can send the request with the UPF's address. The UPF's response to the request of the
    core is the proof; until then the UPF is reported as served."""
    (upf,) = edge.upfs
    ies = [node("127.0.0.1"), {"Cause": ACCEPTED}, stamp(CORE_STAMP)]
    upf.send(setup("10.0.0.1", UPF_STAMP, 1))
    await edge.ask(upf, encode("AssociationSetupResponse", ies, 1), None, upf.key)
    await upf.next()
    await edge.settled()
    count = len(edge.paths)
    await brokers.until(lambda: len(edge.paths) > count)
    await upf.associated()
    await edge.settled()
    count = len(edge.paths)
    with pytest.raises(TimeoutError):
        await brokers.until(lambda: len(edge.paths) > count, seconds=0.2)


@pytest.mark.usefixtures("_often")
async def test_an_association_setup_that_is_not_answered_is_tried_again(edge: Edge) -> None:
    """Also if it is associated: the core requests an association of a restarted UPF again."""
    (upf,) = edge.upfs
    await upf.associated(number=1)
    for number in (2, 3):
        count = len(edge.paths)
        await edge.ask(upf, setup("127.0.0.1", CORE_STAMP), number, upf.key)
        event = (await edge.until(number))[-1]
        assert (event.type, event.sequence) == (EventType.PFCP_UNANSWERED, number)
        await brokers.until(lambda count=count: len(edge.paths) > count)
    assert {path.state for path in edge.paths} == {"served"}


async def test_a_host_that_nobody_knows(tmp_path: Path) -> None:
    """It is still reported as served and looked up again; requests to it time out."""
    unknown = UpfConfig("upf.invalid")
    async with n4_edge.running(tmp_path, nodes=ONE, configured=[unknown]) as edge:
        await edge.path("upf.invalid", "served")
        (upf,) = edge.upfs
        lost = Upf(edge, "upf.invalid")
        await edge.ask(lost, setup("127.0.0.1", CORE_STAMP), 1, lost.key)
        (event,) = await edge.until(1)
        assert (event.type, event.partitionkey) == (EventType.PFCP_UNANSWERED, "upf/upf.invalid")
        assert upf.got == []
