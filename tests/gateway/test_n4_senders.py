"""The addresses from which a gateway accepts the messages of UPFs, and none is learnt."""

from pathlib import Path

import pytest

from gateway.n4 import senders as module
from gateway.n4.senders import Senders
from schemas.config.reading import UpfConfig
from tests.eventing import brokers
from tests.gateway import n4_edge
from tests.gateway.n4_edge import (
    ACCEPTED,
    CORE_STAMP,
    KEY,
    UPF_STAMP,
    Edge,
    Upf,
    encode,
    node,
    report,
    report_answer,
    setup,
    stamp,
)


def _natted(edge: Edge, index: int, *addresses: str) -> None:
    """Configure the addresses of a UPF of a running gateway."""
    peer = edge.gateway._senders.all[index]  # pyright: ignore[reportPrivateUsage]
    upf = UpfConfig("10.0.0.1", addresses=addresses)
    peer.networks = Senders([upf]).all[0].networks


async def _reported(edge: Edge, upf: Upf, at: Upf, sequence: int) -> None:
    """Report from another address `at`; the response must go there."""
    before = len(edge.events)
    at.send(report(sequence))
    events = await edge.until(before + 1)
    assert events[-1].partitionkey == KEY
    await edge.ask(upf, report_answer(sequence), None)
    assert await at.heard(1) == [report_answer(sequence)]


@pytest.mark.parametrize("source", ["127.0.0.7", "127.0.0.0/29"])
async def test_reports_from_another_address_are_accepted_and_answered_there(
    tmp_path: Path, source: str
) -> None:
    """A UPF behind NAT, or a pod of Kubernetes behind a service."""
    async with n4_edge.running(tmp_path, nodes=["10.0.0.1"]) as edge:
        _natted(edge, 0, source)
        (upf,) = edge.upfs
        await upf.associated()
        edge.events.clear()
        await _reported(edge, upf, await edge.upf("10.0.0.1", "127.0.0.7"), 5)
        assert edge.gateway.counters.unknown_source == 0


async def test_no_address_is_learnt_from_a_message(tmp_path: Path) -> None:
    """A Node ID proves nothing: anyone can send it."""
    async with n4_edge.running(tmp_path, nodes=["10.0.0.1"]) as edge:
        other = await edge.upf("10.0.0.1", "127.0.0.9")
        other.send(setup("10.0.0.1", UPF_STAMP, 1))
        other.send(report(2))
        await brokers.until(lambda: edge.gateway.counters.unknown_source == 2)
        await edge.settled()
        assert (edge.events, other.got) == ([], [])


async def test_reports_of_two_upfs_behind_one_address(tmp_path: Path) -> None:
    """With the same sequence number: each belongs to its session."""
    async with n4_edge.running(tmp_path) as edge:
        for index in (0, 1):
            _natted(edge, index, "127.0.0.8")
        first, second = edge.upfs
        nat = [await edge.upf("", "127.0.0.8") for _ in "ab"]
        other = n4_edge.SEID + 1
        nat[0].send(report(5))
        nat[1].send(report(5, other))
        one, two = sorted(await edge.until(2), key=lambda event: event.partitionkey)
        assert one.partitionkey != two.partitionkey
        await edge.ask(second, report_answer(5), None, two.partitionkey)
        await edge.ask(first, report_answer(5), None, one.partitionkey)
        assert await nat[0].heard(1) == [report_answer(5)]
        assert await nat[1].heard(1) == [report_answer(5)]
        await edge.settled()
        assert [len(upf.got) for upf in nat] == [1, 1]


async def test_heartbeats_of_two_upfs_behind_one_address(tmp_path: Path) -> None:
    """A heartbeat has no Node ID; the Recovery Time Stamp tells them apart."""
    async with n4_edge.running(tmp_path) as edge:
        for index, upf in enumerate(edge.upfs):
            _natted(edge, index, "127.0.0.8")
            await edge.ask(upf, setup("127.0.0.1", CORE_STAMP + index), 1, upf.key)
            (asked,) = await upf.next()
            ies = (node(upf.node_id), {"Cause": ACCEPTED}, stamp(UPF_STAMP + index))
            upf.answer(asked, *ies)
        await edge.until(2)
        nat = await edge.upf("", "127.0.0.8")
        nat.send(encode("HeartbeatRequest", [stamp(UPF_STAMP + 1)], 4))
        (answer,) = await nat.next()
        assert answer.recovery_time_stamp == CORE_STAMP + 1
        nat.send(encode("HeartbeatRequest", [stamp(UPF_STAMP + 9)], 5))
        await edge.settled()
        assert nat.got == []


@pytest.mark.parametrize(
    ("upf", "accepted", "refused"),
    [
        (UpfConfig("10.0.0.1"), ["10.0.0.1", "::ffff:10.0.0.1"], ["10.0.0.2", "::1"]),
        (UpfConfig("upf.example"), [], ["10.0.0.1"]),
        (
            UpfConfig("10.0.0.1", addresses=("10.8.0.0/24", "2001:db8::7")),
            ["10.8.0.9", "2001:db8::7", "2001:db8::7%eth0"],
            ["10.0.0.1", "2001:db8::8"],
        ),
    ],
)
def test_what_is_configured_is_accepted(
    monkeypatch: pytest.MonkeyPatch, upf: UpfConfig, accepted: list[str], refused: list[str]
) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 2)
    senders = Senders([upf])
    (peer,) = senders.all
    for _ in range(2):
        for host in accepted:
            assert senders.accept((host, 4711)) == (peer,)
        for host in refused:
            assert senders.accept((host, 8805)) == ()
    senders.locate(peer, ("10.7.7.7", 8805))
    assert senders.accept(("10.7.7.7", 1)) == (peer,), "it answers requests from there"
    senders.locate(peer, ("10.7.7.8", 8805))
    assert senders.accept(("10.7.7.7", 1)) == (), "its host has moved"
