"""Forged PFCP on N4: from strangers, from another UPF, and with the address of a UPF."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import wire
from evcore import emulated
from loadgen import Procedure, run
from loadgen.upf.config import Misbehaviour
from loadgen.upf.config import UpfConfig as Emulated
from loadgen.upf.upf import Upf
from schemas.aggregates import upf_aggregate
from tests.e2e import checks
from tests.eventing import brokers
from tests.servers import Site, free_udp_port, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STRANGER = "127.0.0.77"
VICTIM, OTHER = "127.0.0.8", "127.0.0.9"
BAD_ADDRESS = "192.0.2.66"
"""The F-TEID of the attacker."""
SESSIONS = 12
NUMBERS = 1 << 24
PACE = 2000
"""Sequence numbers that a gateway went through in a second from its start, once."""


class Victim(Upf):
    """An emulated UPF that notes the time of its first association, in seconds since 1970."""

    def __init__(self, config: Emulated) -> None:
        self.first_at = 0.0
        super().__init__(config, on_event=self._note)

    def _note(self, *_: object) -> None:
        self.first_at = self.first_at or time.time()


@asynccontextmanager
async def core(folder: Path, ues: int) -> AsyncGenerator[tuple[Site, list[Victim]]]:
    """Run a core with two UPFs."""
    tables = tuple(replace(upf, port=free_udp_port()) for upf in emulated.tables(2))
    upfs = [
        Victim(Emulated(node_id=upf.node_id, host=upf.node_id, port=upf.port)) for upf in tables
    ]
    for upf in upfs:
        await upf.start()
    try:
        networks = (emulated.DATA_NETWORK,)
        async with site(folder, ues, upfs=tables, data_networks=networks) as it:
            await checks.upfs_associated(it.data, len(tables))
            yield it, upfs
    finally:
        for upf in upfs:
            upf.close()
    assert [one.text for upf in upfs for one in upf.violations] == []


@contextlib.contextmanager
def sender(host: str) -> Generator[socket.socket]:
    """Open a socket of an attacker. With the address of a UPF, it stands for a spoofed address: no
    answer reaches the attacker where a real one listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((host, 0))
        made.setblocking(False)
        yield made


def encode(message: str, *ies: dict[str, Any], sequence: int = 1, **more: Any) -> bytes:
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": list(ies), **more})


def claims(stamp: int) -> list[bytes]:
    """Return every message that says that the UPF `VICTIM` is not what it was."""
    node, other = {"Node ID": {"ipv4": VICTIM}}, {"Recovery Time Stamp": stamp + 100}
    same = {"Recovery Time Stamp": stamp}
    features = {"UP Function Features": ["FTUP"]}
    full = {"Load Control Information": [{"Sequence Number": 99}, {"Metric": 100}]}
    accepted = {"Cause": 1}
    f_seids = [{"F-SEID": {"seid": seid, "ipv4": VICTIM}} for seid in range(1, SESSIONS + 1)]
    return [
        encode("AssociationReleaseRequest", node),
        encode("AssociationSetupRequest", node, other, features),
        encode("AssociationSetupRequest", node, same, features, sequence=2),
        encode("AssociationSetupRequest", node, same, sequence=3),
        encode("AssociationUpdateRequest", node, {"UP Function Features": ["BUCP"]}),
        encode("HeartbeatRequest", other),
        encode("HeartbeatResponse", other),
        encode("AssociationSetupResponse", node, accepted, other, features),
        encode("AssociationReleaseResponse", node, accepted),
        encode("SessionDeletionResponse", accepted, full, seid=1),
        encode("SessionReportRequest", {"Report Type": ["DLDR"]}, full, seid=1),
        encode("VersionNotSupportedResponse"),
        *(
            encode("SessionEstablishmentResponse", node, accepted, f_seid, seid=1)
            for f_seid in f_seids
        ),
    ]


def sessions_at(upfs: list[Victim]) -> list[set[int]]:
    return [{view.up_seid for view in upf.sessions.values()} for upf in upfs]


@pytest.mark.parametrize("host", [STRANGER, OTHER, VICTIM])
async def test_no_forged_message_ends_an_association_or_a_session(
    tmp_path: Path, host: str
) -> None:
    """The other UPF also claims its own release, by which the victim must not lose anything."""
    async with core(tmp_path, SESSIONS) as (it, upfs):
        register = (Procedure.REGISTER, Procedure.SESSION)
        report = await run(it.load(programme=register))
        assert report.ok, checks.failed(report)
        await it.settled()
        before = sessions_at(upfs)
        established = [upf.counts.received["SessionEstablishmentRequest"] for upf in upfs]
        setups = [upf.counts.received["AssociationSetupRequest"] for upf in upfs]
        to = "127.0.0.1", it.core.config.n4.port
        with sender(host) as attacker:
            for _ in range(4):
                for octets in claims(upfs[0].recovery):
                    attacker.sendto(octets, to)
                await asyncio.sleep(0.5)
        await it.settled()
        await asyncio.sleep(1.5)  # the time in which a UPF must answer
        await it.settled()
        assert sessions_at(upfs) == before, "a session was deleted or made again"
        now = [upf.counts.received["SessionEstablishmentRequest"] for upf in upfs]
        assert now == established
        assert [upf.counts.received["AssociationSetupRequest"] for upf in upfs] == setups
        states = await upf_states(it)
        for state in states:
            assert (state.associated, state.reachable, state.trouble) == (True, True, "")
            assert (state.load, state.leftovers, state.wake_at) == (0, (), 0)
        assert states[0].recovery_time_stamp == upfs[0].recovery
    await checks.verified(it.data)


