"""An emulated UPF in its own process, which can be killed."""

import asyncio
import json
import sys
from typing import Any

from schemas.config.reading import UpfConfig


class UpfProcess:
    """`python -m loadgen.upf`. A killed one restarts without sessions."""

    def __init__(self, config: UpfConfig) -> None:
        self.config = config
        self.violations: list[dict[str, Any]] = []
        self.established = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        host = self.config.host or self.config.node_id
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "loadgen.upf", "--node-id", self.config.node_id),
            *("--host", host, "--port", str(self.config.port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 22,
        )
        await self.status()

    async def kill(self) -> None:
        """Read the violations that it has found, then kill it with SIGKILL."""
        status = await self.status()
        self.violations += status["violations"]
        process = self._running()
        process.kill()
        await process.wait()

    async def status(self) -> dict[str, Any]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"command": "status", "sessions": true}\n')
        while line := await process.stdout.readline():
            told: dict[str, Any] = json.loads(line)
            if told.get("event") == "status":
                return told
        raise RuntimeError("the UPF has ended")

    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process
