"""`python -m loadgen.upf --node-id 127.0.0.8 --host 127.0.0.8`: one emulated UPF.

It prints one line of JSON per change, with the name in ``event``. It reads commands as lines of
JSON from standard input, with the name in ``command``:

- ``{"command": "downlink", "ue": "10.45.0.1"}``, optionally with ``network_instance``
- ``{"command": "uplink", "ue": "10.45.0.1"}``, optionally with ``network_instance``
- ``{"command": "error-indication", "ue": "10.45.0.1"}``
- ``{"command": "associate", "cp": "127.0.0.1:8805"}``
- ``{"command": "release", "node": "127.0.0.1"}``
- ``{"command": "silence", "on": true}``
- ``{"command": "misbehave", "kind": "reject", "cause": 75, "times": 1}``, the fields of
  `loadgen.upf.config.Misbehaviour`; without ``kind`` the UPF behaves correctly again
- ``{"command": "restart"}``, ``{"command": "forget"}`` (the associations, without a restart),
  ``{"command": "status"}``, ``{"command": "stop"}``

``status`` with ``"sessions": true`` prints all sessions. The end of the input stops the UPF.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from loadgen.trees import Tree
from loadgen.upf.config import PORT, Misbehaviour, Quirk, UpfConfig
from loadgen.upf.downlink import Delivered
from loadgen.upf.upf import Upf
from loadgen.upf.violation import PfcpViolation

_OF_A_SESSION = frozenset({"established", "repeated", "modified", "deleted", "report"})
"""Events that are printed only with ``--verbose``."""


def status(upf: Upf, *, sessions: bool = False) -> Tree:
    """Return the state and the counters of a UPF as JSON values."""
    found: Tree = {
        "node_id": upf.config.node_id,
        "address": f"{upf.address[0]}:{upf.address[1]}",
        "recovery_time_stamp": upf.recovery,
        "associations": sorted(upf.associations),
        "sessions": upf.session_count,
        "rules_left": upf.rules_left,
        "counts": msgspec.to_builtins(upf.counts),
        "violations": [msgspec.to_builtins(one) for one in upf.violations[:100]],
    }
    if sessions:
        found["session_list"] = [
            {"ue": ue} | msgspec.to_builtins(view) for (_, ue), view in upf.sessions.items()
        ]
    return found


class Console:
    """Prints events and executes commands."""

    def __init__(self, *, verbose: bool) -> None:
        """Create a console without a UPF; `run` sets the UPF."""
        self.stopped = asyncio.Event()
        self._verbose = verbose

    def event(self, name: str, what: Tree) -> None:
        """Print an event."""
        if self._verbose or name not in _OF_A_SESSION:
            self.say({"event": name} | what)

    def delivered(self, what: Delivered) -> None:
        """Print that buffered packets were delivered."""
        self.say({"event": "delivered"} | msgspec.to_builtins(what))

    def violation(self, what: PfcpViolation) -> None:
        """Print a violation."""
        self.say({"event": "violation"} | msgspec.to_builtins(what))

    def say(self, what: Tree) -> None:
        """Print a line."""
        print(msgspec.json.encode(what).decode(), flush=True)

    def command(self, upf: Upf, line: bytes) -> None:
        """Execute a command; an invalid command prints an ``error`` event."""
        try:
            order = msgspec.json.decode(line, type=dict[str, Any])
            self._do(upf, str(order.pop("command", None)), order)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            self.say({"event": "error", "text": f"{type(error).__name__}: {error}"})

    def _do(self, upf: Upf, command: str, order: Tree) -> None:
        match command:
            case "downlink":
                found = upf.downlink_data(order["ue"], order.get("network_instance"))
                self.say({"event": "downlink", "ue": order["ue"]} | msgspec.to_builtins(found))
            case "uplink":
                forwarded = upf.uplink_data(order["ue"], order.get("network_instance"))
                self.say({"event": "uplink", "ue": order["ue"], "forwarded": forwarded})
            case "error-indication":
                there = upf.error_indication(order["ue"], order.get("network_instance"))
                self.say({"event": "error-indication", "ue": order["ue"], "sent": there})
            case "associate":
                upf.associate(address(order["cp"]))
            case "release":
                upf.want_release(order["node"])
            case "silence":
                upf.silence(bool(order["on"]))
            case "misbehave":
                wrong = msgspec.convert(order, Misbehaviour) if "kind" in order else None
                upf.misbehave(wrong)
            case "restart":
                upf.restart()
            case "forget":
                upf.forget()
            case "status":
                sessions = bool(order.get("sessions"))
                self.say({"event": "status"} | status(upf, sessions=sessions))
            case "stop":
                self.stopped.set()
            case _:
                raise ValueError(f"no command {command!r}")


def address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``.

    Raises:
        ValueError: the text is not host:port.
    """
    host, _, port = text.rpartition(":")
    if not host:
        raise ValueError(f"{text!r} is not host:port")
    return host.strip("[]"), int(port)


async def _commands(upf: Upf, console: Console) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    except (OSError, ValueError) as error:
        console.say({"event": "error", "text": f"no commands: {error}"})
        return
    while line := await reader.readline():
        console.command(upf, line)
    console.stopped.set()


async def run(config: UpfConfig, *, verbose: bool, commands: bool) -> int:
    """Run a UPF until it is stopped. Return the exit status."""
    console = Console(verbose=verbose)
    upf = Upf(
        config,
        on_event=console.event,
        on_delivered=console.delivered,
        on_violation=console.violation,
    )
    try:
        await upf.start()
    except OSError as error:
        print(f"upf: {config.host}:{config.port}: {error}", file=sys.stderr)
        return 2
    console.say({"event": "started"} | status(upf))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, console.stopped.set)
    reading = loop.create_task(_commands(upf, console)) if commands else None
    await console.stopped.wait()
    if reading is not None:
        reading.cancel()
    console.say({"event": "stopped"} | status(upf))
    upf.close()
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run the UPF that the arguments describe. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m loadgen.upf", description="a UPF on N4")
    parser.add_argument("--node-id", required=True, help="address or domain name")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=PORT, help="0 for a free one")
    parser.add_argument(
        "--cp", type=address, metavar="HOST:PORT", help="CP function to associate with"
    )
    parser.add_argument("--heartbeat", type=float, help="seconds between heartbeats")
    parser.add_argument("--t1", type=float, default=1.0, help="seconds")
    parser.add_argument("--n1", type=int, default=4, help="transmissions of a request")
    parser.add_argument(
        "--needs-interface-type",
        action="store_true",
        help="forward only with the interface types N3 and N6",
    )
    parser.add_argument("--n3-instance", metavar="NAME", help="forward only with it on N3")
    parser.add_argument("--source", help="address that its own requests come from")
    quirks = get_args(Quirk)
    parser.add_argument("--quirk", action="append", choices=quirks, default=[], help="repeatable")
    parser.add_argument("--verbose", action="store_true", help="print session events too")
    parser.add_argument("--no-commands", action="store_true", help="do not read standard input")
    given = parser.parse_args(arguments)
    config = UpfConfig(
        node_id=given.node_id,
        host=given.host,
        port=given.port,
        cp=given.cp,
        heartbeat=given.heartbeat,
        t1=given.t1,
        n1=given.n1,
        needs_interface_type=given.needs_interface_type,
        n3_instance=given.n3_instance,
        source=given.source,
        quirks=frozenset(given.quirk),
    )
    running = run(config, verbose=given.verbose, commands=not given.no_commands)
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.run(running)
    return uvloop.run(running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