async def upf_states(it: Site) -> list[Any]:
    """Return the states of the two UPFs."""
    names = [upf_aggregate(VICTIM), upf_aggregate(OTHER)]
    async with checks.opened(it.data.root) as access:
        return [one.state for one in await access.log.load(names)]


def forged(sequence: int) -> bytes:
    """Return a SESSION ESTABLISHMENT RESPONSE for any request with a number."""
    f_teid = {"F-TEID": {"teid": 0xBAD, "ipv4": BAD_ADDRESS}}
    ies = [
        {"Node ID": {"ipv4": VICTIM}},
        {"Cause": 1},
        {"F-SEID": {"seid": 0xBAD, "ipv4": VICTIM}},
        {"Created PDR": [{"PDR ID": 1}, f_teid]},
    ]
    return encode("SessionEstablishmentResponse", *ies, sequence=sequence, seid=1)


async def spray(attacker: socket.socket, to: tuple[str, int], numbers: range) -> None:
    """Send a forged response for each of some numbers, and for random ones, again and again."""
    octets = forged(0)
    head, tail = octets[:12], octets[15:]
    while True:
        for number in numbers:
            guesses = number % NUMBERS, int.from_bytes(os.urandom(3), "big")
            for guess in guesses[: 1 + (number % 4 == 0)]:
                with contextlib.suppress(BlockingIOError):
                    attacker.sendto(head + guess.to_bytes(3, "big") + tail, to)
            if number % 50 == 0:
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("host", [STRANGER, VICTIM])
async def test_sprayed_responses_never_hit_a_session(tmp_path: Path, host: str) -> None:
    """The attacker sends with the UPF's address before the UPF answers, and tries the numbers that
    a gateway has in the first seconds if they are made from the time of its start."""
    loop = asyncio.get_running_loop()
    async with core(tmp_path, SESSIONS) as (it, upfs):
        started = int(upfs[0].first_at)
        numbers = range((started - 2) * PACE, (started + 1) * PACE + 200)
        for upf in upfs:
            slow = Misbehaviour(kind="delay", seconds=0.4, message="SessionEstablishmentRequest")
            upf.misbehave(slow)
        to = "127.0.0.1", it.core.config.n4.port
        with sender(host) as attacker:
            spraying = loop.create_task(spray(attacker, to, numbers))
            report = await run(it.load(programme=(Procedure.REGISTER, Procedure.SESSION)))
            spraying.cancel()
        assert report.ok, checks.failed(report)
        await it.settled()
        ues = await checks.ues(it.data)
        tunnels = [one.uplink for ue in ues.values() for one in ue.sessions if one.uplink]
        assert len(tunnels) == SESSIONS
        assert {one.address for one in tunnels} <= {VICTIM, OTHER}
        seids = {view.up_seid for upf in upfs for view in upf.sessions.values()}
        assert {one.n4.up_seid for ue in ues.values() for one in ue.sessions} == seids
    await checks.verified(it.data)


async def test_a_real_restart_during_an_attack(tmp_path: Path) -> None:
    """The attacker claims restarts and releases all the time. The one that the UPF confirms has its
    effect soon: the sessions are there again."""
    async with core(tmp_path, SESSIONS) as (it, upfs):
        report = await run(it.load(programme=(Procedure.REGISTER, Procedure.SESSION)))
        assert report.ok, checks.failed(report)
        await it.settled()
        before = [len(upf.sessions) for upf in upfs]
        to = "127.0.0.1", it.core.config.n4.port
        with sender(VICTIM) as attacker:
            attacking = asyncio.create_task(claim_without_end(attacker, to, upfs[0].recovery))
            upfs[0].restart()
            await brokers.until(lambda: [len(upf.sessions) for upf in upfs] == before, 30)
            attacking.cancel()
        await it.settled()
        states = await upf_states(it)
        assert all(state.associated and state.reachable for state in states)
        assert states[0].recovery_time_stamp == upfs[0].recovery
        await asyncio.sleep(1.5)
        await it.settled()
        at_core = {
            one.n4.up_seid for ue in (await checks.ues(it.data)).values() for one in ue.sessions
        }
        assert at_core == set.union(*sessions_at(upfs))
    await checks.verified(it.data)


async def claim_without_end(attacker: socket.socket, to: tuple[str, int], stamp: int) -> None:
    """Send every claim again and again, with another time stamp each time."""
    while True:
        stamp += 7
        for octets in claims(stamp):
            with contextlib.suppress(BlockingIOError):
                attacker.sendto(octets, to)
            await asyncio.sleep(0.005)
