"""The N4 socket of an emulated UPF: checks PFCP messages and detects duplicates (6.4, 7.6)."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Protocol, cast

import wire
from loadgen.trees import Tree
from loadgen.upf.config import Misbehaviour, UpfConfig, UpfCounts
from loadgen.upf.ies import first, groups
from loadgen.upf.messages import answer_to, version_not_supported
from loadgen.upf.reliable import Address, Answered, Answers, Requests
from loadgen.upf.violation import PfcpKind

_RECEIVE_BUFFER = 4 * 1024 * 1024
_SPARE_SEID = 0x5A5A_5A5A_5A5A_5A5A
"""XORed with a SEID to get another SEID."""


class Owner(Protocol):
    """The UPF of an endpoint."""

    def request(self, tree: Tree, peek: wire.PfcpPeek, octets: bytes, at: Address) -> Tree | None:
        """Execute a request. Return its answer, or None for no answer."""
        ...

    def refusal(self, peek: wire.PfcpPeek, cause: int, offending_ie: int | None) -> Tree | None:
        """Return the answer that refuses a request."""
        ...

    def violate(self, kind: PfcpKind, text: str, who: str) -> None:
        """Report a violation."""
        ...


class Endpoint(asyncio.DatagramProtocol):
    """One UDP socket, with callbacks and without a task per message. No input raises."""

    def __init__(self, config: UpfConfig, owner: Owner, counts: UpfCounts) -> None:
        """Create a socket that is not open."""
        self.silent = False
        """Whether the socket neither reads nor sends."""
        self.misbehaviour: Misbehaviour | None = None
        self.address: Address = (config.host, config.port)
        self.requests = Requests(self._send_request, config.t1, config.n1)
        self.answers = Answers(config.t1 * (config.n1 + 1))
        self._owner, self._counts = owner, counts
        self._times = 0
        self._transport: asyncio.DatagramTransport | None = None
        self._source = config.source
        self._ignores_empty_ies = "ignores-empty-ies" in config.quirks
        self._requester: asyncio.DatagramTransport | None = None
        """The socket of the UPF's own requests, if they come from another address."""

    async def open(self) -> None:
        """Open the socket at the configured address, and the one for the UPF's own requests.

        Raises:
            OSError: an address is not available.
        """
        self._transport = await self._open(self.address)
        if self._source is not None:
            self._requester = await self._open((self._source, 0))
        found = self._transport.get_extra_info("sockname")
        self.address = cast("tuple[str, int]", found[:2])

    async def _open(self, address: Address) -> asyncio.DatagramTransport:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=sock)
        return transport

    def close(self) -> None:
        """Close the socket and drop the unanswered requests."""
        self.requests.cancel()
        for transport in (self._transport, self._requester):
            if transport is not None:
                transport.close()
        self._transport = self._requester = None

    def misbehave(self, misbehaviour: Misbehaviour | None) -> None:
        """Misbehave in answers from now on; None stops the misbehaviour."""
        self.misbehaviour = misbehaviour
        self._times = 0

    def ask(self, tree: Tree, address: Address, answered: Answered) -> None:
        """Send a request of the UPF, with a sequence number of `requests`."""
        message = str(tree["message"])
        self._counts.sent[message] += 1
        data = wire.pfcp_encode(tree)
        self.requests.start(int(tree["sequence"]), message, data, address, answered)

    # called by the socket

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Handle a datagram with one or more messages (7.2.2.1)."""
        if self.silent:
            return
        address = (str(addr[0]), int(addr[1]))
        while data:
            try:
                peek = wire.pfcp_peek(data)
            except wire.WireError as error:
                self._discard(str(error), address)
                return
            self._counts.received[peek.message] += 1
            self._one(data, peek, address)
            if not peek.follow_on or not 0 < peek.length < len(data):
                return
            data = data[peek.length :]

    def error_received(self, exc: Exception) -> None:
        """Ignore an unreachable peer: T1 and N1 handle it."""
        del exc

    # messages

    def _one(self, data: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        octets = data[: peek.length]
        now = asyncio.get_running_loop().time()
        if peek.request:
            known = self.answers.find(address, peek.sequence, octets, now)
            if known is not None:
                self._counts.duplicates += 1
                if known:
                    self._send(known, address)
                return
        if self._ignores_empty_ies and _has_empty_ie(octets):
            self._counts.discarded += 1
            return
        if self._faulty(data, peek, octets, address):
            return
        try:
            tree = wire.pfcp_decode(data, lenient=True)
        except wire.WireError as error:
            self._discard(str(error), address)
            return
        if not peek.request:
            self._answered(tree, peek, address)
            return
        wrong = self._misbehaviour(peek.message)
        if wrong is not None and wrong.kind == "reject":
            answer = self._owner.refusal(peek, wrong.cause, None)
        else:
            answer = self._owner.request(tree, peek, octets, address)
        if answer is not None:
            self._answer(answer, octets, address, wrong)

    def _faulty(self, data: bytes, peek: wire.PfcpPeek, octets: bytes, address: Address) -> bool:
        """Check the syntax. Return True if the message was answered or discarded (7.6)."""
        fault = wire.pfcp_check(data)
        if fault is None:
            return False
        if fault["action"] == "version-not-supported":
            self._answer(version_not_supported(peek.sequence), octets, address, None)
            return True
        if fault["action"] == "discard":
            self._discard(f"{peek.message}: {fault['text']}", address)
            return True
        who = f"{address[0]}:{address[1]}"
        self._owner.violate(PfcpKind.SYNTAX, f"{peek.message}: {fault['text']}", who)
        if fault["action"] == "ignore":
            return False
        answer = self._owner.refusal(peek, fault["cause_value"], fault["offending_ie_type"])
        if answer is not None:
            self._answer(answer, octets, address, None)
        return True

    def _discard(self, text: str, address: Address) -> None:
        self._counts.discarded += 1
        self._owner.violate(PfcpKind.SYNTAX, text, f"{address[0]}:{address[1]}")

    def _answered(self, tree: Tree, peek: wire.PfcpPeek, address: Address) -> None:
        pending = self.requests.find(peek.sequence)
        expected = None if pending is None else answer_to(pending.message)
        if peek.message not in (expected, "VersionNotSupportedResponse"):
            # An answer to an abandoned request, or a repeated answer: discard it silently (7.6.4).
            self._counts.discarded += 1
            if expected is not None:
                text = f"{peek.message} instead of {expected}"
                self._owner.violate(PfcpKind.UNEXPECTED, text, f"{address[0]}:{address[1]}")
            return
        self.requests.answer(peek.sequence, tree)

    def _misbehaviour(self, message: str) -> Misbehaviour | None:
        """Return the misbehaviour for an answer, and count it."""
        wrong = self.misbehaviour
        if wrong is None:
            return None
        meant = message.startswith("Session") if wrong.message is None else message == wrong.message
        if not meant or (wrong.times is not None and self._times >= wrong.times):
            return None
        self._times += 1
        return wrong

    def _answer(
        self, tree: Tree, request: bytes, address: Address, wrong: Misbehaviour | None
    ) -> None:
        loop = asyncio.get_running_loop()
        kind = None if wrong is None else wrong.kind
        data = wire.pfcp_encode(_SPOIL[kind](tree) if kind in _SPOIL else tree)
        message, sequence = str(tree["message"]), int(tree["sequence"])
        self._counts.sent[message] += 1
        cause = first(tree["ies"], "Cause")
        if isinstance(cause, int) and cause > 3:
            self._counts.causes[f"{message} {cause}"] += 1
        delay = wrong.seconds if wrong is not None and kind == "delay" else 0.0
        self.answers.keep(address, sequence, request, data, loop.time(), delay)
        if kind == "lose":
            return
        if delay:
            loop.call_later(delay, self._send, data, address)
            return
        self._send(data, address)
        if kind == "duplicate":
            self._send(data, address)

    def _send_request(self, data: bytes, address: Address) -> None:
        if self._requester is None:
            self._send(data, address)
        elif not self.silent:
            self._requester.sendto(data, address)

    def _send(self, data: bytes, address: Address) -> None:
        if self._transport is not None and not self.silent:
            self._transport.sendto(data, address)


def _has_empty_ie(octets: bytes) -> bool:
    """Whether an IE of a message has the length 0; IEs in groups do not count (8.1.1)."""
    at = 16 if octets[0] & 1 else 8  # with or without a SEID (7.2.2)
    while at + 4 <= len(octets):
        length = int.from_bytes(octets[at + 2 : at + 4])
        if length == 0:
            return True
        at += 4 + length
    return False


def _without_cause(tree: Tree) -> Tree:
    return tree | {"ies": [entry for entry in tree["ies"] if "Cause" not in entry]}


def _without_node_id(tree: Tree) -> Tree:
    return tree | {"ies": [entry for entry in tree["ies"] if "Node ID" not in entry]}


def _other_seid(tree: Tree) -> Tree:
    return tree | {"seid": int(tree.get("seid", 0)) ^ _SPARE_SEID}


def _f_teid_to_choose(tree: Tree) -> Tree:
    kept = [entry for entry in tree["ies"] if "Created PDR" not in entry]
    for created in groups(tree["ies"], "Created PDR"):
        numbers = [entry for entry in created if "PDR ID" in entry]
        kept.append({"Created PDR": [*numbers, {"F-TEID": {"choose": ["V4"]}}]})
    return tree | {"ies": kept}


_SPOIL: dict[str | None, Callable[[Tree], Tree]] = {
    "no-cause": _without_cause,
    "no-node-id": _without_node_id,
    "unknown-seid": _other_seid,
    "wrong-f-teid": _f_teid_to_choose,
}
"""How each misbehaviour changes an answer."""
