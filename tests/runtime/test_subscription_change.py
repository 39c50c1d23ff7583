"""The decision about a changed subscription reads the new version, even with a fresh copy."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from evcore import operator
from schemas.cloudevents import EventType, SubscriptionChanged
from schemas.gmm.events import NetworkDeregistrationPending
from tests.runtime.deciders import Bench, decider, job
from tests.runtime.script import registrations
from tests.runtime.store import Store, opened

SCRIPT = registrations(2)
SUPI = "imsi-001010000000001"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    made = await opened(tmp_path, SCRIPT)
    yield made
    await made.close()


async def test_a_withdrawal_is_seen_at_once(store: Store) -> None:
    worker, bench = await decider(store, SCRIPT), Bench(store)
    for connection in SCRIPT.lanes[1]:
        for event in connection.events:
            await bench.take(worker, event)
    assert await operator.registered(store.log, [SUPI, "imsi-001010000000002"]) == [SUPI]
    await store.subscribers.withdraw(SUPI)
    told = operator.event(EventType.SUBSCRIPTION_CHANGED, SUPI, SubscriptionChanged())
    done = await worker.run([job(told)])
    ((_, step),) = done.appended
    assert any(isinstance(event, NetworkDeregistrationPending) for event in step.events)
    assert step.subscription == 2
