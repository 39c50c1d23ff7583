"""Senders of malformed messages: strangers on N4 and SCTP, and a hostile gNB on N2.

Each message is one of tests/corpus with random changes, from a seed. The seeds of the fuzzer are
the same messages; here whole processes get them, over the network.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from random import Random

from loadgen.gnb.gnb import Gnb
from loadgen.gnb.messages import GnbConfig
from loadgen.load.link import Connector, Link
from loadgen.timers import Deadlines
from tests.corpus import entries
from tests.transport.packets import sealed

N4_STRANGER = "127.0.0.66"
SCTP_STRANGER = "127.0.0.67"
N2_STRANGER = "127.0.0.68"
RATE = 20.0
"""Messages per second of each sender."""


def mutations(kind: str, seed: int) -> Iterator[bytes]:
    """Yield messages of a corpus for ever: some as they are, most with a few changes."""
    rng = Random(f"{kind} {seed}")
    corpus = [entry.octets for entry in entries(kind) if entry.octets]
    while True:
        message = bytearray(rng.choice(corpus))
        for _ in range(rng.choice((0, 1, 1, 2, 4, 8))):
            at = rng.randrange(len(message) + 1)
            match rng.randrange(4):
                case 0 if at < len(message):
                    message[at] ^= 1 << rng.randrange(8)
                case 1:
                    del message[at : at + rng.randrange(8)]
                case 2:
                    message[at:at] = rng.randbytes(rng.randrange(8))
                case _:
                    message[at:] = rng.choice(corpus)[at:]
        yield bytes(message)


class Malformed:
    """Counts the sent messages, by kind."""

    def __init__(self) -> None:
        self.sent = {"ngap": 0, "pfcp": 0, "sctp": 0}
        self.associations = 0
        """How often the hostile gNB associated: the core may end its association."""

    async def datagrams(self, kind: str, source: str, target: tuple[str, int], seed: int) -> None:
        """Send datagrams until cancelled. The checksums of SCTP are right."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.bind((source, 0))
            for message in mutations(kind, seed):
                with contextlib.suppress(OSError):  # the core has no socket for a moment
                    sender.sendto(sealed(message) if kind == "sctp" else message, target)
                self.sent[kind] += 1
                await asyncio.sleep(1 / RATE)

    async def gnb(self, connector: Connector, seed: int) -> None:
        """Set up a gNB, and send NGAP messages until cancelled."""
        deadlines = Deadlines()
        gnb = Gnb(GnbConfig(name="hostile", gnb_id=0xBAD), deadlines, on_violation=lambda _: None)
        link = Link(gnb, connector, lambda link: link.flush(), capture=None, rng=Random(seed))
        running = asyncio.ensure_future(link.run())
        rng = Random(seed)
        try:
            for message in mutations("ngap", seed):
                await asyncio.sleep(1 / RATE)
                if link.mode is None or link.trouble is not None:
                    continue
                gnb.out.append((rng.randrange(4), message))
                link.flush()
                self.sent["ngap"] += 1
                self.associations = link.associations
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def malformed(
    n2: tuple[str, int], n4: tuple[str, int], connector: Connector, seed: int
) -> AsyncGenerator[Malformed]:
    """Send malformed messages for the duration of a block.

    Args:
        n2: the address and the UDP port of SCTP.
        n4: the address and the UDP port of PFCP.
        connector: opens the SCTP association of the hostile gNB.
        seed: of the messages.
    """
    sender = Malformed()
    tasks = [
        asyncio.ensure_future(one)
        for one in (
            sender.datagrams("sctp", SCTP_STRANGER, n2, seed),
            sender.datagrams("pfcp", N4_STRANGER, n4, seed),
            sender.gnb(connector, seed),
        )
    ]
    try:
        yield sender
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
