"""Messages to gateways after a lost connection, and while a gateway is being restarted."""

import asyncio

import pytest
from nats.aio.client import Client

from eventing.jetstream import downlinks as module
from eventing.jetstream.connection import connected, listen, when_reconnected
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.sealed import DownlinkSealer
from tests.eventing import brokers
from tests.eventing.brokers import Bus, until

SEALER = DownlinkSealer(bytes(32))


async def test_what_the_broker_takes_along_is_sent_again(bus: Bus, client: Client) -> None:
    """The broker has got the message, and dies before it has passed it on."""
    heard: list[bytes] = []
    async with connected(bus.url, "gateway") as gateway:
        await listen(gateway, "n2.>", lambda *message: heard.append(message[2]))
        await brokers.arrived(gateway)
        sender = Downlinks(client, SEALER)
        with bus.frozen():
            await sender.publish("n2.gnb.1", b"lost", {"ce-id": "1"})
            await until(lambda: not client.pending_data_size)
            await bus.end(kill=True)
        await bus.start()
        await until(lambda: len(heard) >= 2)
    assert set(heard) == {b"lost"}


async def test_a_gateway_that_is_connected_later_misses_nothing(bus: Bus, client: Client) -> None:
    """The worker has already sent something on its new connection."""
    sender, reconnected = Downlinks(client, SEALER), asyncio.Event()
    when_reconnected(client, lambda _: reconnected.set())
    await bus.restart(kill=True)
    await reconnected.wait()
    await sender.publish("n2.gnb.1", b"early", {"ce-id": "1"})
    await brokers.arrived(client)
    heard: list[bytes] = []
    async with connected(bus.url, "gateway") as gateway:
        await listen(gateway, "n2.>", lambda *message: heard.append(message[2]))
        await until(lambda: bool(heard))
    assert set(heard) == {b"early"}


async def test_what_was_sent_long_before_is_not(
    bus: Bus, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 0.0)
    heard: list[bytes] = []
    sender = Downlinks(client, SEALER)
    await sender.publish("n2.gnb.1", b"old", {})
    await brokers.arrived(client)
    async with connected(bus.url, "gateway") as gateway:
        await listen(gateway, "n2.>", lambda *message: heard.append(message[2]))
        await brokers.arrived(gateway)
        await bus.end()
        await until(lambda: not client.is_connected)
        await sender.publish("n2.gnb.1", b"new", {})
        await bus.start()
        await until(lambda: len(heard) >= 2)
    assert set(heard) == {b"new"}


async def test_what_no_n4_gateway_hears_is_sent_when_one_listens(bus: Bus, client: Client) -> None:
    """In order, and once; what is for the association of an N2 gateway is lost with it."""
    sender = Downlinks(client, SEALER)
    for number in range(3):
        await sender.publish("n4.upf", b"%d" % number, {"ce-id": "1"})
        await sender.publish("n2.gnb.1", b"%d" % number, {"ce-id": "1"})
    await brokers.arrived(client)
    heard: list[tuple[str, bytes]] = []
    async with connected(bus.url, "gateway") as gateway:
        for of_all in ("n2.>", "n4.>"):
            await listen(gateway, of_all, lambda *message: heard.append((message[0], message[2])))
        await brokers.arrived(gateway)
        await until(lambda: len(heard) >= 3)
        await sender.publish("n4.upf", b"last", {})
        await until(lambda: ("n4.upf", b"last") in heard)
    assert heard == [("n4.upf", data) for data in (b"0", b"1", b"2", b"last")]


async def test_what_no_gateway_hears_is_given_up(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    await Downlinks(client, SEALER).publish("n4.upf", b"", {})
    await until(lambda: "no gateway has received a message on n4.upf" in caplog.text)
