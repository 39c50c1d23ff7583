"""Floods of one gNB: UEs at other gNBs are served as before, and nothing stays behind."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import wire
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from loadgen import Population, Procedure, run
from loadgen.gnb import messages as ngap
from loadgen.gnb.messages import GnbConfig
from loadgen.report.report import Report
from schemas.config.strangers import StrangerPolicy
from tests.e2e import checks
from tests.hostile.flooder import DRAWN, RAN_ID, Flood, Result
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LOOSE = 5.0
"""The bound of the p99 in seconds where the machine has other work."""
CELL = ngap.location(GnbConfig("hostile", 0xBAD), "001-01")


def registration(identity: bytes) -> bytes:
    """Return a REGISTRATION REQUEST without a security context (TS 24.501 8.2.6)."""
    length = len(identity).to_bytes(2)
    return b"\x7e\x00\x41\x79" + length + identity + b"\x2e\x02\xf0\xf0"


def initial(nas: bytes, s_tmsi: tuple[int, int, int] | None = None) -> str:
    pdu = ngap.initial_ue_message(RAN_ID, nas, CELL, "mo-Signalling", s_tmsi, context=True)
    assert RAN_ID.to_bytes(4) in pdu
    return pdu.hex()


def strangers(population: Population) -> list[str]:
    """INITIAL UE MESSAGEs of UEs that the core does not know."""
    drawn = DRAWN.to_bytes(4)
    foreign = b"\xf2\x00\xf1\x10\x77\x10\x40" + drawn
    null = b"\x01\x00\xf1\x10\xf0\xff\x00\x00" + bytes.fromhex("9988776655")
    key = next(one for one in population.home_keys if one.profile == "A")
    concealed = wire.suci_conceal(
        "001",
        "01",
        "9988776655",
        profile="A",
        public_key=bytes.fromhex(key.public_key),
        key_id=key.key_id,
    )
    return [
        initial(registration(foreign)),
        initial(registration(concealed)),
        initial(registration(foreign)),
        initial(registration(null)),
        initial(registration(foreign)),
        initial(b"\x7e\x00" + drawn + b"\x00" * 7),
    ]


@asynccontextmanager
async def flooding(folder: Path, flood: Flood) -> AsyncGenerator[list[Result]]:
    """A flood during a block. Yields a list that has its result after the block."""
    file = folder / "flood.json"
    file.write_bytes(msgspec.json.encode(flood))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hostile.flooder", str(file)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    found: list[Result] = []
    try:
        assert (await process.stdout.readline()).strip() == b"flooding"
        yield found
        assert (await process.stdout.readline()).strip() == b"done"
        found.append(msgspec.json.decode(await process.stdout.readline(), type=Result))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def flood_of(it: Site, pdus: list[str], rate: float, seconds: float, linger: float) -> Flood:
    n2 = it.core.config.n2
    return Flood(n2.port, n2.udp_port, pdus, rate, seconds, linger=linger)


async def registrations(it: Site, count: int, rate: float) -> Report:
    """Register UEs at two other gNBs."""
    load = it.load(programme=(Procedure.REGISTER,), rate=rate, repeat=1, drain=15.0)
    return await run(replace(load, duration=count / rate))


def p99(report: Report) -> float:
    latency = report.procedures[Procedure.REGISTER].latency
    assert latency is not None
    return latency.p99


def unknown() -> list[str]:
    """Messages about UEs that the core does not have, and about the gNB itself."""
    ids = ngap.ue_ids(0x01_00_00_00_00 | DRAWN, RAN_ID)
    cause = {"radioNetwork": "unspecified"}
    reset = {"ResetType": {"nG-Interface": "reset-all"}}
    return [
        ngap.uplink_nas_transport(ids, b"\x7e\x02" + bytes(20), CELL).hex(),
        ngap.ue_context_release_request(ids, "user-inactivity").hex(),
        ngap.error_indication(0x01_00_00_00_00 | DRAWN, RAN_ID, cause).hex(),
        ngap.uplink_nas_transport(ids, b"\x7e\x00\x57" + bytes(18), CELL).hex(),
        ngap.ran_configuration_update(GnbConfig("hostile", 0xBAD)).hex(),
        ngap.encode("NGReset", {"Cause": cause}, reset).hex(),
    ]


def pdus(kind: str, it: Site) -> list[str]:
    return strangers(it.population) if kind == "strangers" else unknown()


KINDS = pytest.mark.parametrize("kind", ["strangers", "unknown"])


@KINDS
async def test_other_gnbs_are_served_during_a_flood(tmp_path: Path, kind: str) -> None:
    async with site(tmp_path, 200) as it:
        flood = flood_of(it, pdus(kind, it), 1000.0, 18.0, 30.0)
        async with flooding(tmp_path, flood) as results:
            await asyncio.sleep(3.0)
            report = await registrations(it, 150, 12.0)
        assert report.ok, checks.failed(report)
        assert p99(report) < LOOSE
        (result,) = results
        assert result.sent == 1000 * 18
        assert not result.asked, "OVERLOAD STOP ends each OVERLOAD START"
        assert report.overload_starts == 0, "the other gNBs are within their shares"
        if kind == "strangers":
            assert result.starts


@pytest.mark.long
@KINDS
async def test_a_long_flood_leaves_nothing_behind(tmp_path: Path, kind: str) -> None:
    """For 60 s others are served within 2 s, and 60 s later the core is as before."""
    async with site(tmp_path, 600, strangers=StrangerPolicy(max_kept=0)) as it:
        await registrations(it, 20, 10.0)
        await it.settled()
        before = resident(it)
        flood = flood_of(it, pdus(kind, it), 1000.0, 60.0, 60.0)
        async with flooding(tmp_path, flood) as results:
            await asyncio.sleep(3.0)
            report = await registrations(it, 500, 10.0)
        ended = time.monotonic()
        assert report.ok, checks.failed(report)
        assert p99(report) < 2.0
        assert report.overload_starts == 0
        assert not results[0].asked
        await asyncio.sleep(max(0.0, ended + 60.0 - time.monotonic()))
        async with asyncio.timeout(40.0):  # timers of UEs go on; no queue stands
            await it.settled()
        assert resident(it) - before < 128.0, "MiB"
        running = [one for one in it.core.stats.workers.values() if not one.ended]
        assert len(running) <= 1
        again = await registrations(it, 60, 10.0)
        assert again.ok, checks.failed(again)
        assert p99(again) < 1.0
        async with asyncio.timeout(200.0):
            while len(await stranger_logs(it)) > 1:  # the newest aggregate stays
                # Workers remove them, and there are none while nothing is to be done. Each load is
                # an NG SETUP of its gNBs, which the gateway accepts every 5 s.
                await registrations(it, 60, 3.0)


async def stranger_logs(it: Site) -> list[str]:
    """Return the aggregates of UEs that never proved their identity."""
    async with opened(it.data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log, "ue/unidentified-")]
        return names + [name async for name, _ in all_aggregates(access.log, "ue/imsi-00101998")]


def resident(it: Site) -> float:
    """Return the resident memory of the N2 gateway and its broker in MiB."""
    pids = [one.pid for one in (it.core.gateway, it.core.broker.process) if one is not None]
    return sum(_resident(pid) for pid in pids)


def _resident(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if "VmRSS" in line) / 1024
