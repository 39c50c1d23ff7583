"""The UPF emulator as a process."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loadgen.upf.__main__ import address, main
from tests.loadgen.test_upf_peer import FORWARD, Cp, Tree, session


class Process:
    """A `python -m loadgen.upf` process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self, event: str) -> Tree:
        """Return the next event with a name; skip others."""
        assert self.process.stdout is not None
        while True:
            text = await asyncio.wait_for(self.process.stdout.readline(), 20)
            assert text, f"it ended before {event}"
            found = json.loads(text)
            if found["event"] == event:
                return found

    def tell(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")


@asynccontextmanager
async def upf(*more: str) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "loadgen.upf", "--node-id", "upf1", "--port", "0"),
        *more,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_process_is_told_what_to_do() -> None:
    cp = Cp()
    await cp.open()
    host, port = cp.address
    async with upf("--cp", f"{host}:{port}", "--verbose") as process:
        started = await process.line("started")
        cp.upf = address(started["address"])
        assert (await process.line("associated"))["node"] == "127.0.0.1"
        await cp.establish(session())
        assert (await process.line("established"))["who"] == "imsi-001010000000001"
        process.tell(command="downlink", ue="10.45.0.1")
        assert (await process.line("downlink"))["outcome"] == "buffered"
        assert (await asyncio.wait_for(cp.requests.get(), 2))["message"]
        await cp.modify(FORWARD)
        delivered = await process.line("delivered")
        assert (delivered["ue"], delivered["target"]["number"]) == ("10.45.0.1", 5)
        process.tell(command="error-indication", ue="10.45.0.1")
        assert (await process.line("error-indication"))["sent"]
        process.tell(command="status", sessions=True)
        status = await process.line("status")
        assert (status["sessions"], status["rules_left"]) == (1, 5)
        assert status["session_list"][0]["ue"] == "10.45.0.1"
        assert status["counts"]["reports"] == 1
        process.tell(command="misbehave", kind="reject", cause=75, times=1)
        process.tell(command="nonsense")
        assert "nonsense" in (await process.line("error"))["text"]
        await cp.delete()
        process.tell(command="misbehave")
        process.tell(command="restart")
        assert (await process.line("restarted"))["sessions"] == 1
        await process.line("associated")
        process.tell(command="release", node="nobody")
        await process.line("error")
        process.tell(command="silence", on=True)
        process.tell(command="stop")
        stopped = await process.line("stopped")
        assert stopped["rules_left"] == 0
        assert await asyncio.wait_for(process.process.wait(), 10) == 0
    assert cp.transport is not None
    cp.transport.close()


async def test_a_violation_is_a_line() -> None:
    cp = Cp()
    await cp.open()
    async with upf() as process:
        cp.upf = address((await process.line("started"))["address"])
        await cp.associate()
        await cp.establish(session(rules=session()[2:6]))
        found = await process.line("violation")
        assert found["clause"].startswith("TS 29.244")
        process.process.send_signal(signal.SIGTERM)
        await process.line("stopped")
    assert cp.transport is not None
    cp.transport.close()


async def test_the_end_of_its_input_stops_it() -> None:
    async with upf() as process:
        await process.line("started")
        assert process.process.stdin is not None
        process.process.stdin.close()
        await process.line("stopped")


@pytest.mark.parametrize("text", ["", "host", "host:port", ":1"])
def test_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"host:port|invalid literal"):
        address(text)


def test_an_address_that_cannot_be_had(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--node-id", "upf1", "--host", "192.0.2.1", "--no-commands"]) == 2
    assert "192.0.2.1:8805" in capsys.readouterr().err
