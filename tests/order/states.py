"""The processes of the model and their states."""

from typing import Literal, NamedTuple

from schemas.position import SKEW, Position

IDENTIFICATION = "identification"
"""The consumer of events with a concealed SUCI. Its worker publishes them in the UE's slot."""


class Wrong(Exception):
    """The order is broken; the text says how."""


class Message(NamedTuple):
    """A message of a UE. The messages of a scenario are in the order in which they are read."""

    name: str
    connection: int
    """Connections are numbered from 1, in the order in which the UE opens them."""
    number: int
    """Its number on the connection, from 0. A path switch begins at 0 again."""
    consumer: str
    """The procedure that the gateway guesses; `IDENTIFICATION` for a concealed SUCI."""
    procedure: str = ""
    """The procedure that decides, if it is another one: the message is handed off to it."""
    ends: bool = False
    """Whether the log releases the connection, as for a DEREGISTRATION REQUEST (switch-off)."""
    gateway: int = 0
    end: int = 0
    """The RAN end of the connection: a path switch begins the next one."""
    ue: int = 0
    foreign: bool = False
    """Whether its slot is not that of the UE, which was unknown when it opened the connection. The
    worker publishes the message again in the slot of the UE."""

    @property
    def decided_by(self) -> str:
        """The procedure that decides."""
        return self.procedure or self.consumer

    @property
    def opens(self) -> bool:
        """Whether it is an INITIAL UE MESSAGE."""
        return not self.number and not self.end

    @property
    def takes_over(self) -> bool:
        """Whether it is an INITIAL UE MESSAGE or a PATH SWITCH REQUEST."""
        return not self.number


class Design(NamedTuple):
    """How the order is kept."""

    wait: Literal["fixed", "first"] = "first"
    """An early event waits for a fixed time, or until it is the first in the stream."""
    openings_wait: bool = True
    """Whether an event that ends or takes over a connection is early, not only one after a gap."""
    keeps_position: bool = True
    """Whether an event that is published again keeps its position."""
    again: bool = True
    """Whether events that are published again are looked for, on subjects of their own."""
    again_last: bool = True
    """Whether they are looked for after the others, not before."""
    stored_first: bool = True
    """Whether a message is acknowledged after the messages that replace it are stored."""
    superseded: bool = True
    """Whether the opening of an older connection is not decided after that of a newer one."""
    remembered: bool = True
    """Whether that holds after the newer connection was released, too."""
    old_dropped: bool = True
    """Whether a message of an older connection does not act on the newer one."""
    with_time: bool = True
    """Whether positions have a time."""
    all_slots: bool = True
    """Whether the slots of the UE's connections are looked at, too."""
    in_flight: Literal["many", "publication", "message"] = "message"
    """What a gateway publishes before JetStream has stored the events of a UE before: anything, one
    publication (of several messages), or nothing."""
    own_batch: bool = True
    """Whether an early event looks for earlier events in its own batch, too."""
    leaves_in_order: bool = True
    """Whether an event leaves its batch only after the events of its UE before it."""
    floors: bool = True
    """Whether a message is removed that its consumer has acknowledged, with all before it."""


BEFORE = Design(
    wait="fixed",
    openings_wait=False,
    keeps_position=False,
    again=False,
    superseded=False,
    old_dropped=False,
    all_slots=False,
    in_flight="many",
    own_batch=False,
    leaves_in_order=False,
    floors=False,
)
"""The design before: a number for each connection, and a wait of `ack_wait` + 1 s."""


class Faults(NamedTuple):
    """How often each fault occurs at most."""

    kills: int = 0
    """A worker is killed."""
    lost: int = 0
    """A message of a gateway does not reach JetStream."""
    unacknowledged: int = 0
    """JetStream stores a message of a gateway, and the acknowledgement is lost."""
    copies: int = 0
    """A message is delivered to a second worker, because the first was suspended."""
    leaves: int = 0
    """An event leaves its batch: its decision has failed, or another worker was faster."""
    recreated: int = 0
    """The stream loses all its messages, and begins at 1 again."""
    tails: int = 0
    """The stream loses its last message, and uses its sequence again."""
    forgotten: int = 0
    """The broker dies, and has the acknowledgement of a message on disk, but not its removal."""


class Scenario(NamedTuple):
    """Messages, workers and faults."""

    messages: tuple[Message, ...]
    hosts: tuple[tuple[str, ...], ...]
    """The procedures of each worker."""
    faults: Faults = Faults()
    ack_pending: int = 4096
    """Maximum number of messages of a consumer that are delivered and not acknowledged."""


class Event(NamedTuple):
    """A message in the stream; `position` is None in the first message that carries it."""

    message: int
    position: Position | None = None


