"""What the workers of the model do with events, and the log."""

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from schemas.position import Position
from tests.order import rules
from tests.order.states import (
    IDENTIFICATION,
    Delivery,
    Design,
    Event,
    Job,
    Log,
    Message,
    Scenario,
    State,
    Step,
    Stored,
    Wrong,
    in_gateway,
    names,
)

Verdict = Literal["wait", "drop", "copy", "move", "hand off", "decide"]
"""`copy`: the log has a step of it, or a note that it is superseded. `move`: to the UE's slot,
before a look at its state."""


def work(
    scenario: Scenario, design: Design, state: State, number: int, deliveries: tuple[Delivery, ...]
) -> Iterator[Step]:
    """Yield what a worker can do with its deliveries.

    Raises:
        Wrong: one of the steps breaks the order.
    """
    held = _held(scenario, design, state, number, deliveries)
    for at, delivery in enumerate(deliveries):
        for index, job in enumerate(delivery.jobs):
            turn = _Turn(scenario, design, state, number, at, index)
            if job.state == "leaving":
                yield from turn.copied()
            elif job.state == "decided":
                yield turn.answered()
            elif job.is_open:
                yield from turn.leaves()
                if (at, index) not in held:
                    yield from turn.decided()
        yield from _acknowledge(scenario, design, state, number, at)


def _held(
    scenario: Scenario, design: Design, state: State, number: int, deliveries: tuple[Delivery, ...]
) -> set[tuple[int, int]]:
    """Return the events of a worker that another event of the same UE goes before: an early one
    that waits, or one that the worker has not looked at yet."""
    found = [
        (at, index, delivery, job)
        for at, delivery in enumerate(deliveries)
        for index, job in enumerate(delivery.jobs)
        if job.is_open
    ]
    if len(found) < 2:
        return set()
    held: set[tuple[int, int]] = set()
    ues: set[int] = set()
    order = rules.in_order([(scenario.messages[job.message], job.position) for *_, job in found])
    for at, index, delivery, job in map(found.__getitem__, order):
        ue = scenario.messages[job.message].ue
        moves = _verdict(scenario, design, state, number, delivery, job) == "move"
        if ue in ues and not moves:
            held.add((at, index))
        elif not moves or design.leaves_in_order:
            ues.add(ue)
    return held


class _Turn:
    """An event of a worker, and what can become of it."""

    def __init__(
        self, scenario: Scenario, design: Design, state: State, number: int, at: int, index: int
    ) -> None:
        self._scenario = scenario
        self._design = design
        self._state = state
        self._number = number
        self._at = at
        self._index = index
        self._deliveries = state.workers[number] or ()
        self._delivery = self._deliveries[at]
        self._job = self._delivery.jobs[index]
        self._message = scenario.messages[self._job.message]

    def _becomes(self, **changes: str) -> State:
        """Return the state of all processes after a change of the event's job."""
        index, at = self._index, self._at
        jobs = self._delivery.jobs
        jobs = (*jobs[:index], self._job._replace(**changes), *jobs[index + 1 :])
        delivery = self._delivery._replace(jobs=jobs)
        deliveries = (*self._deliveries[:at], delivery, *self._deliveries[at + 1 :])
        return self._state.with_worker(self._number, deliveries)

    def _step(self, what: str, after: State) -> Step:
        return f"worker {self._number} {what} {self._message.name}", after

    def _has_before(self, *states: str) -> bool:
        """Whether the batch has an event of the UE before this one in one of the states."""
        return any(
            job.state in states and self._scenario.messages[job.message].ue == self._message.ue
            for job in self._delivery.jobs[: self._index]
        )

    def answered(self) -> Step:
        """Send the outputs of its step."""
        after = self._becomes(state="done")
        sent = after.sent | {self._job.message}
        return self._step("sends the outputs of", after._replace(sent=sent))

    def leaves(self) -> Iterator[Step]:
        """Take it from its batch, to be decided again later."""
        if self._state.faults.leaves and len(self._delivery.jobs) > 1:
            after = self._becomes(state="leaving", to=self._delivery.consumer)
            yield self._step("takes from its batch", after.after("leaves"))

    def copied(self) -> Iterator[Step]:
        """Store the message that replaces it."""
        before = self._has_before("new", "asked", "first", "leaving")
        if before and self._design.leaves_in_order:
            return
        position = self._job.position if self._design.keeps_position else None
        event = Event(self._job.message, position)
        after = self._becomes(state="done").store(self._job.to, (event,), again=True)
        yield self._step(f"stores as {after.last} again", after)

    def decided(self) -> Iterator[Step]:
        """Decide it, or what else its turn allows.

        Raises:
            Wrong: its step breaks the order.
        """
        verdict = _verdict(
            self._scenario, self._design, self._state, self._number, self._delivery, self._job
        )
        match verdict:
            case "wait":
                yield from self._waited()
            case "drop":
                yield self._step("drops", self._becomes(state="done").drop(self._job.message))
            case "copy":
                yield self._step("finds a step of", self._becomes(state="decided"))
            case "decide":
                after = _append(self._scenario, self._becomes(state="decided"), self._job)
                yield self._step("decides", after)
            case "move" | "hand off":
                after = self._becomes(state="leaving", to=self._message.decided_by)
                yield self._step("publishes again", after)

    def _waited(self) -> Iterator[Step]:
        if self._design.wait == "fixed":
            yield self._step("has waited long enough with", self._becomes(state="first"))
            return
        if self._design.own_batch and self._has_before("leaving"):
            return
        if _is_half_first(self._scenario, self._design, self._state, self._job):
            if self._job.state == "new":
                yield self._step("half finds nothing before", self._becomes(state="asked"))
            else:
                yield self._step("finds nothing before", self._becomes(state="first"))


