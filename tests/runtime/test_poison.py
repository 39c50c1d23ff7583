"""Events that always fail: they become dead letters, and the UE continues."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import wire
from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream.messages import Addressed, Outgoing, gathered
from eventing.jetstream.publisher import Publisher
from functions.runtime import hosting
from schemas.batch import BATCH_MEDIA_TYPE
from schemas.cloudevents import CloudEvent, EventType
from schemas.origin import Origin, origin_of
from schemas.procedures import MODULES, Procedure
from schemas.step import SendNgap
from tests.eventing.brokers import event as any_event
from tests.functions.gnb import ng_setup
from tests.runtime import plant as plants
from tests.runtime import wrong as module
from tests.runtime.plant import ALL, IMPATIENT, Heard, Plant, listen
from tests.runtime.script import Script

UE, OTHER = "ue/imsi-001010000000001", "ue/imsi-001010000000002"


def leaving() -> Script:
    """Two UEs register, deregister, and register again."""
    script = Script(2)
    with script.lane():
        ng_setup(script)
    phones = script.phones()
    for phone in phones:
        with script.lane():
            phone.register()
    for phone in phones:
        with script.lane():
            phone.say(phone.deregistration())
            phone.hear()
    for phone in phones:
        with script.lane():
            phone.ngap("UEContextReleaseComplete")
    for phone in phones:
        with script.lane():
            phone.guti, phone.ngksi = None, 7
            phone.initial(wire.nas_encode(phone.request()))
    return script


@pytest.fixture
async def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Plant]:
    """A worker with code that fails to deregister the first UE."""
    script = leaving()
    monkeypatch.setitem(MODULES, Procedure.DEREGISTRATION, "tests.runtime.wrong")
    async with plants.running(tmp_path, script, IMPATIENT) as plant:
        yield plant


@pytest.mark.parametrize(
    "groups", [(ALL,), (ALL[:3], ALL[3:])], ids=["one worker", "deregistration elsewhere"]
)
async def test_what_fails_each_time_is_a_dead_letter_and_the_ue_goes_on(
    wrong: Plant, groups: tuple[tuple[Procedure, ...], ...]
) -> None:
    lanes = wrong.script.lanes
    for procedures in groups:
        await wrong.worker(procedures)
    await wrong.play(lanes[0])
    await wrong.play(*lanes[1:3])
    (poison,) = lanes[3][0].events
    await wrong.publish([poison])
    await wrong.play(lanes[4])
    await wrong.idle()

    (letter,) = await wrong.letters()
    assert letter.headers["evcore-reason"] == "ZeroDivisionError:%20wrong%20on%20purpose"
    kept = nats_binding.from_message(letter.headers, letter.data)
    assert replace(kept, procedure=poison.procedure, position=None) == poison
    assert letter.subject.startswith("dead.ue.")
    last = (await wrong.store.steps(UE))[-1]
    assert (last.trigger.id, last.poisoned) == (poison.id, True)
    commands = [output for output in last.outputs if isinstance(output, SendNgap)]
    assert [wire.ngap_peek(c.pdu).message for c in commands] == [
        "DownlinkNASTransport",
        "UEContextReleaseCommand",
    ]

    await wrong.play(lanes[6])
    await wrong.publish(lanes[5][0].events)
    await wrong.idle()
    (ue,) = await wrong.store.log.load([UE])
    assert ue.state.connection is None, "released as the core has asked for"
    await wrong.publish(lanes[7][0].events)
    await wrong.idle()
    (ue,) = await wrong.store.log.load([UE])
    assert ue.state.registration is not None, "and registers anew"
    assert (await wrong.store.story())[OTHER] == wrong.script.story()[OTHER][:-1]
    assert len(await wrong.letters()) == 1


async def test_what_fails_harms_nothing_that_came_with_it(wrong: Plant) -> None:
    """Two UEs of one partition deregister in one message."""
    lanes = wrong.script.lanes
    await wrong.worker()
    await wrong.play(lanes[0])
    await wrong.play(*lanes[1:3])
    (poison,), (other,) = lanes[3][0].events, lanes[4][0].events
    asked: list[Heard] = []
    await listen(wrong.client, "ue.>", asked)
    wrong.together = True
    await wrong.publish([replace(other, slot=poison.slot), poison])
    assert [heard.id for heard in asked[:2]] == [other.id, poison.id]
    assert asked[0].reply == asked[1].reply, "one message"
    await wrong.reached(lanes[4][0].heads)
    await wrong.idle()
    (letter,) = await wrong.letters()
    assert letter.headers["evcore-reason"] == "ZeroDivisionError:%20wrong%20on%20purpose"
    kept = nats_binding.from_message(letter.headers, letter.data)
    assert replace(kept, procedure=poison.procedure, position=None) == poison
    steps = await wrong.store.steps(OTHER)
    assert [step.trigger.id for step in steps].count(other.id) == 1
    assert (await wrong.store.steps(UE))[-1].trigger.id == poison.id


async def test_one_that_works_the_second_time_is_none(
    wrong: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker with other code decides the event that failed here."""
    fails, tries = module.decide, 0

    def once(d: Any, given: Any) -> None:
        nonlocal tries
        tries += 1
        (fails if tries == 1 else module.procedure.decide)(d, given)

    monkeypatch.setattr(module, "decide", once)
    lanes = wrong.script.lanes
    await wrong.worker()
    await wrong.play(lanes[0])
    await wrong.play(*lanes[1:3])
    await wrong.play(lanes[3])
    await wrong.idle()
    assert tries == 2
    assert await wrong.letters() == []
    assert not (await wrong.store.steps(UE))[-1].poisoned


