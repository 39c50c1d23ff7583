"""A worker is congested if the event that it decides is too old."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from eventing.jetstream.delivery import Delivery, stored_at
from functions.runtime.job import Job
from functions.runtime.lookups import WorkerLookups
from schemas.cloudevents import CloudEvent, EventType
from schemas.network import Congestion
from statestore.log import EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.vault import Vault
from tests.functions.world import NETWORK

STORED = 1_700_000_000
SHORT = f"$JS.ACK.EVENTS.registration-0003.1.12.7.{STORED}000000000.4"
LONG = f"$JS.ACK.domain.account.EVENTS.registration-0003.1.12.7.{STORED}000000000.4.random"
EVENT = CloudEvent("t-1", "/n2/g/a", EventType.NGAP_UPLINK, "imsi-001010000000001", slot=0)


def job(reply: str, deliveries: int = 1) -> Job:
    return Job(Delivery("subject", b"", {}, reply, deliveries, "consumer"), EVENT, 0.0)


@pytest.mark.parametrize("reply", [SHORT, LONG])
def test_when_an_event_was_stored(reply: str) -> None:
    assert stored_at(reply) == STORED
    assert job(reply).age(1000 * STORED + 2500) == 2.5
    assert job(reply).age(1000 * STORED - 2500) == 0, "another clock"
    assert job(reply, 2).age(1000 * STORED + 2500) == 0, "it has waited for another reason"


@pytest.mark.parametrize("reply", ["", "_INBOX.1.2", "$JS.ACK.a.b.1.2.3.x.4", "$JS.ACK.a"])
def test_other_subjects_say_nothing(reply: str) -> None:
    assert stored_at(reply) is None
    assert job(reply).age(1000 * STORED) == 0


@pytest.mark.parametrize(
    ("after", "age", "answer"), [(5, 4.9, False), (5, 5.0, True), (0, 999.0, False)]
)
async def test_the_answer(after: int, age: float, answer: bool, tmp_path: Path) -> None:
    network = replace(NETWORK, congestion=Congestion(after=after))
    engine = await SqliteEngine.open(tmp_path / "evcore.db")
    log = EventLog(engine, Vault(bytes(32)))
    (aggregate,) = await log.load(["ue/imsi-001010000000001"])
    lookups = WorkerLookups(log, network, 16).for_decision(aggregate, EVENT, lambda: age)
    assert lookups.congested() is answer
    await engine.close()
