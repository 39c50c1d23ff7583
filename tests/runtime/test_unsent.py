"""A worker that is killed between an append and the acknowledgement, and the workers after it."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import wire
from eventing.jetstream.delivery import Delivery
from eventing.jetstream.earlier import Waiting
from eventing.jetstream.messages import Addressed, outgoing
from eventing.jetstream.streams import BusConfig
from functions.decision.env import ENTROPY_OCTETS
from functions.runtime.cache import Subscriptions
from functions.runtime.effects import Effects, event_id
from functions.runtime.hosting import Hosted
from functions.runtime.job import Job
from functions.runtime.round import Decider
from functions.runtime.work import Work
from schemas.cloudevents import CloudEvent, EventType
from schemas.gmm.events import ConfigurationUpdateSent
from schemas.step import Page, SendNgap, Step
from statestore.log import EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault
from tests.functions import operator
from tests.functions.site import Site
from tests.functions.world import HOME_KEYS, World
from tests.runtime.deciders import always_earlier, nothing_earlier
from tests.runtime.script import FUTURE_MS, woken

PARTITIONS = 2
SUPI = "imsi-001010000000001"
UE = f"ue/{SUPI}"

POINTS = ("append", "some", "downlinks", "queued")
"""Where a worker is killed: after the append, after the first downlink message, after all of them,
and after the wake-ups and hand-offs, before the acknowledgement."""


class Killed(BaseException):
    """The worker is killed."""


class Played(World):
    """A core in memory that records the events of gNBs, UPFs and operators."""

    def __init__(self, *values: Any, **more: Any) -> None:
        self.outside: list[CloudEvent] = []
        super().__init__(*values, **more)
        self.now = FUTURE_MS

    def deliver(self, event: CloudEvent) -> None:
        if event.type != EventType.TIMER:
            self.outside.append(event)
        super().deliver(event)

    def draw(self, event: CloudEvent) -> tuple[int, bytes]:
        """Return the time and entropy of the step that the event has here."""
        for steps in self.steps.values():
            for step in steps:
                if step.trigger.id == event.id:
                    return step.at, step.entropy
        return self.now, bytes(ENTROPY_OCTETS)


class Gateways:
    """What gNBs get: each message once, as a gateway sends it."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, messages: Iterable[Addressed]) -> None:
        for message in messages:
            if message.event.type == EventType.NGAP_DOWNLINK and message.event.id not in self.sent:
                self.sent.append(message.event.id)


