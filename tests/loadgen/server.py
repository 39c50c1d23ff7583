"""The test AMF behind a transport: an asyncio server for the driver to load."""

from collections import deque

from loadgen.load.subscribers import Population
from tests.loadgen.amf import Amf
from transport import Association, BufferFull


class AmfServer:
    """A `transport.Handler` around an `Amf`; it identifies a gNB by its RAN node name."""

    def __init__(self, population: Population) -> None:
        self.amf = Amf(population)
        self.associations: dict[str, Association] = {}
        self.names: dict[Association, str] = {}
        self.waiting: dict[str, deque[tuple[int, bytes]]] = {}
        self.silent = False
        """Whether messages are received and not answered."""

    def up(self, association: Association) -> None:
        name = f"peer-{id(association)}"
        self.names[association] = name
        self.associations[name] = association

    def down(self, association: Association, reason: str) -> None:
        del reason
        name = self.names.pop(association)
        self.associations.pop(name, None)
        lost = [c for c in self.amf.connections.values() if c.gnb == name]
        for connection in lost:
            del self.amf.connections[connection.amf]

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        assert ppid == 60
        if self.silent:
            return
        self.amf.receive(self.names[association], stream, payload)
        self.send()

    def send(self) -> None:
        out, self.amf.out = self.amf.out, []
        for name, stream_down, pdu in out:
            self.waiting.setdefault(name, deque()).append((stream_down, pdu))
            self.flush(name)

    def writable(self, association: Association) -> None:
        self.flush(self.names[association])

    def flush(self, name: str) -> None:
        waiting, association = self.waiting[name], self.associations.get(name)
        while waiting and association is not None:
            try:
                association.send(*waiting[0])
            except BufferFull:
                return
            waiting.popleft()
