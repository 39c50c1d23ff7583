"""The output of a worker: after the append, before the acknowledgement, and repeated."""

import asyncio
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from functions.runtime import fan_out
from functions.runtime.effects import event_id
from schemas.cloudevents import EventType
from schemas.procedures import Procedure
from schemas.step import HandOff, SendNgap, Step, Wake
from schemas.ue.waking import MOBILE_REACHABLE, shared_by, wake_key
from tests.eventing.brokers import arrived, until
from tests.runtime import plant as plants
from tests.runtime.plant import BUS, Heard, Plant, listen
from tests.runtime.script import association_lost

APPENDED = "the steps are appended"
CONNECTION_LOST = EventType.CONNECTION_LOST


class Tap:
    """All messages on the bus in order, with each append at its position."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self.heard: list[Heard] = []

    async def start(self) -> None:
        await listen(self._plant.client, ">", self.heard)
        worker = await self._plant.worker()

        async def appended(_: str) -> None:
            # The output of the worker so far is before this position.
            await arrived(worker.client)
            await arrived(self._plant.client)
            await asyncio.sleep(0)
            for trigger in worker.store.appended[-1]:
                self.heard.append(Heard(APPENDED, "", b"", {"ce-id": trigger}))

        worker.store.after = appended

    def _at(self, **wanted: str) -> int:
        found = [i for i, heard in enumerate(self.heard) if _is(heard, wanted)]
        assert found, wanted
        return found[0]

    def appended(self, step: Step[Any]) -> int:
        return self._at(subject=APPENDED, id=step.trigger.id)

    def sent(self, aggregate: str, step: Step[Any], index: int) -> int:
        return self._at(id=event_id(aggregate, step, index))

    def asked(self, aggregate: str, step: Step[Any], wake: Wake) -> int:
        """Return the position of a wake-up request, for this UE or the first for several UEs."""
        own = event_id(aggregate, step, step.outputs.index(wake))
        if any(heard.id == own for heard in self.heard):
            return self.sent(aggregate, step, step.outputs.index(wake))
        timer = MOBILE_REACHABLE if wake.procedure == Procedure.DEREGISTRATION else "T3560"
        at, _ = shared_by(wake_key(wake.at, timer, ""))
        keys = [heard.headers.get("ce-partitionkey") for heard in self.heard]
        return keys.index(f"wakes-{wake.procedure}-{at}")

    def stored(self, sent: int) -> int:
        """Return the position when JetStream stored a message."""
        return self._at(subject=self.heard[sent].reply)

    def acknowledged(self, step: Step[Any]) -> int:
        delivered = [
            heard.reply
            for heard in self.heard
            if heard.id == step.trigger.id and heard.reply.startswith("$JS.ACK.")
        ]
        return self._at(subject=delivered[-1])  # the earlier deliveries have routed it


def _is(heard: Heard, wanted: dict[str, str]) -> bool:
    return all(getattr(heard, name) == value for name, value in wanted.items())


async def test_append_then_effects_then_acknowledgement(plant: Plant) -> None:
    tap = Tap(plant)
    await tap.start()
    lane = plant.script.lanes[4]  # this lane has a hand-off
    await plant.play(lane)
    await plant.idle()
    await arrived(plant.client)
    kinds: set[type] = set()
    for aggregate in lane[-1].heads | lane[0].heads:
        for step in await plant.store.steps(aggregate):
            appended, acknowledged = tap.appended(step), tap.acknowledged(step)
            assert appended < acknowledged
            for index, output in enumerate(step.outputs):
                kinds.add(type(output))
                if isinstance(output, Wake):  # another UE may have requested it before
                    sent = tap.asked(aggregate, step, output)
                else:
                    sent = tap.sent(aggregate, step, index)
                    assert appended < sent
                assert sent < acknowledged
                if not isinstance(output, SendNgap):
                    assert sent < tap.stored(sent) < acknowledged
    assert kinds == {SendNgap, Wake, HandOff}


async def for_ever(_: str) -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def test_a_worker_that_dies_after_the_append_leaves_the_sending_to_the_next(
    impatient: Plant,
) -> None:
    """For every output of a step: a PDU, a wake-up, a hand-off."""
    plant = impatient
    for stretch in plant.script.lanes[4]:
        for event in stretch.events:
            dying = await plant.worker()
            dying.store.after = for_ever
            await plant.publish([event])
            await until(lambda dying=dying: bool(dying.store.appended))
            assert dying.store.appended[0] in ([], [event.id])
            await dying.kill()
            living = await plant.worker()
            await plant.idle()
            await living.stop()
        await plant.reached(stretch.heads)
    steps = await plant.store.steps("ue/imsi-001010000000004")
    for step in steps:
        for index, output in enumerate(step.outputs):
            if isinstance(output, SendNgap):
                identifier = event_id("ue/imsi-001010000000004", step, index)
                assert plant.downlinks(identifier)
    assert {**plant.script.story(), **await plant.store.story()} == plant.script.story()


async def test_a_copy_is_answered_again_until_the_ue_has_answered(plant: Plant) -> None:
    await plant.worker()
    initial, connected, *_ = plant.script.lanes[1]
    answer = "ue/imsi-001010000000001/1/"
    await plant.publish(initial.events)
    await plant.idle()
    sent = [heard.id for heard in plant.heard]
    assert len(sent) == 1
    assert sent[0].startswith(answer)
    await plant.publish(initial.events)
    await until(lambda: len(plant.heard) == 2)
    assert plant.heard[0] == plant.heard[1]
    await plant.publish(connected.events)
    await plant.reached(connected.heads)
    await plant.idle()
    before = len(plant.downlinks(sent[0]))
    await plant.publish(initial.events)
    await plant.idle()
    after = len(plant.downlinks(sent[0]))
    assert after == before, "an old challenge would contradict what came since"
    assert (await plant.store.heads()) == connected.heads


@pytest.mark.parametrize("page", [1, 3, 100])
async def test_each_ue_of_a_lost_association_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(fan_out, "PAGE", page)
    script = association_lost(7)
    async with plants.running(tmp_path, script) as plant:
        await plant.worker()
        *setups, lost = script.lanes
        await plant.play(*setups)
        await plant.play(lost)
        await plant.idle()
        await plant.store.holds(script)
        await plant.publish(lost[0].events)
        await plant.idle()
        await plant.store.holds(script)
        assert await plant.store.scan("gnb", "") == []


async def test_a_fan_out_goes_on_where_its_worker_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_out, "PAGE", 1)
    script = association_lost(7)
    async with plants.running(tmp_path, script, replace(BUS, ack_wait=2.0)) as plant:
        *setups, lost = script.lanes
        dying, pages = await plant.worker(), 0
        await plant.play(*setups)
        scan = dying.store.scan

        async def third_page(
            kind: str, prefix: str, after: str = "", limit: int = 1000
        ) -> list[tuple[str, str]]:
            nonlocal pages
            pages += kind == "gnb"
            if pages == 3:
                await for_ever("scan")
            return await scan(kind, prefix, after, limit)

        dying.store.scan = third_page
        await plant.publish(lost[0].events[:1])
        await until(lambda: pages == 3)
        left = await plant.store.scan("gnb", "")
        assert len(left) >= 5
        await dying.kill()
        events: list[Heard] = []
        await listen(plant.client, "ue.>", events)
        await plant.worker()

        async def all_are_told() -> bool:
            return await plant.store.scan("gnb", "") == []

        await until(all_are_told)
        told = {heard.id for heard in events if heard.headers["ce-type"] == CONNECTION_LOST}
        assert len(told) == 5, "the two before were told by the first worker"


async def test_few_events_of_a_fan_out_wait_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request of a UE finds a short queue. All of them at once would be 60."""
    monkeypatch.setattr(fan_out, "PAGE", 4)
    script = association_lost(60)
    async with plants.running(tmp_path, script) as plant:
        *setups, lost = script.lanes
        worker = await plant.worker()
        await plant.play(*setups)
        scan, waiting = worker.store.scan, list[int]()
        decided = len([one for batch in worker.store.appended for one in batch])

        async def noted(
            kind: str, prefix: str, after: str = "", limit: int = 1000
        ) -> list[tuple[str, str]]:
            if kind == "gnb":
                done = len([one for batch in worker.store.appended for one in batch]) - decided - 1
                waiting.append(4 * len(waiting) - done)
            return await scan(kind, prefix, after, limit)

        worker.store.scan = noted
        await plant.publish(lost[0].events[:1])

        async def all_are_told() -> bool:
            return await plant.store.scan("gnb", "") == []

        await until(all_are_told)
        assert len(waiting) >= 60 / 4
        assert max(waiting) <= 3 * 4
