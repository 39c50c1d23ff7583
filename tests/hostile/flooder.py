"""A gNB that floods the core: ``python -m tests.hostile.flooder FLOOD``, a process of its own.

`FLOOD` is a file with a `Flood` in JSON. The gNB sends the PDUs of the flood in turn, at a steady
rate, and answers nothing. It writes a line for each thing that happens, and a `Result` as the last
one. Its CPU time is small: all PDUs are made before, and only their ids differ.
"""

import asyncio
import contextlib
import random
import sys
import time
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import wire
from loadgen.gnb.messages import GnbConfig, ng_setup_request
from transport import NGAP_PPID, Association, BufferFull, Limits, Mode, connect

RAN_ID: Final = 0x81828384
"""The RAN-UE-NGAP-ID in a PDU of a flood. The gNB counts upwards from it."""
DRAWN: Final = 0xFACEB00C
"""Four octets in a PDU of a flood that the gNB replaces by random ones, such as a 5G-TMSI."""
TICK: Final = 0.01


class Flood(Struct):
    """The messages to send, and their target."""

    port: int
    udp_port: int
    pdus: list[str]
    """In hexadecimal digits, with `RAN_ID` and `DRAWN` or without."""
    rate: float
    """PDUs a second."""
    seconds: float
    gnb_id: int = 0xBAD
    linger: float = 0.0
    """Seconds for which the association stays afterwards, or until OVERLOAD STOP."""
    same_ue: bool = False
    """Whether all PDUs have the same RAN-UE-NGAP-ID."""


class Result(Struct):
    """The result of the flood."""

    sent: int
    starts: int
    """OVERLOAD STARTs."""
    stops: int
    asked: bool
    """Whether the last indication was OVERLOAD START."""
    received: int
    late: float
    """Seconds by which the last PDU was late."""
    lost: str = ""
    """Why the association ended before the end."""


class Flooder:
    """A `transport.Handler` with one association."""

    def __init__(self, flood: Flood) -> None:
        self.flood = flood
        self.result = Result(0, 0, 0, asked=False, received=0, late=0.0)
        self._association: Association | None = None
        self._ready = asyncio.Event()
        self._room = asyncio.Event()
        self._free = asyncio.Event()
        """Whether the gNB may send as many requests as it likes."""
        self._free.set()

    def up(self, association: Association) -> None:
        self._association = association
        association.send(0, ng_setup_request(GnbConfig("hostile", self.flood.gnb_id)), NGAP_PPID)

    def down(self, association: Association, reason: str) -> None:
        del association
        self._association = None
        self.result.lost = reason
        self._room.set()

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        del association, stream, ppid
        self.result.received += 1
        match wire.ngap_peek(payload).message:
            case "NGSetupResponse":
                self._ready.set()
            case "OverloadStart":
                self.result.starts += 1
                self.result.asked = True
                self._free.clear()
            case "OverloadStop":
                self.result.stops += 1
                self.result.asked = False
                self._free.set()
            case _:
                pass

    def writable(self, association: Association) -> None:
        del association
        self._room.set()

    async def run(self) -> None:
        """Flood, then stay for a while."""
        flood = self.flood
        transport = await connect(
            Mode.USERSPACE_UDP,
            "127.0.0.1",
            flood.port,
            self,
            udp_port=flood.udp_port,
            limits=Limits(send_buffer=1 << 22),
        )
        async with asyncio.timeout(30):
            await self._ready.wait()
        print("flooding", flush=True)
        await self._send_all()
        print("done", flush=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(flood.linger):
                await self._free.wait()
        result = replace(self.result)
        await transport.close()
        print(msgspec.json.encode(result).decode(), flush=True)

    async def _send_all(self) -> None:
        flood, begun = self.flood, time.monotonic()
        pdus = [bytes.fromhex(one) for one in flood.pdus]
        marker, drawn = RAN_ID.to_bytes(4), DRAWN.to_bytes(4)
        total = int(flood.rate * flood.seconds)
        rng = random.Random(1)
        while self.result.sent < total and not self.result.lost:
            now = time.monotonic() - begun
            due = min(total, int(now * flood.rate) + 1)
            while self.result.sent < due and (association := self._association):
                number = self.result.sent
                ran_id = RAN_ID + (0 if flood.same_ue else number + 1)
                pdu = pdus[number % len(pdus)].replace(marker, ran_id.to_bytes(4))
                pdu = pdu.replace(drawn, rng.randbytes(4))
                try:
                    association.send(1 + number % 4, pdu, NGAP_PPID)
                except BufferFull:
                    self._room.clear()
                    await self._room.wait()
                    continue
                self.result.sent += 1
            await asyncio.sleep(TICK)
        self.result.late = time.monotonic() - begun - flood.seconds


def main() -> None:
    """Run the process."""
    flood = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Flood)
    asyncio.run(Flooder(flood).run())


if __name__ == "__main__":
    main()
