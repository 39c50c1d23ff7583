"""A peer in a separate process that a test can kill: `python -m tests.transport.peer`.

Reads one line of JSON with its task, prints one line with its address, and echoes all messages.
"""

import asyncio
import json
import sys
from typing import Any

import transport
from transport import Association, Limits, Mode, Transport


class Echo:
    def up(self, association: Association) -> None:
        pass

    def down(self, association: Association, reason: str) -> None:
        pass

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        association.send(stream, payload, ppid)

    def writable(self, association: Association) -> None:
        pass


async def _open(order: dict[str, Any]) -> Transport:
    mode, host, limits = Mode(order["mode"]), order["host"], Limits(**order["limits"])
    if order["role"] == "server":
        port, udp_port = order["port"], order["udp_port"]
        return await transport.listen(mode, host, port, Echo(), udp_port=udp_port, limits=limits)
    return await transport.connect(
        mode,
        host,
        order["port"],
        Echo(),
        udp_port=order["udp_port"],
        local_host=host,
        local_port=order["local_port"],
        local_udp_port=order["local_udp_port"],
        limits=limits,
    )


async def _main() -> None:
    opened = await _open(json.loads(sys.stdin.readline()))
    json.dump({"port": opened.port, "udp_port": opened.udp_port}, sys.stdout)
    sys.stdout.write("\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(_main())