class Stored(NamedTuple):
    """A message of the stream."""

    sequence: int
    consumer: str
    events: tuple[Event, ...]
    time: int
    again: bool = False
    delivered: bool = False
    acknowledged: bool = False
    """Whether it is in the stream although it was acknowledged."""

    @property
    def positions(self) -> list[Position]:
        """The positions of its events."""
        return [
            event.position or Position(self.sequence, index, 2 * SKEW * self.time)
            for index, event in enumerate(self.events)
        ]


class Job(NamedTuple):
    """An event in a worker."""

    message: int
    position: Position
    state: Literal["new", "asked", "first", "leaving", "decided", "done"] = "new"
    """`asked`: half of the question whether it is the first is answered. `leaving`: the message
    that replaces it is not stored yet. `decided`: the outputs of its step are not sent yet."""
    to: str = ""
    """The consumer of the message that replaces it."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither decided nor leaving."""
        return self.state in ("new", "asked", "first")


class Delivery(NamedTuple):
    """A message of the stream in a worker."""

    sequence: int
    time: int
    consumer: str
    again: bool
    jobs: tuple[Job, ...]


Publication = tuple[tuple[str, tuple[int, ...]], ...]
"""Messages of a gateway: a consumer and events."""


class Gateway(NamedTuple):
    """The events of a gateway that JetStream has not stored, or not acknowledged."""

    waiting: tuple[int, ...] = ()
    sent: Publication = ()
    failed: Publication = ()


class Log(NamedTuple):
    """The log of a UE, and its state."""

    messages: tuple[int, ...] = ()
    connection: int = 0
    """The current connection; 0 for none."""
    end: int = 0
    number: int = -1
    opened: Position | None = None
    """The position of the message that opened or moved the last connection."""
    latest: int = 0
    """The newest connection that was ever current."""


class State(NamedTuple):
    """The state of all processes."""

    gateways: tuple[Gateway, ...]
    workers: tuple[tuple[Delivery, ...] | None, ...]
    """The deliveries of each worker; None for a worker that does not run."""
    logs: tuple[Log, ...]
    faults: Faults
    read: int = 0
    """The number of messages that were read."""
    stream: tuple[Stored, ...] = ()
    last: int = 0
    """The last sequence of the stream."""
    clock: int = 1
    """It advances when the stream is recreated, or loses a message."""
    stored: tuple[int, ...] = ()
    """The messages in the order in which they were first stored."""
    erased: frozenset[int] = frozenset()
    """The messages that the stream has lost."""
    dropped: frozenset[int] = frozenset()
    """The messages that were completed without a step."""
    sent: frozenset[int] = frozenset()
    """The messages whose outputs were sent."""

    def has(self, message: int) -> bool:
        """Whether the stream has a message."""
        return any(event.message == message for stored in self.stream for event in stored.events)

    def store(self, consumer: str, events: tuple[Event, ...], *, again: bool) -> "State":
        """Store a message in the stream."""
        new = tuple(event.message for event in events if event.message not in self.stored)
        return self._replace(
            stream=(*self.stream, Stored(self.last + 1, consumer, events, self.clock, again)),
            last=self.last + 1,
            stored=(*self.stored, *new),
        )

    def with_worker(self, number: int, deliveries: tuple[Delivery, ...] | None) -> "State":
        """Replace the deliveries of a worker."""
        workers = (*self.workers[:number], deliveries, *self.workers[number + 1 :])
        return self._replace(workers=workers)

    def with_gateway(self, number: int, gateway: Gateway) -> "State":
        """Replace a gateway."""
        gateways = (*self.gateways[:number], gateway, *self.gateways[number + 1 :])
        return self._replace(gateways=gateways)

    def with_log(self, ue: int, log: Log) -> "State":
        """Replace the log of a UE."""
        return self._replace(logs=(*self.logs[:ue], log, *self.logs[ue + 1 :]))

    def drop(self, message: int) -> "State":
        """Complete a message without a step."""
        return self._replace(dropped=self.dropped | {message})

    def after(self, fault: str) -> "State":
        """Count a fault."""
        return self._replace(
            faults=self.faults._replace(**{fault: getattr(self.faults, fault) - 1})
        )


Step = tuple[str, State]


def in_gateway(scenario: Scenario, state: State, message: int) -> bool:
    """Whether a gateway has a message that JetStream has not stored, or not acknowledged."""
    gateway = state.gateways[scenario.messages[message].gateway]
    sent = (*gateway.sent, *gateway.failed)
    return message in gateway.waiting or any(message in events for _, events in sent)


def names(scenario: Scenario, messages: tuple[int, ...]) -> str:
    """Return the names of messages."""
    return "+".join(scenario.messages[message].name for message in messages)
