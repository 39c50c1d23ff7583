"""A stranger on the bus listens to the messages for gNBs, copies them, and sends its own.

The stranger has the nkeys of a gateway and of a worker, and not the key of the 5G-TMSIs.
"""

import base64
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

import wire
from eventing.access.roles import Role
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.messages import Addressed, events_of, gathered
from eventing.jetstream.sealed import DownlinkSealer
from gateway.n2.overload import overload_start
from loadgen import Report, run
from loadgen.gnb import checks
from loadgen.gnb.gnb import Gnb
from loadgen.trees import Tree
from loadgen.ue.ue import Ue
from schemas.cloudevents import CloudEvent, EventType
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

UES = 20


class Stranger:
    """Hears every message for gNBs, and repeats or changes it at once as another user of NATS."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.heard: list[Msg] = []
        self.sent = 0
        self._first: dict[str, bytes] = {}
        """By subject, its first message."""
        self._own: Counter[bytes] = Counter()

    async def hear(self, message: Msg) -> None:
        if self._own[message.data]:
            self._own[message.data] -= 1
            return
        subject, data = message.subject, message.data
        self.heard.append(message)
        self._first.setdefault(subject, data)
        await self._send(subject, data)
        await self._send(subject, self._first[subject])
        for other in self._first:
            if other != subject:
                await self._send(other, data)
        await self._send(subject, data[:-1] + bytes([data[-1] ^ 1]))
        await self._send(subject, DownlinkSealer(bytes(32)).seal(subject, b"[]"))
        event = CloudEvent(f"forged-{self.sent}", "/forged", EventType.NGAP_DOWNLINK, "gnb")
        plain = overload_start(99)
        await self._send(subject, plain, nats_binding.to_headers(event))
        pair = [
            Addressed(subject, CloudEvent(f"{event.id}-{n}", "/forged", event.type, "gnb", plain))
            for n in (1, 2)
        ]
        (batch,) = gathered(pair, str)
        await self._send(subject, batch.data, batch.headers)

    async def _send(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        self._own[data] += 1
        self.sent += 1
        await self._client.publish(subject, data, headers=headers)


class Known:
    """The keys that the emulated gNBs get and their UEs know, and the messages that gNBs get."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: set[bytes] = set()
        self.received = Counter[str]()
        check_key, receive = checks.check_key, Gnb.receive

        def key(ue: Ue, ies: Tree) -> None:
            check_key(ue, ies)
            if ue.keys is not None:
                self.keys.add(bytes.fromhex(ies["SecurityKey"]))

        def received(gnb: Gnb, stream: int, payload: bytes, now: float) -> None:
            self.received[wire.ngap_peek(payload).message or ""] += 1
            receive(gnb, stream, payload, now)

        monkeypatch.setattr(checks, "check_key", key)
        monkeypatch.setattr(Gnb, "receive", received)


def readable(message: Msg) -> list[bytes]:
    """Return the PDUs that can be read in a message, alone or in a batch."""
    found = [message.data]
    with contextlib.suppress(BadEventError, ValueError):
        found += [event.data for event in events_of(message.headers, message.data)]
    return found


def is_ngap(octets: bytes) -> bool:
    try:
        wire.ngap_decode(octets)
    except wire.WireError:
        return False
    return True


async def attacked(it: Site, stranger: Stranger, client: Client) -> Report:
    await client.subscribe("n2.*.*", cb=stranger.hear, pending_bytes_limit=0)
    await client.flush()
    return await run(it.load())


async def test_a_listener_learns_no_key_and_its_messages_reach_no_gnb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Known(monkeypatch)
    async with (
        site(tmp_path, UES, attacked=True) as it,
        it.connected(Role.GATEWAY_N2) as listening,
        it.connected(Role.WORKER) as sending,
    ):
        stranger = Stranger(sending)
        report = await attacked(it, stranger, listening)
        failures: dict[Any, Any] = {n: one.failures for n, one in report.procedures.items()}
        assert report.ok, (report.violations, failures)
        await it.settled()
        logs = "".join(log.read_text() for log in (it.data.root / "logs").glob("*n2*.log"))
    assert len(known.keys) >= UES
    assert len(stranger.heard) > 4, "several steps share a message"
    for message in stranger.heard:
        for octets in readable(message):
            assert not is_ngap(octets)
            for key in known.keys:
                assert key not in octets
                assert key.hex().encode() not in octets
                assert base64.b64encode(key)[1:20] not in octets
    assert known.received["OverloadStart"] == 0
    # Nothing came twice: each UE has one context and one authentication.
    assert known.received["InitialContextSetupRequest"] == len(known.keys)
    assert known.received["NGSetupResponse"] == 2
    assert "message(s) refused: " in logs
