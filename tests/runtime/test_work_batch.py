"""An early event looks for the events before it in its own batch, which the stream has as one
message."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from eventing.jetstream.delivery import BatchProgress, Delivery
from functions.runtime.work import Work
from schemas.origin import origin_of
from tests.runtime.deciders import Bench, always_earlier, decider, nothing_earlier
from tests.runtime.script import lives
from tests.runtime.store import Store, opened
from tests.runtime.test_work import RecordingFinisher, work_of

LIVES = lives()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    made = await opened(tmp_path, LIVES)
    yield made
    await made.close()


async def begun(
    store: Store, finisher: RecordingFinisher, progress: BatchProgress | None, *, blocked: bool
) -> tuple[Work, Delivery]:
    """Return a worker, and the delivery of an event after a gap: the second one of a batch."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:2]:
        await bench.take(worker, event)
    earlier = always_earlier if blocked else nothing_earlier
    work = work_of(worker, store, finisher, earlier)
    event = LIVES.outside[3]
    reply = f"$JS.ACK.EVENTS.registration-0001.1.12.7.{int(time.time() * 1e9)}.4"
    subject = f"ue.1.registration.{origin_of(event)}.{event.slot}"
    return work, Delivery(
        subject, event.data, {}, reply, 1, "registration-0001", event, progress, 1
    )


async def look_again(work: Work) -> None:
    """Run the worker at the next look for earlier events."""
    pause = work.pause
    assert pause is not None
    await asyncio.sleep(pause)
    await work.run([])


async def test_an_early_event_waits_for_those_before_it_in_its_batch(store: Store) -> None:
    """The first event of the batch is on its way to another function, in a message of its own."""
    finisher, progress = RecordingFinisher(), BatchProgress(2)
    work, early = await begun(store, finisher, progress, blocked=False)
    await work.run([early])
    assert (len(work.held), finisher.appended) == (1, [])
    progress.left.discard(0)
    await look_again(work)
    assert (work.held, len(finisher.appended)) == ([], 1)


async def test_an_event_that_waits_on_leaves_its_batch(store: Store) -> None:
    """Other UEs' events must not wait for the message of the batch."""
    finisher, progress = RecordingFinisher(), BatchProgress(2)
    work, early = await begun(store, finisher, progress, blocked=True)
    await work.run([early])
    await look_again(work)
    assert (len(work.held), finisher.given_back) == (1, []), "not before the event before it"
    progress.left.discard(0)
    await look_again(work)
    assert (work.held, finisher.given_back) == ([], [(LIVES.outside[3].id, 0)])


async def test_an_event_alone_in_its_message_waits_in_its_worker(store: Store) -> None:
    finisher = RecordingFinisher()
    work, early = await begun(store, finisher, None, blocked=True)
    await work.run([early])
    asked: list[str] = []

    async def note(what: str) -> None:
        asked.append(what)

    store.before = note
    for _ in range(4):
        await look_again(work)
    assert (len(work.held), finisher.given_back, finisher.appended) == (1, [], [])
    assert asked == [], "a thousand events may wait: none is loaded again for nothing"


async def test_an_event_waits_no_more_once_another_worker_has_decided_the_missing_one(
    store: Store,
) -> None:
    """Whatever stands before it in the stream is of another UE with the same slot."""
    finisher = RecordingFinisher()
    work, early = await begun(store, finisher, None, blocked=True)
    await work.run([early])
    await Bench(store).take(await decider(store, LIVES), LIVES.outside[2])
    while work.held:
        await look_again(work)
    assert len(finisher.appended) == 1