def _acknowledge(
    scenario: Scenario, design: Design, state: State, number: int, at: int
) -> Iterator[Step]:
    """Acknowledge a message of which all events are completed."""
    deliveries = state.workers[number] or ()
    delivery = deliveries[at]
    states = {job.state for job in delivery.jobs}
    if not states <= ({"done"} if design.stored_first else {"done", "leaving"}):
        return
    key = delivery.sequence, delivery.time
    stream = tuple(stored for stored in state.stream if (stored.sequence, stored.time) != key)
    after = state._replace(stream=stream)
    if states == {"done"}:
        after = after.with_worker(number, (*deliveries[:at], *deliveries[at + 1 :]))
    if after != state:
        messages = tuple(job.message for job in delivery.jobs)
        name = names(scenario, messages)
        yield f"worker {number} acknowledges {name}", after
        if stream != state.stream and state.faults.forgotten:
            kept = tuple(
                one._replace(acknowledged=True) if (one.sequence, one.time) == key else one
                for one in state.stream
            )
            yield (
                f"worker {number} acknowledges {name}, and its removal is forgotten",
                after._replace(stream=kept).after("forgotten"),
            )


# The rules


def _verdict(
    scenario: Scenario, design: Design, state: State, number: int, delivery: Delivery, job: Job
) -> Verdict:
    """Return what a worker may do with an event."""
    message = scenario.messages[job.message]
    log = state.logs[message.ue]
    hosted = message.decided_by in scenario.hosts[number]
    foreign = _is_foreign(scenario, log)
    moves = delivery.consumer == IDENTIFICATION and not hosted
    verdict: Verdict = "decide" if hosted else "hand off"
    if moves or (message.foreign and not delivery.again):
        verdict = "move"
    elif job.message in log.messages or (message.opens and job.message in state.dropped):
        verdict = "copy"
    elif message.opens and _is_superseded(design, log, job):
        verdict = "drop"
    elif (
        job.state != "first"
        and (design.openings_wait or not message.takes_over)
        and rules.is_early(message, log, foreign=foreign)
    ):
        verdict = "wait"
    elif not message.opens and _is_old(design, log, message):
        verdict = "drop"
    return verdict


def _is_superseded(design: Design, log: Log, job: Job) -> bool:
    newest = log.opened if design.remembered or log.connection else None
    return design.superseded and newest is not None and _precedes(design, job.position, newest)


def _is_old(design: Design, log: Log, message: Message) -> bool:
    """Whether a message was processed before, or is of a connection or RAN end that was left."""
    if message.connection != log.connection:
        return design.old_dropped or message.connection == log.latest
    return (message.end, message.number) <= (log.end, log.number)


