"""Whole loads in an event loop: the driver, its links and its outputs."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import wire
from loadgen import ConfigError, LoadConfig, LoadError, Procedure, TimerValues, run
from loadgen.__main__ import main
from loadgen.load.arrivals import Mmpp, Poisson
from loadgen.load.driver import connector_of
from loadgen.load.phases import Phase, Share
from loadgen.load.subscribers import MIXED_ALGORITHMS
from loadgen.report.capture import read_capture
from tests.loadgen.server import AmfServer
from tests.loadgen.world import population
from transport import Handler, Limits, Mode, Transport, TransportError, listen
from transport.memory import MemoryNetwork, MemoryTransport

QUICK = TimerValues(t3510=0.3, t3511=0.1, t3540=0.3, ng_setup=0.2, ng_release=0.2, rrc_wait=0.05)


class Site:
    """A test AMF on an in-memory network."""

    def __init__(self, **changes: Any) -> None:
        people = population(20, schemes=("null", "A", "B"), algorithms=MIXED_ALGORITHMS)
        given: dict[str, Any] = {"population": people, "gnbs": 2, **changes}
        self.config = LoadConfig(**given)
        self.server = AmfServer(self.config.population)
        self.network = MemoryNetwork()
        self.transport: MemoryTransport | None = None
        self.attempts = 0

    async def open(self) -> None:
        self.transport = await self.network.listen("amf", 38412, self.server)

    async def connect(self, handler: Handler) -> Transport:
        self.attempts += 1
        return await self.network.connect("amf", 38412, handler)

    async def run(self) -> Any:
        await self.open()
        try:
            return await run(self.config, self.connect)
        finally:
            assert self.transport is not None
            await self.transport.close()


async def test_a_load_with_handovers_and_faults() -> None:
    quick = TimerValues(
        t3510=0.3,
        t3511=0.1,
        t3517=0.3,
        t3521=0.3,
        t3540=0.3,
        t3580=0.3,
        t3582=0.3,
        ng_release=0.3,
        handover=0.5,
        user_plane=0.3,
        recovery=0.05,
        tunnel=0.2,
    )
    handovers = (Procedure.SESSION, Procedure.XN_HANDOVER, Procedure.XN_HANDOVER)
    faulty = Phase(
        name="faulty",
        mix=(Share((Procedure.REGISTER, *handovers, Procedure.IDLE, Procedure.SERVICE_REQUEST)),),
        faults=0.03,
        repeat=3,
    )
    proof = Phase(name="proof", mix=(Share((Procedure.REGISTER, Procedure.DEREGISTER)),))
    site = Site(phases=(faulty, proof), gnbs=3, timers=quick, tacs=(1, 1))
    site.server.amf.faulty = True
    report = await site.run()
    assert sum(report.faults.values()) > 10
    assert report.procedures["deregister"].succeeded == 20
    assert report.procedures["xn-handover"].succeeded > 50
    assert report.failures == 0
    assert report.recovered > 0
    decoded = json.loads(report.to_json())
    assert decoded["faults"] == report.faults
    assert set(decoded["procedures"]["session"]) >= {"recovered", "failed"}


async def test_a_load_from_end_to_end(tmp_path: Path) -> None:
    site = Site(
        repeat=2,
        json=str(tmp_path / "out.json"),
        plot=str(tmp_path / "out.png"),
        capture=str(tmp_path / "out.jsonl"),
        progress=True,
    )
    report = await site.run()
    assert report.ok
    assert report.line.startswith("load: ues=20 procedures=120 failures=0 seconds=")
    assert {name: p.succeeded for name, p in report.procedures.items()} == {
        "register": 40,
        "idle": 40,
        "deregister": 40,
    }
    assert report.cpu_seconds > 0
    assert (report.ng_setups, report.reassociations) == (2, 0)
    assert json.loads((tmp_path / "out.json").read_text())["ues"] == 20
    assert (tmp_path / "out.png").stat().st_size > 1000
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0
    captured = read_capture(str(tmp_path / "out.jsonl"))
    assert {c.gnb for c in captured} == {"gnb-1", "gnb-2"}
    directions = [c.direction for c in captured]
    assert directions.count("sent") == report.ngap_sent
    assert directions.count("received") == report.ngap_received
    assert all(wire.ngap_check(bytes.fromhex(c.pdu)) is None for c in captured)
    assert [c.at for c in captured] == sorted(c.at for c in captured)
    assert site.server.amf.connections == {}


async def test_an_open_load() -> None:
    report = await Site(rate=200.0, repeat=None, duration=0.5, table=True).run()
    assert report.ok
    assert report.procedures["register"].count > 20
    assert report.seconds < 5


async def test_a_load_of_phases_with_sessions_and_paging() -> None:
    attach = Share((Procedure.REGISTER, Procedure.SESSION, Procedure.IDLE))
    work = (
        Share((Procedure.SERVICE_REQUEST, Procedure.IDLE), 2.0),
        Share((Procedure.PAGE, Procedure.IDLE)),
    )
    phases = (
        Phase(name="attach", mix=(attach,), arrivals=Poisson(200.0)),
        Phase(
            name="work",
            mix=work,
            arrivals=Mmpp((20.0, 200.0), (0.2, 0.1)),
            repeat=None,
            duration=0.5,
        ),
    )
    site = Site(phases=phases, table=True)
    await site.open()
    network = site.server.amf.smf
    asked: list[str] = []

    def downlink_data(address: str) -> None:
        asked.append(address)
        network.downlink(address)
        site.server.send()

    with pytest.raises(ConfigError, match="page needs downlink data"):
        await run(site.config, site.connect)
    report = await run(site.config, site.connect, downlink_data=downlink_data)
    assert report.ok, (report.procedures, report.violations)
    assert report.procedures["session"].succeeded == 20
    assert report.procedures["page"].succeeded == len(asked) == report.paged
    assert report.pagings == 2 * len(asked)
    assert len({one.address for one in report.sessions}) == len(report.sessions) == 20
    assert not any(one.active for one in report.sessions)
    assert [phase.name for phase in report.phases] == ["attach", "work"]
    assert json.loads(report.to_json())["sessions"][0]["ul"]["address"] == "127.0.0.8"
    assert site.transport is not None
    await site.transport.close()


async def test_associations_that_are_lost_come_back() -> None:
    site = Site(repeat=None, duration=2.0, timers=QUICK, failure_pause=0.05)
    await site.open()
    load = asyncio.create_task(run(site.config, site.connect))
    for _ in range(3):
        await until(lambda: len(site.server.associations) == 2)
        await until(lambda: site.server.amf.received.count("registration-complete") > 30)
        site.server.amf.received.clear()
        for association in list(site.server.associations.values()):
            association.abort()
        await until(lambda: not site.server.associations)
    await until(lambda: len(site.server.associations) == 2)
    report = await load
    assert report.reassociations == 6
    assert report.ng_setups >= 5
    assert report.violation_counts == {}
    causes = {c for p in report.procedures.values() for c in p.failures}
    assert causes <= {"connection-lost"}
    assert report.procedures["register"].succeeded > 100
    assert site.transport is not None
    await site.transport.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that other callbacks of this loop make true."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)


async def test_an_amf_that_stops_answering_leaves_procedures_unfinished() -> None:
    site = Site(repeat=None, duration=0.2, drain=0.2)
    await site.open()
    load = asyncio.create_task(run(site.config, site.connect))
    await until(lambda: "registration-complete" in site.server.amf.received)
    site.server.silent = True
    report = await load
    causes = {c for p in report.procedures.values() for c in p.failures}
    assert causes
    assert all(cause.startswith("unfinished-") for cause in causes)
    assert site.transport is not None
    await site.transport.close()


async def test_an_amf_that_is_gone_for_good_ends_the_load() -> None:
    """The load has neither a duration nor a running UE timer, so only this check can end it."""
    site = Site(repeat=1_000_000, drain=0.2)
    await site.open()
    load = asyncio.create_task(run(site.config, site.connect))
    await until(lambda: "registration-complete" in site.server.amf.received)
    assert site.transport is not None
    await site.transport.close()
    report = await load
    assert not report.ok
    assert report.cut_off is not None
    assert report.cut_off.startswith("gnb-1 had no AMF for 0.2 s")


async def test_nobody_there() -> None:
    site = Site(connect_timeout=0.2)
    with pytest.raises(LoadError) as caught:
        await run(site.config, site.connect)
    assert str(caught.value) == (
        "2 of 2 gNBs are not set up with the AMF at 127.0.0.1 port 38412 after 0.2 s: "
        "not connected: no answer from amf port 38412"
    )


async def test_nobody_answers_the_setup() -> None:
    site = Site(connect_timeout=0.2)
    site.server.silent = True
    with pytest.raises(LoadError, match="NG SETUP REQUEST is not answered"):
        await site.run()


async def test_a_gnb_that_is_put_off_for_longer_than_the_load_waits() -> None:
    site = Site(connect_timeout=0.2)
    site.server.amf.refuse_setup = True
    site.server.amf.time_to_wait = "v10s"
    with pytest.raises(LoadError, match="NG SETUP REQUEST with a failure"):
        await site.run()


async def test_a_gnb_that_is_refused() -> None:
    site = Site()
    site.server.amf.refuse_setup = True
    with pytest.raises(LoadError) as caught:
        await site.run()
    assert "the AMF refuses gnb-" in str(caught.value)
    assert "unknown-PLMN" in str(caught.value)


async def test_a_config_that_cannot_be_run_is_refused_before_anything_happens() -> None:
    site = Site(programme=())
    with pytest.raises(ConfigError):
        await run(site.config, site.connect)
    assert site.attempts == 0


async def test_a_capture_that_cannot_be_written(tmp_path: Path) -> None:
    site = Site(capture=str(tmp_path / "no" / "out.jsonl"))
    with pytest.raises(ConfigError, match="capture: cannot write"):
        await run(site.config, site.connect)


async def test_a_full_transport_holds_the_gnb_up_and_loses_nothing() -> None:
    site = Site(gnbs=1)
    limits = Limits(send_buffer=400, receive_window=400)

    async def narrow(handler: Handler) -> Transport:
        return await site.network.connect("amf", 38412, handler, limits=limits)

    await site.open()
    assert site.transport is not None
    site.transport.limits = limits
    report = await run(site.config, narrow)
    assert report.ok
    assert report.procedures["deregister"].succeeded == 20
    await site.transport.close()


async def test_over_udp() -> None:
    people = population(10, schemes=("null", "A", "B"), algorithms=MIXED_ALGORITHMS)
    server = AmfServer(people)
    transport = await listen(Mode.USERSPACE_UDP, "127.0.0.1", 0, server, udp_port=0)
    assert transport.udp_port is not None
    config = LoadConfig(
        mode=Mode.USERSPACE_UDP,
        port=transport.port,
        udp_port=transport.udp_port,
        gnbs=3,
        population=people,
        programme=(Procedure.REGISTER, Procedure.SWITCH_OFF),
    )
    try:
        report = await run(config)
    finally:
        await transport.close()
    assert report.ok
    assert report.count == 20


async def test_the_connector_says_why_it_cannot_connect() -> None:
    config = LoadConfig(host="no.such.host.invalid")
    recorder: Any = None
    with pytest.raises(TransportError, match=r"no\.such\.host\.invalid"):
        await connector_of(config)(recorder)


def test_the_module_runs_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main([str(tmp_path / "none.json")]) == 2
    assert "cannot read" in capsys.readouterr().err
    path = tmp_path / "load.json"
    path.write_text('{"gnbs": "two"}')
    assert main([str(path)]) == 2
    assert "Expected `int`, got `str` - at `$.gnbs`" in capsys.readouterr().err
    config = LoadConfig(mode=Mode.USERSPACE_UDP, udp_port=1, connect_timeout=0.1)
    path.write_bytes(msgspec.json.encode(config))
    assert main([str(path)]) == 2
    assert "1 of 1 gNBs are not set up" in capsys.readouterr().err


def test_the_load_generator_imports_nothing_of_the_core() -> None:
    script = "import sys, loadgen, loadgen.__main__; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    loaded = {name.split(".")[0] for name in out.decode().split()}
    core = {"evcore", "gateway", "functions", "eventing", "statestore", "schemas"}
    assert not loaded & core
    assert not loaded & {"matplotlib", "pycrate_asn1rt", "numpy"}
    assert {"wire", "transport"} <= loaded