class Finishing:
    """A finisher that sends to `Gateways`, and dies at a point."""

    def __init__(self, gateways: Gateways, effects: Effects, dies: str = "") -> None:
        self._gateways = gateways
        self._effects = effects
        self._dies = dies
        self.acknowledged: list[str] = []

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        if self._dies == "append" and done:
            raise Killed
        for job, step in done:
            messages = await self._effects.downlinks(job.aggregate, step)
            if self._dies == "some":
                self._gateways.send(messages[:1])
                raise Killed
            self._gateways.send(messages)
            if self._dies == "downlinks":
                raise Killed
            self._effects.stored(self._effects.queued(job.aggregate, step, job.wake))
            if self._dies:
                raise Killed
            self.acknowledged.append(job.event.id)

    async def send_unsent(self, unsent: Sequence[tuple[str, Step[Any]]]) -> None:
        for aggregate, step in unsent:
            self._gateways.send(await self._effects.downlinks(aggregate, step))

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        assert not done

    async def wake(self, job: Job) -> None:
        raise NotImplementedError

    async def ack(self, delivery: Delivery) -> None:
        self.acknowledged.append(delivery.headers["ce-id"])

    async def retry(self, job: Job, after: float) -> None:
        raise NotImplementedError

    async def keep(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError


NoneEarlier = Callable[[Sequence[Waiting]], Awaitable[list[bool]]]


class Core:
    """A store with workers on it."""

    def __init__(self, engine: SqliteEngine, world: Played) -> None:
        self._world = world
        self.log = EventLog(engine, Vault(bytes(32)))
        self.subscribers = SubscriberStore(engine, Vault(bytes(32)))
        self.gateways = Gateways()

    async def worker(
        self, dies: str = "", none_earlier: NoneEarlier = nothing_earlier
    ) -> tuple[Work, Finishing]:
        network = self._world.network
        version = await self.log.publish_network(network)
        found = Subscriptions(self.subscribers)
        decider = Decider(self.log, Hosted(), found, network, version, self._world.draw, PARTITIONS)
        finishing = Finishing(self.gateways, Effects(self.log, PARTITIONS), dies)
        bus = BusConfig(partitions=PARTITIONS)
        work = Work(decider, self.log, finishing, bus, HOME_KEYS, lambda: False, none_earlier)
        return work, finishing

    async def steps(self) -> list[Step[Any]]:
        return [step async for step in self.log.steps(UE)]

    async def owed(self) -> list[str]:
        """Return the ids of all messages for gNBs in the log of the UE, in order."""
        found: list[str] = []
        for step in await self.steps():
            for index, output in enumerate(step.outputs):
                if isinstance(output, SendNgap):
                    found.append(event_id(UE, step, index))
                elif isinstance(output, Page):
                    found.append(f"{event_id(UE, step, index)}/001-01-gnb-24-1/a1")
        return found

    def sent(self) -> list[str]:
        return [one for one in self.gateways.sent if one.startswith(f"{UE}/")]


def delivery(event: CloudEvent, deliveries: int = 1) -> Delivery:
    subject, data, headers = outgoing(event, PARTITIONS)
    return Delivery(subject, data, headers, "", deliveries, "")


def life() -> Played:
    """A UE registers, has a session, goes idle, is paged, comes back, releases its session, and is
    deregistered by the operator."""
    site = Site(world=Played)
    world, phone = site.world, site.phone
    site.ask()
    site.hear()
    site.set_up()
    phone.idle()
    site.upfs.serve()
    site.upfs.downlink_data(world.ue().sessions[0].address.ipv4)
    site.upfs.serve()
    phone.open_again(phone.service_request())
    phone.hear()
    site.set_up("InitialContextSetup")
    phone.update()
    release = {
        "message-type": "pdu-session-release-request",
        "pdu-session-identity": 1,
        "procedure-transaction-identity": 2,
    }
    site.say(1, release)
    phone.hear()
    items: list[dict[str, Any]] = [
        {"pDUSessionID": 1, "pDUSessionResourceReleaseResponseTransfer": {}}
    ]
    phone.ngap("PDUSessionResourceReleaseResponse", PDUSessionResourceReleasedListRelRes=items)
    site.say(1, {**release, "message-type": "pdu-session-release-complete"})
    operator.deregister(world, phone.supi)
    phone.leave()
    phone.ngap("UEContextReleaseComplete")
    assert isinstance(world, Played)
    return world


LIFE = life()


@pytest.fixture
async def core(tmp_path: Path) -> AsyncGenerator[Core]:
    engine = await SqliteEngine.open(tmp_path / "evcore.db")
    core = Core(engine, LIFE)
    await core.subscribers.put_all(list(LIFE.subscribers.values()))
    yield core
    await engine.close()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
async def test_what_a_step_sends_is_sent_before_what_later_steps_send(
    core: Core, point: str, warm: bool
) -> None:
    """Another worker, which does or does not have the UE in its cache, decides a wake-up before the
    event is delivered again."""
    other, _ = await core.worker()
    kinds: set[str] = set()
    for number, event in enumerate(LIFE.outside):
        dying, _ = await core.worker(dies=point)
        head = len(await core.steps())
        with contextlib.suppress(Killed):
            await dying.run([delivery(event)])
        steps = (await core.steps())[head:]
        kinds |= {
            wire.ngap_peek(output.pdu).message
            for step in steps
            for output in step.outputs
            if isinstance(output, SendNgap | Page)
        }
        if not warm:
            other, _ = await core.worker()
        if await core.steps():
            await other.run([delivery(woken(SUPI, number))])
            assert core.sent() == await core.owed(), event
        living, finishing = await core.worker()
        await living.run([delivery(event, deliveries=2)])
        assert finishing.acknowledged == [event.id]
        assert core.sent() == await core.owed(), event
    assert kinds >= {
        "DownlinkNASTransport",
        "InitialContextSetupRequest",
        "UEContextReleaseCommand",
        "PDUSessionResourceSetupRequest",
        "PDUSessionResourceReleaseCommand",
        "Paging",
    }


@pytest.mark.parametrize("point", POINTS)
async def test_the_redelivery_sends_it_if_nobody_came_before(core: Core, point: str) -> None:
    for event in LIFE.outside:
        dying, _ = await core.worker(dies=point)
        with contextlib.suppress(Killed):
            await dying.run([delivery(event)])
        living, _ = await core.worker()
        await living.run([delivery(event, deliveries=2)])
        assert core.sent() == await core.owed(), event


async def test_a_worker_that_has_decided_all_steps_itself_sends_nothing_twice(core: Core) -> None:
    work, _ = await core.worker()
    counted = Counted()
    core.gateways = counted
    work, _ = await core.worker()
    for event in LIFE.outside:
        await work.run([delivery(event)])
    assert counted.twice == []
    assert core.sent() == await core.owed()


async def test_an_early_event_sends_nothing_of_others(core: Core) -> None:
    """The event that it waits for may be the answer, or the trigger of what was not sent."""
    initial, answer, after = [one for one in LIFE.outside if one.procedure == "registration"][:3]
    dying, _ = await core.worker(dies="append")
    with contextlib.suppress(Killed):
        await dying.run([delivery(initial)])
    living, _ = await core.worker(none_earlier=always_earlier)
    for _ in range(3):
        await living.run([delivery(after)])
        assert core.sent() == []
    await living.run([delivery(answer)])
    assert core.sent() == (await core.owed())[1:], "the answer shows that the request came"


class Counted(Gateways):
    """Gateways that record what reaches them twice."""

    def __init__(self) -> None:
        super().__init__()
        self.twice: list[str] = []

    def send(self, messages: Iterable[Addressed]) -> None:
        found = [*messages]
        self.twice += [m.event.id for m in found if m.event.id in self.sent]
        super().send(found)


async def test_workers_in_turn_send_nothing_twice_that_is_answered(core: Core) -> None:
    """A new worker for each event. Only the response of a UPF crosses a message: a CONFIGURATION
    UPDATE COMMAND, which the UE has not answered yet."""
    counted = core.gateways = Counted()
    for event in LIFE.outside:
        work, _ = await core.worker()
        await work.run([delivery(event)])
    assert core.sent() == await core.owed()
    (seq,) = (step.seq for step in await core.steps() if _updates(step))
    assert counted.twice == [f"{UE}/{seq}/0"]


def _updates(step: Step[Any]) -> bool:
    return any(isinstance(event, ConfigurationUpdateSent) for event in step.events)
