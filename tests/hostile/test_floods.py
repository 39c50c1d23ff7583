"""Floods of one gNB: UEs at other gNBs are served as before, and nothing stays behind."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import wire
from loadgen import Population, Procedure, run
from loadgen.gnb import messages as ngap
from loadgen.gnb.messages import GnbConfig
from loadgen.report.report import Report
from tests.e2e import checks
from tests.hostile.flooder import DRAWN, RAN_ID, Flood, Result
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

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


async def test_other_gnbs_are_served_during_a_flood_of_strangers(tmp_path: Path) -> None:
    async with site(tmp_path, 200) as it:
        flood = flood_of(it, strangers(it.population), 1000.0, 18.0, 30.0)
        async with flooding(tmp_path, flood) as results:
            await asyncio.sleep(3.0)
            report = await registrations(it, 150, 12.0)
            print(report.procedures)
        assert report.ok, checks.failed(report)
        assert p99(report) < 4.0
        print(results)
        assert results[0].starts
        assert not results[0].asked
