"""The order of the events of a UE, as a state machine.

Two gateways, one stream, two workers and the log of each UE. `actions` returns every step that a
state allows: each process may be slow for any time, a worker that does not run may start at any
time, and a `Scenario` says how often each fault may occur. A `Design` says how the order is kept.
`Wrong` is raised by a step that breaks it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from tests.order.states import (
    Delivery,
    Design,
    Event,
    Gateway,
    Job,
    Log,
    Message,
    Publication,
    Scenario,
    State,
    Step,
    Wrong,
    in_gateway,
    names,
)
from tests.order.workers import work


def start(scenario: Scenario) -> State:
    """Return the first state: no worker runs."""
    gateways = 1 + max(message.gateway for message in scenario.messages)
    ues = 1 + max(message.ue for message in scenario.messages)
    return State(
        (Gateway(),) * gateways,
        (None,) * len(scenario.hosts),
        (Log(),) * ues,
        scenario.faults,
    )


def actions(scenario: Scenario, design: Design, state: State) -> Iterator[Step]:
    """Yield what can happen next.

    Raises:
        Wrong: one of the steps breaks the order.
    """
    yield from _read(scenario, state)
    for number in range(len(state.gateways)):
        yield from _publish(scenario, design, state, number)
    yield from _lose(state)
    if design.floors:
        yield from _remove(scenario, state)
    for number, deliveries in enumerate(state.workers):
        if deliveries is None:
            yield f"worker {number} starts", state.with_worker(number, ())
            continue
        if state.faults.kills:
            yield f"worker {number} is killed", state.with_worker(number, None).after("kills")
        yield from _deliver(scenario, design, state, number, deliveries)
        yield from work(scenario, design, state, number, deliveries)


def settled(scenario: Scenario, state: State) -> None:
    """Check a state in which only faults can happen.

    Raises:
        Wrong: a message that was read is neither processed nor dropped, or not answered.
    """
    left = [stored for stored in state.stream if not stored.acknowledged]
    if left:
        waiting = tuple(event.message for event in left[0].events)
        raise Wrong(f"{names(scenario, waiting)} waits for ever")
    processed = {message for log in state.logs for message in log.messages}
    for message in range(state.read):
        if message in state.erased | state.dropped:
            continue
        if message not in processed:
            raise Wrong(f"{names(scenario, (message,))} is lost")
        if message not in state.sent:
            raise Wrong(f"the outputs of {names(scenario, (message,))} are never sent")


# Gateways


def _read(scenario: Scenario, state: State) -> Iterator[Step]:
    """A gateway reads the next message."""
    if state.read == len(scenario.messages):
        return
    message = scenario.messages[state.read]
    after = state._replace(read=state.read + 1)
    if message.opens or _is_answered(scenario, state, message):
        gateway = state.gateways[message.gateway]
        gateway = gateway._replace(waiting=(*gateway.waiting, state.read))
        yield f"{message.name} is read", after.with_gateway(message.gateway, gateway)
    elif not _may_be_answered(scenario, state, message):
        yield f"{message.name} is never sent", after.drop(state.read)


def _is_answered(scenario: Scenario, state: State, message: Message) -> bool:
    """Whether the gNB has an answer to the opening of the connection: before it, it does not know
    the AMF-UE-NGAP-ID that the message needs."""
    end = message.end if message.number else message.end - 1
    found = (scenario.messages[number] for number in state.logs[message.ue].messages)
    return any((one.connection, one.end) == (message.connection, max(0, end)) for one in found)


def _may_be_answered(scenario: Scenario, state: State, message: Message) -> bool:
    return any(
        scenario.messages[number].connection == message.connection
        and scenario.messages[number].ue == message.ue
        and number not in state.dropped
        and (state.has(number) or in_gateway(scenario, state, number))
        for number in range(state.read)
    )


def _publish(scenario: Scenario, design: Design, state: State, number: int) -> Iterator[Step]:
    gateway = state.gateways[number]
    many = design.in_flight == "many"
    if gateway.waiting and (many or not (gateway.sent or gateway.failed)):
        messages, left = _gathered(scenario, design, gateway.waiting)
        after = Gateway(left, (*gateway.sent, *messages), gateway.failed)
        yield f"gateway {number} publishes", state.with_gateway(number, after)
    if gateway.failed and (many or not gateway.sent):
        after = gateway._replace(sent=(*gateway.sent, *gateway.failed), failed=())
        yield f"gateway {number} publishes again", state.with_gateway(number, after)
    if not gateway.sent:
        return
    (consumer, messages), *rest = gateway.sent
    name = names(scenario, messages)
    sent = gateway._replace(sent=tuple(rest))
    failed = sent._replace(failed=(*gateway.failed, (consumer, messages)))
    stored = state.store(consumer, tuple(map(Event, messages)), again=False)
    yield f"{name} is stored as {stored.last}", stored.with_gateway(number, sent)
    if state.faults.lost:
        yield f"{name} is lost", state.with_gateway(number, failed).after("lost")
    if state.faults.unacknowledged:
        after = stored.with_gateway(number, failed).after("unacknowledged")
        yield f"{name} is stored as {stored.last}, and the acknowledgement is lost", after


def _gathered(
    scenario: Scenario, design: Design, waiting: tuple[int, ...]
) -> tuple[Publication, tuple[int, ...]]:
    """Return the messages of a publication, one for each consumer, and the events that wait."""
    messages: dict[str, list[int]] = {}
    consumers: dict[int, str] = {}
    left: list[int] = []
    for number in waiting:
        message = scenario.messages[number]
        mine = consumers.setdefault(message.ue, message.consumer)
        if design.in_flight == "message" and mine != message.consumer:
            consumers[message.ue] = ""  # nothing of this UE may overtake it
            left.append(number)
        else:
            messages.setdefault(message.consumer, []).append(number)
    return tuple((consumer, tuple(some)) for consumer, some in messages.items()), tuple(left)


# The stream


def _lose(state: State) -> Iterator[Step]:
    """The stream loses messages."""
    if state.faults.recreated and state.last:
        yield "the stream is recreated", _shortened(state, 0, 0).after("recreated")
    if state.faults.tails and state.stream and state.stream[-1].sequence == state.last:
        shorter = _shortened(state, len(state.stream) - 1, state.last - 1)
        yield "the stream loses its last message", shorter.after("tails")


def _shortened(state: State, kept: int, last: int) -> State:
    """Return the state with the first `kept` messages of the stream."""
    erased = {event.message for stored in state.stream[kept:] for event in stored.events}
    return state._replace(
        stream=state.stream[:kept],
        last=last,
        clock=state.clock + 1,
        erased=state.erased | erased,
    )


def _remove(scenario: Scenario, state: State) -> Iterator[Step]:
    """A message is removed that stands at or below the ack floor of its consumer."""
    open_ones = {
        one.consumer: one.sequence for one in reversed(state.stream) if not one.acknowledged
    }
    for at, stored in enumerate(state.stream):
        if stored.acknowledged and stored.sequence < open_ones.get(stored.consumer, state.last + 1):
            name = names(scenario, tuple(event.message for event in stored.events))
            stream = (*state.stream[:at], *state.stream[at + 1 :])
            yield f"{name} is removed again", state._replace(stream=stream)


def _deliver(
    scenario: Scenario,
    design: Design,
    state: State,
    number: int,
    deliveries: tuple[Delivery, ...],
) -> Iterator[Step]:
    """JetStream delivers a message: in order for each consumer, and again if its worker died."""
    pending: dict[str, int] = {}
    for stored in state.stream:
        waits = stored.delivered and not stored.acknowledged
        pending[stored.consumer] = pending.get(stored.consumer, 0) + waits
    ended: set[str] = set()
    for at, stored in enumerate(state.stream):
        if stored.acknowledged:
            continue
        if not stored.delivered:
            full = pending[stored.consumer] >= scenario.ack_pending
            if stored.consumer in ended or full:
                continue
            ended.add(stored.consumer)
        if stored.consumer not in scenario.hosts[number]:
            continue
        holders = [
            worker
            for worker, some in enumerate(state.workers)
            for held in some or ()
            if (held.sequence, held.time) == (stored.sequence, stored.time)
        ]
        if number in holders or (holders and not state.faults.copies):
            continue
        jobs = tuple(
            Job(event.message, position if design.with_time else replace(position, stored=0))
            for event, position in zip(stored.events, stored.positions, strict=True)
        )
        delivery = Delivery(stored.sequence, stored.time, stored.consumer, stored.again, jobs)
        delivered = stored._replace(delivered=True)
        after = state._replace(stream=(*state.stream[:at], delivered, *state.stream[at + 1 :]))
        after = after.with_worker(number, (*deliveries, delivery))
        name = names(scenario, tuple(event.message for event in stored.events))
        step = f"{name} is delivered to worker {number}"
        yield step, after.after("copies") if holders else after