@pytest.mark.parametrize("together", [False, True], ids=["by themselves", "in batches"])
async def test_what_fails_once_is_not_waited_for_long(
    plant: Plant, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event fails once. Later events wait for it, also in its own batch."""
    failed: set[str] = set()
    works = hosting.decide

    def once(procedures: Any, state: Any, seq: int, event: CloudEvent, given: Any) -> Any:
        if event.id not in failed:
            failed.add(event.id)
            raise ZeroDivisionError("wrong on purpose")
        return works(procedures, state, seq, event, given)

    monkeypatch.setattr(hosting, "decide", once)
    plant.together = together
    await plant.worker()
    await plant.play_all()
    await plant.idle()
    assert len(failed) > 20
    assert await plant.letters() == []
    await plant.store.holds(plant.script)


WHOLE = any_event(77, source="/n2/gnb-1/a1", procedure=Procedure.DEREGISTRATION)
BAD: dict[str, CloudEvent] = {
    "no procedure": replace(WHOLE, procedure="smf"),
    "no aggregate": replace(WHOLE, partitionkey="smf/1"),
    "no gateway": replace(WHOLE, source="/n2/gnb-1"),
    "no data": replace(WHOLE, type=EventType.IDENTIFIED, data=b"\xc1"),
}
ODD: dict[str, CloudEvent] = {
    "no NGAP": WHOLE,
    "no SUCI": replace(
        WHOLE, type=EventType.IDENTIFIED, procedure=Procedure.IDENTIFICATION, data=b"x"
    ),
    "an unknown type": replace(WHOLE, type="org.example.other"),
    "a RAN node's, of nobody": replace(
        WHOLE, type=EventType.TIMER, source="/ue", partitionkey="gnb-1"
    ),
}


async def beside_the_script(plant: Plant, event: CloudEvent) -> None:
    """Send an event before all others, and check that no other event is affected."""
    message = Outgoing(
        subjects.event(0, procedure_of(event), origin_of(event), 0),
        event.data,
        nats_binding.to_headers(event),
    )
    publisher = Publisher(plant.client, 2)
    await publisher.start()
    await publisher.publish([message])
    await plant.play_all()
    await plant.idle()
    assert (await plant.store.heads()).items() >= plant.script.heads.items()


def procedure_of(event: CloudEvent) -> Procedure:
    known = [procedure for procedure in Procedure if procedure == event.procedure]
    return known[0] if known else Procedure.REGISTRATION


@pytest.mark.parametrize("bad", list(BAD))
async def test_what_is_no_event_for_us_is_a_dead_letter(plant: Plant, bad: str) -> None:
    await plant.worker()
    await beside_the_script(plant, BAD[bad])
    (letter,) = await plant.letters()
    assert letter.headers.items() >= nats_binding.to_headers(BAD[bad]).items()
    assert letter.data == BAD[bad].data
    assert letter.headers["evcore-reason"]


@pytest.mark.parametrize("bad", list(BAD))
async def test_what_is_no_event_for_us_leaves_the_others_of_its_batch(
    plant: Plant, bad: str
) -> None:
    await plant.worker()
    (first,) = plant.script.lanes[0][0].events
    subject = subjects.event(0, Procedure.RAN, Origin.N2, 0)
    some = [Addressed(subject, BAD[bad]), Addressed(subject, first)]
    publisher = Publisher(plant.client, 2)
    await publisher.start()
    await publisher.publish(gathered(some))
    await plant.reached(plant.script.lanes[0][0].heads)
    await plant.idle()
    (letter,) = await plant.letters()
    assert letter.headers.items() >= nats_binding.to_headers(BAD[bad]).items()
    assert letter.data == BAD[bad].data


async def test_what_is_no_batch_is_a_dead_letter(plant: Plant) -> None:
    publisher = Publisher(plant.client, 2)
    await publisher.start()
    sent = Outgoing("ue.1.registration.n2.35", b"[{}]", {"Content-Type": BATCH_MEDIA_TYPE})
    await publisher.publish([sent])
    await plant.worker()
    await plant.idle()
    (letter,) = await plant.letters()
    assert (letter.subject, letter.data) == (f"dead.{sent.subject}", sent.data)
    assert "not%20a%20batch%20of%20events" in letter.headers["evcore-reason"]
    assert letter.headers["Content-Type"] == BATCH_MEDIA_TYPE


@pytest.mark.parametrize("odd", list(ODD))
@pytest.mark.parametrize("procedures", [ALL, ALL[1:]], ids=["all", "without ran"])
async def test_what_means_nothing_harms_nobody(
    plant: Plant, odd: str, procedures: tuple[Procedure, ...]
) -> None:
    await plant.worker(procedures)
    if Procedure.RAN not in procedures:
        await plant.worker((Procedure.RAN,))
    await beside_the_script(plant, ODD[odd])
    assert await plant.letters() == []


async def test_a_message_that_is_no_cloudevent_is_a_dead_letter(plant: Plant) -> None:
    publisher = Publisher(plant.client, 2)
    await publisher.start()
    await publisher.publish([Outgoing("ue.1.registration.n2.35", b"hello", {})])
    await plant.worker()
    await plant.idle()
    (letter,) = await plant.letters()
    assert (letter.subject, letter.data) == ("dead.ue.1.registration.n2.35", b"hello")
    reason = "a message without headers is no CloudEvent in binary mode"
    assert letter.headers == {"evcore-reason": nats_binding.header_value(reason)}