def _is_foreign(scenario: Scenario, log: Log) -> bool:
    return any(
        scenario.messages[number].foreign
        for number in range(len(scenario.messages))
        if scenario.messages[number].connection == log.connection
    )


def _precedes(design: Design, one: Position, other: Position) -> bool:
    if not design.with_time:
        one, other = replace(one, stored=0), replace(other, stored=0)
    return one.precedes(other)


def _is_half_first(scenario: Scenario, design: Design, state: State, job: Job) -> bool:
    """Whether one half of the stream has no event before that of `job`: the messages of a lower
    sequence, or those that are published again."""
    message = scenario.messages[job.message]
    log = state.logs[message.ue]
    slots = rules.slots(message, log.connection, foreign=_is_foreign(scenario, log))
    if not design.all_slots:
        slots = frozenset([rules.own_slot(message.ue)])
    found: tuple[Stored, ...] = ()
    if (job.state == "new") == design.again_last:
        found = tuple(one for one in state.stream if one.sequence < job.position.sequence)
    elif design.again:
        found = tuple(one for one in state.stream if one.again)
    return not any(
        _slot(scenario.messages[event.message], stored) in slots
        and _precedes(design, position, job.position)
        for stored in found
        for event, position in zip(stored.events, stored.positions, strict=True)
    )


def _slot(message: Message, stored: Stored) -> int | None:
    """Return the slot of an event; None for a concealed SUCI, which has none of its UE."""
    if stored.consumer == IDENTIFICATION:
        return None
    return rules.own_slot(message.ue) if stored.again else rules.slot_of_message(message)


# The log


def _append(scenario: Scenario, state: State, job: Job) -> State:
    """Append the step of a message.

    Raises:
        Wrong: the step breaks the order.
    """
    message = scenario.messages[job.message]
    log = state.logs[message.ue]
    if message.connection < log.latest and not _later_by_storage(scenario, state, job.message, log):
        raise Wrong(f"{message.name} acts on connection {log.latest}, which is newer")
    for earlier in range(job.message):
        found = scenario.messages[earlier]
        if found.ue != message.ue or earlier in log.messages or found.opens:
            continue  # an opening is superseded by a newer one
        if found.connection not in (log.connection, message.connection):
            continue  # its connection was released
        same = (found.connection, found.end) == (message.connection, message.end)
        if (message.takes_over or same) and not _is_gone(scenario, state, earlier, job.message):
            raise Wrong(f"{message.name} is processed before {found.name}")
    after = log._replace(messages=(*log.messages, job.message), number=message.number)
    if message.takes_over:
        after = after._replace(
            connection=message.connection,
            end=message.end,
            opened=job.position,
            latest=message.connection,
        )
    return state.with_log(message.ue, after._replace(connection=0) if message.ends else after)


def _is_gone(scenario: Scenario, state: State, earlier: int, later: int) -> bool:
    """Whether the later of two messages need not wait for the earlier one."""
    if earlier in state.dropped | state.erased:
        return True
    if in_gateway(scenario, state, earlier) or state.has(earlier):
        return _may_overtake(scenario, state, earlier, later)
    return not any(
        job.message == earlier and job.state == "leaving"
        for deliveries in state.workers
        for delivery in deliveries or ()
        for job in delivery.jobs
    )


def _may_overtake(scenario: Scenario, state: State, earlier: int, later: int) -> bool:
    """Whether two gateways have read two messages, and the later one was stored first. Nothing
    orders two gateways but the stream, and it may have lost one of the two."""
    if scenario.messages[earlier].gateway == scenario.messages[later].gateway:
        return False
    if earlier not in state.stored or not state.erased.isdisjoint((earlier, later)):
        return True
    return state.stored.index(earlier) > state.stored.index(later)


def _later_by_storage(scenario: Scenario, state: State, message: int, log: Log) -> bool:
    """Whether another gateway published the opening of the newest connection before a message."""
    ue = scenario.messages[message].ue
    opening = next(
        number
        for number, found in enumerate(scenario.messages)
        if (found.connection, found.ue) == (log.latest, ue)
    )
    return _may_overtake(scenario, state, message, opening)
