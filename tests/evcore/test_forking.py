"""Function processes of the fork server: equal to other function processes, but faster."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from nats.aio.client import Client

from evcore.local import forking
from evcore.local.data import DataDirectory
from evcore.local.forking import ForkServer
from evcore.local.process import Process
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import bus_config, ensure, lease_bucket
from eventing.ownership.leases import Lease
from schemas.config.reading import Config, NatsConfig
from tests.evcore.cores import ended
from tests.servers import nats_server


class Plant:
    """A fork server, and a broker for its processes."""

    def __init__(self, data: DataDirectory, client: Client) -> None:
        self.data = data
        self.client = client
        self.forks = ForkServer(data.log("fork-server"))

    async def worker(self) -> Process:
        """Start a worker, and wait until it has joined the group."""
        files = ("--config", str(self.data.config_file), "--secrets", str(self.data.secrets_file))
        worker = await self.forks.start("a worker", files, self.data.log("worker"))
        watcher = await (await lease_bucket(self.client)).watchall()
        async for entry in watcher:
            lease = msgspec.json.decode(entry.value, type=Lease) if entry and entry.value else None
            if lease is not None and lease.pid == worker.pid:
                break
        await watcher.stop()
        return worker

    @property
    def server(self) -> Process:
        assert self.forks.server is not None
        return self.forks.server


@asynccontextmanager
async def forks(folder: Path) -> AsyncGenerator[Plant]:
    data = DataDirectory(folder / "data")
    data.prepare()
    async with nats_server(folder) as broker, connected(broker.url, "test") as client:
        config = data.write_config(Config(nats=NatsConfig(url=broker.url)))
        await ensure(client, bus_config(config.nats))
        plant = Plant(data, client)
        await plant.forks.begin()
        try:
            yield plant
        finally:
            await plant.forks.stop()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


async def test_a_worker_is_a_child_of_ours_and_ends_in_order(home: Path) -> None:
    async with forks(home) as plant:
        worker = await plant.worker()
        assert (worker.alive, worker.status, worker.end) == (True, None, "is running")
        assert parent_of(worker.pid) == os.getpid()
        assert os.getsid(worker.pid) == worker.pid
        assert f"-m functions.runtime --config {plant.data.config_file}" in command_of(worker.pid)
        await worker.stop()
        assert (worker.alive, worker.status, worker.end) == (
            False,
            0,
            "ended with 0: it printed nothing",
        )


async def test_one_that_fails_says_why(home: Path) -> None:
    async with forks(home) as plant:
        log = plant.data.log("worker")
        worker = await plant.forks.start("a worker", ("--config", "/none.toml"), log)
        assert await worker.wait() == 1
        await worker.stop()
        assert worker.end == "ended with 1: /none.toml: No such file or directory"
        assert log.read_text() == "evcore worker: /none.toml: No such file or directory\n"


async def test_one_that_is_killed(home: Path) -> None:
    async with forks(home) as plant:
        worker = await plant.worker()
        worker.kill()
        assert await worker.wait() == -signal.SIGKILL
        assert worker.end == "was ended by SIGKILL"


async def test_workers_outlive_the_server_and_others_start_without_it(home: Path) -> None:
    async with forks(home) as plant:
        first = await plant.worker()
        plant.server.kill()
        await plant.server.wait()
        second = await plant.worker()
        keeping = asyncio.create_task(plant.forks.run())
        dead = plant.server
        third = await plant.worker()
        assert plant.server is not dead
        fourth = await plant.worker()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        workers = (first, second, third, fourth)
        assert all(worker.alive for worker in workers)
        await asyncio.gather(*(worker.stop() for worker in workers))
        assert [worker.status for worker in workers] == [0, 0, 0, 0]


async def test_a_server_that_does_not_answer_is_done_without(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forks(home) as plant:
        await (await plant.worker()).stop()
        monkeypatch.setattr(forking, "PATIENCE", 0.05)
        os.kill(plant.server.pid, signal.SIGSTOP)
        worker = await plant.worker()
        assert not plant.server.alive
        assert worker.alive
        await worker.stop()


async def test_a_worker_of_a_parent_that_is_gone_ends(home: Path) -> None:
    """The worker ends, although neither the parent nor the server started it directly."""
    script = """
import asyncio, sys
from pathlib import Path
from evcore.local.forking import ForkServer

async def main():
    forks = ForkServer(Path("server.log"))
    await forks.begin()
    arguments = ["--config", sys.argv[1], "--secrets", sys.argv[2]]
    worker = await forks.start("worker", arguments, Path("worker.log"))
    print(worker.pid, forks.server.pid, flush=True)
    await worker.wait()

asyncio.run(main())
"""
    async with forks(home) as plant:
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", script),
            *(str(plant.data.config_file), str(plant.data.secrets_file)),
            stdout=asyncio.subprocess.PIPE,
            cwd=home,
        )
        assert parent.stdout is not None
        pids = [int(word) for word in (await parent.stdout.readline()).split()]
        assert parent_of(pids[0]) == parent.pid
        parent.kill()
        await parent.wait()
        await ended(pids)
