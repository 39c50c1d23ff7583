"""A host that takes all associations, an association that is many gNBs, and a stolen identity."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import transport
import wire
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from loadgen import run
from loadgen.gnb.messages import GnbConfig, ng_setup_request
from tests.e2e import checks
from tests.eventing.brokers import until
from tests.servers import Site, site
from tests.transport.raw_peer import INIT_ACK, RawPeer
from tests.transport.recorder import Recorder
from transport import Association, Limits, Mode, Transport, TransportError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HOSTILE, HONEST = "127.0.0.2", "127.0.0.1"


@asynccontextmanager
async def gnb(
    it: Site, host: str, limits: Limits | None = None
) -> AsyncGenerator[tuple[Transport, Recorder]]:
    """An association without NG SETUP."""
    heard = Recorder()
    n2 = it.core.config.n2
    opened_ = await transport.connect(
        Mode.USERSPACE_UDP,
        n2.host,
        n2.port,
        heard,
        udp_port=n2.udp_port,
        local_host=host,
        limits=limits or Limits(),
    )
    try:
        yield opened_, heard
    finally:
        await opened_.close()


async def gnbs(it: Site) -> list[str]:
    """Return the names of the aggregates of gNBs."""
    async with opened(it.data.root) as access:
        return [name async for name, _ in all_aggregates(access.log, "gnb/")]


def handshakes(it: Site, number: int) -> int:
    """Start associations from one socket, and leave them. Return how many got an answer."""
    n2 = it.core.config.n2
    answers = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((HOSTILE, 0))
        sock.connect((n2.host, n2.udp_port))
        sock.settimeout(0.2)
        for port in range(1024, 1024 + number):
            peer = RawPeer(port, n2.port)
            sock.send(peer.init())
            with contextlib.suppress(TimeoutError):
                while True:
                    answer = sock.recv(2048)
                    if answer[2:4] == port.to_bytes(2) and answer[12] == INIT_ACK:
                        sock.send(peer.cookie_echo(answer))
                        answers += 1
                        break
                    if answer[2:4] == port.to_bytes(2) and answer[12] == 6:
                        break
    return answers


async def test_idle_associations_of_one_host_lock_no_gnb_out(tmp_path: Path) -> None:
    """3.1: 1,024 associations without NG SETUP."""
    async with site(tmp_path, 20) as it:
        answers = await asyncio.to_thread(handshakes, it, 1_200)
        assert answers >= 1_024
        report = await run(it.load(gnbs=2))
        assert report.ok, checks.failed(report)


async def test_one_association_is_one_gnb(tmp_path: Path) -> None:
    """3.2: 2,000 NG SETUPs on one association."""
    async with site(tmp_path, 1) as it, gnb(it, HOSTILE) as (_, heard):
        with contextlib.suppress(TransportError):
            for number in range(2_000):
                heard.up_[0].send(0, ng_setup_request(GnbConfig(f"gnb-{number}", number)))
                if number % 20 == 0:
                    await asyncio.sleep(0.002)
        await heard.downs()
        await it.settled()
        assert len(await gnbs(it)) <= 4
        assert await checks.index_entries(it.data, "tai") == []
        assert await checks.index_entries(it.data, "gnb") == []
        report = await run(it.load(gnbs=1))
        assert report.ok, checks.failed(report)


async def test_one_paging_for_each_ran_node(tmp_path: Path) -> None:
    """3.2: a gNB that has changed its identity has one entry for its tracking area."""
    async with site(tmp_path, 1) as it, gnb(it, HOSTILE) as (_, heard):
        for number in range(1, 4):
            heard.up_[0].send(0, ng_setup_request(GnbConfig(f"gnb-{number}", number)))
            await heard.got(number)
        await it.settled()
        entries = await checks.index_entries(it.data, "tai")
        assert len(entries) == 1
        assert "gnb-24-3" in entries[0][0]


async def _set_up(association: Association, heard: Recorder, number: int) -> str:
    before = len(heard.messages)
    association.send(0, ng_setup_request(GnbConfig(f"gnb-{number}", number)))
    await heard.got(before + 1)
    return wire.ngap_peek(heard.messages[-1].payload).message


async def test_a_neighbour_cannot_take_the_identity_of_a_gnb(tmp_path: Path) -> None:
    """3.2: NG SETUP with the Global RAN Node ID of a gNB that is up."""
    async with site(tmp_path, 1) as it, gnb(it, HONEST) as (_, there):
        assert await _set_up(there.up_[0], there, 7) == "NGSetupResponse"
        async with gnb(it, HOSTILE) as (_, thief):
            assert await _set_up(thief.up_[0], thief, 7) == "NGSetupFailure"
        await it.settled()
        assert there.down_ == []
        assert len(await checks.index_entries(it.data, "tai")) == 1
        # The gNB itself comes back before its old association is found dead.
        async with gnb(it, HONEST) as (_, again):
            assert await _set_up(again.up_[0], again, 7) == "NGSetupResponse"
            await there.downs()


async def test_unfinished_messages_do_not_fill_the_memory(tmp_path: Path) -> None:
    """3.1: each peer sends a message that is longer than its window."""
    large = Limits(max_message=1 << 21, send_buffer=1 << 22, heartbeat=0)
    peers = 60
    async with (
        site(tmp_path, 1, setup_within=300.0) as it,
        contextlib.AsyncExitStack() as stack,
        asyncio.timeout(90),
    ):
        heards: list[Recorder] = []
        for _ in range(peers):
            _, heard = await stack.enter_async_context(gnb(it, HOSTILE, large))
            heards.append(heard)
        for heard in heards:
            heard.up_[0].send(0, bytes(1 << 20))
            await asyncio.sleep(0.02)
        # 32 MiB are less than half of what they sent.
        await until(lambda: sum(bool(heard.down_) for heard in heards) >= peers // 3)
        report = await run(it.load(gnbs=1))
        assert report.ok, checks.failed(report)
