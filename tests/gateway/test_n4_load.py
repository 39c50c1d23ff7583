"""The load that UPFs report in session messages, and the events that the core gets."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from gateway.n4.path import LOAD_PERIOD, LoadControl
from schemas.cloudevents import CloudEvent, EventType, UpfLoadReported
from tests.gateway import n4_edge
from tests.gateway.n4_edge import ACCEPTED, KEY, SEID, Edge, deletion, encode

STAMP = 3_900_000_000


def control(name: str, number: int, metric: int, *more: dict[str, Any]) -> dict[str, Any]:
    return {f"{name} Control Information": [{"Sequence Number": number}, {"Metric": metric}, *more]}


def message(*ies: dict[str, Any]) -> bytes:
    return encode("SessionModificationResponse", [{"Cause": ACCEPTED}, *ies], 1, seid=SEID)


class Heard:
    """A `LoadControl` with a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.control = LoadControl(lambda: self.now)

    def __call__(self, *ies: dict[str, Any], stamp: int = STAMP) -> UpfLoadReported | None:
        return self.control.read(message(*ies), stamp)

    def later(self, *ies: dict[str, Any], stamp: int = STAMP) -> UpfLoadReported | None:
        self.now += LOAD_PERIOD
        return self(*ies, stamp=stamp)


def test_a_load_is_told_once_and_at_a_bounded_rate() -> None:
    heard = Heard()
    assert heard() is None
    assert heard(control("Load", 1, 40)) == UpfLoadReported(load=40)
    assert heard(control("Load", 2, 50)) is None
    assert heard.later(control("Load", 2, 50)) == UpfLoadReported(load=50)
    assert heard.later(control("Load", 3, 50)) is None


def test_what_is_older_does_not_count() -> None:
    """The sequence number decides, also when it wraps (6.2.3.3.2)."""
    heard = Heard()
    assert heard(control("Load", 0xFFFF_FFFE, 40)) == UpfLoadReported(load=40)
    assert heard.later(control("Load", 0xFFFF_FFFE, 60)) is None
    assert heard.later(control("Load", 0xFFFF_FFF0, 60)) is None
    assert heard.later(control("Load", 3, 70)) == UpfLoadReported(load=70)
    assert heard.later(control("Load", 1, 80)) is None
    assert heard.later(control("Load", 1, 80), stamp=STAMP + 1) == UpfLoadReported(load=80)


@pytest.mark.parametrize(
    ("unit", "value", "seconds"),
    [("2 seconds", 3, 6), ("1 minute", 5, 300), ("infinite", 1, 36_000), ("10 hours", 31, 36_000)],
)
def test_an_overload_has_a_period(unit: str, value: int, seconds: int) -> None:
    heard = Heard()
    period = {"Timer": {"unit": unit, "value": value}}
    told = UpfLoadReported(reduction=20, period=seconds)
    assert heard(control("Overload", 1, 20, period)) == told
    assert heard.later(control("Overload", 1, 20, period)) is None
    assert heard.later(control("Overload", 2, 20, period)) == told


@pytest.mark.parametrize(
    "octets", [b"\x00\x33", b"\x00\x33\x00\x01\x00", b"\x00\x36\x00\x04\x00\x37\x00\x09"]
)
def test_octets_that_only_look_like_it(octets: bytes) -> None:
    data = bytearray(message()) + octets
    data[2:4] = (len(data) - 4).to_bytes(2, "big")
    assert LoadControl().read(bytes(data), STAMP) is None


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path, nodes=["10.0.0.1"]) as edge:
        yield edge


async def test_the_core_is_told(edge: Edge) -> None:
    (upf,) = edge.upfs
    await edge.ask(upf, deletion(), 1, KEY)
    (asked,) = await upf.next()
    upf.answer(asked, {"Cause": ACCEPTED}, control("Load", 1, 33))
    await edge.until(2)
    found: dict[str, CloudEvent] = {event.type: event for event in edge.events}
    assert set(found) == {EventType.PFCP_UPLINK, EventType.UPF_LOAD}
    told = found[EventType.UPF_LOAD]
    assert (told.partitionkey, told.procedure) == (upf.key, "upf")
    assert msgpack.decode(told.data, type=UpfLoadReported) == UpfLoadReported(load=33)
