"""Two SCTP endpoints without sockets, with a clock that the test controls."""

from collections.abc import Callable, Mapping
from typing import Any

import wire

CLIENT, SERVER = ("192.0.2.1", 40_000), ("192.0.2.2", 9_899)
CLIENT_PORT, SERVER_PORT = 50_000, 38_412


class Link:
    """A client and a server, and all packets between them."""

    def __init__(self, **options: Any) -> None:
        server: Mapping[str, Any] = {"max_associations": 8, **options}
        self.client = wire.SctpEndpoint(CLIENT_PORT, **options)
        self.server = wire.SctpEndpoint(SERVER_PORT, accept=True, **server)
        self.now = 1000.0
        self.packets: list[tuple[bytes, bool]] = []
        """All packets, each with true if it goes to the server."""
        self.bend: Callable[[bytes, bool], bytes | None] = lambda packet, _: packet
        """Changes or drops a packet on its way. The bool is true for packets to the server."""
        self.association = self.client.connect(*SERVER, SERVER_PORT, self.now)
        self.exchange()
        ((_, self.at_server, _),) = self.server.events()
        ((_, self.at_client, _),) = self.client.events()

    def exchange(self) -> int:
        """Carry packets until none is left. Return their number."""
        count = 0
        while True:
            out = [(packet, True) for packet, _ in self.client.packets()]
            out += [(packet, False) for packet, to in self.server.packets() if to == CLIENT]
            if not out:
                return count
            for packet, to_server in out:
                count += 1
                self.packets.append((packet, to_server))
                bent = self.bend(packet, to_server)
                if bent is None:
                    continue
                if to_server:
                    self.server.receive(bent, *CLIENT, self.now)
                else:
                    self.client.receive(bent, *SERVER, self.now)

    def pass_time(self, until: float) -> int:
        """Run timers and carry packets until a time. Return the number of packets."""
        count = self.exchange()
        while True:
            dues = [self.client.timeout(), self.server.timeout()]
            due = min((due for due in dues if due is not None), default=until)
            self.now = max(self.now, min(due, until))
            self.client.advance(self.now)
            self.server.advance(self.now)
            count += self.exchange()
            if due >= until:
                return count
