"""`evcore subscriber deregister`, and the events for changed subscriptions."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import msgpack

from evcore import operator
from eventing.jetstream.connection import BusError
from schemas.causes import GmmCause
from schemas.cloudevents import CloudEvent, Deregister, EventType
from schemas.config.reading import NatsConfig
from schemas.identity import slot_of
from schemas.procedures import Procedure
from tests.evcore.recording import OTHER_SUPI, SUPI, Recorded
from tests.evcore.shell import Shell
from tests.statestore.import_samples import OPC, K

KEYS = ("--k", K, "--opc", OPC)


class Core:
    """The bus of a running core."""

    def __init__(self) -> None:
        self.told: list[CloudEvent] = []
        self.broken = False

    async def publish(self, bus: NatsConfig, events: Sequence[CloudEvent]) -> None:
        assert bus == NatsConfig()
        if self.broken:
            raise BusError("cannot connect to NATS at there: nobody")
        self.told += events


@pytest.fixture
def core(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Core:
    """A core on a log with two UEs, one of them registered."""
    del recorded
    found = Core()

    def bus_of(*_: Any) -> NatsConfig:
        return NatsConfig()

    monkeypatch.setattr(operator, "publish", found.publish)
    monkeypatch.setattr(operator, "bus_of", bus_of)
    return found


def test_deregister(evcore: Shell, core: Core) -> None:
    said = evcore.ok("subscriber", "deregister", OTHER_SUPI, "--reregister", "--cause", 22)
    assert said.out == ""
    assert f"the deregistration of {OTHER_SUPI} is requested" in said.err
    (event,) = core.told
    assert (event.type, event.procedure) == (EventType.DEREGISTER, Procedure.DEREGISTRATION)
    assert (event.partitionkey, event.slot) == (OTHER_SUPI, slot_of(OTHER_SUPI))
    assert msgpack.decode(event.data, type=Deregister) == Deregister(True, GmmCause.CONGESTION)


def test_deregister_without_more(evcore: Shell, core: Core) -> None:
    evcore.ok("subscriber", "deregister", OTHER_SUPI.removeprefix("imsi-"))
    assert msgpack.decode(core.told[0].data, type=Deregister) == Deregister()


def test_a_ue_that_is_not_registered(evcore: Shell, core: Core) -> None:
    sentence = evcore.refused("subscriber", "deregister", SUPI)
    assert sentence.startswith(f"{SUPI} is not registered")
    assert core.told == []


def test_a_cause_that_no_ue_is_told(evcore: Shell, core: Core) -> None:
    sentence = evcore.refused("subscriber", "deregister", OTHER_SUPI, "--cause", 111, status=2)
    assert sentence.startswith("--cause: 111 is not one of 3 illegal-ue, 6 illegal-me, ")
    assert core.told == []


def test_no_core_runs(evcore: Shell, recorded: Recorded) -> None:
    del recorded
    sentence = evcore.refused("subscriber", "deregister", OTHER_SUPI)
    assert sentence == "no core runs on .evcore: start `evcore up`"


@pytest.mark.parametrize("supi", [SUPI, OTHER_SUPI])
def test_a_withdrawal_is_told_to_the_ue_that_is_registered(
    evcore: Shell, core: Core, supi: str
) -> None:
    assert evcore.ok("subscriber", "remove", supi).out == f"{supi}: removed\n"
    told = [(event.type, event.partitionkey) for event in core.told]
    expected = [(EventType.SUBSCRIPTION_CHANGED, supi)]
    assert told == (expected if supi == OTHER_SUPI else [])


def test_so_is_another_version(evcore: Shell, core: Core) -> None:
    for supi in (SUPI, OTHER_SUPI, "imsi-001010000000009"):
        evcore.ok("subscriber", "add", supi, *KEYS, "--slices", "3")
    assert [event.partitionkey for event in core.told] == [OTHER_SUPI]
    assert core.told[0].procedure == Procedure.DEREGISTRATION


def test_a_bus_that_cannot_be_reached_undoes_nothing(evcore: Shell, core: Core) -> None:
    core.broken = True
    said = evcore.ok("subscriber", "remove", OTHER_SUPI)
    assert said.out == f"{OTHER_SUPI}: removed\n"
    assert (
        "note: the core is not notified; registered UEs get the change later: cannot connect"
        in said.err
    )
    assert evcore.refused("subscriber", "show", OTHER_SUPI).startswith("there is no subscriber")
