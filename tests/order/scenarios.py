"""Small instances of the model. All their states are searched."""

from typing import Final

from hypothesis import strategies as st

from tests.order.states import IDENTIFICATION, Faults, Message, Scenario

REGISTRATION: Final = "registration"
SERVICE: Final = "service-request"
SESSION: Final = "session"
RELEASE: Final = "context-release"
DEREGISTRATION: Final = "deregistration"

_OPENING: Final = (REGISTRATION, SERVICE, IDENTIFICATION)
_OTHERS: Final = (SESSION, RELEASE, DEREGISTRATION)
APART: Final = (_OPENING, _OTHERS)
"""Two groups of functions in two workers."""
TOGETHER: Final = ((*_OPENING, *_OTHERS), (*_OPENING, *_OTHERS))
"""Two workers with all functions."""

_OPENS: Final = Message("c1.0", 1, 0, REGISTRATION)
_AGAIN: Final = Message("c2.0", 2, 0, REGISTRATION)
_LEAVES: Final = Message("c1.1-deregistration", 1, 1, DEREGISTRATION, ends=True)

OVERTAKEN: Final = Scenario((_OPENS, _LEAVES, _AGAIN), APART)
"""Part 1 point 1 of the issue: DEREGISTRATION REQUEST on one connection, then REGISTRATION REQUEST
on a new one."""
GAP: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, SESSION), Message("c1.2", 1, 2, RELEASE)), APART
)
"""Part 1 point 2: PDU SESSION RESOURCE SETUP RESPONSE waits in the queue of a busy function."""

HANDED_OFF: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, REGISTRATION, SESSION), Message("c1.2", 1, 2, REGISTRATION)),
    APART,
    Faults(kills=1),
)
"""The gateway has guessed the wrong procedure."""
LEFT: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, REGISTRATION), _AGAIN, Message("c3.0", 3, 0, REGISTRATION)),
    TOGETHER,
    Faults(leaves=2),
)
"""The events share messages, and leave them."""
CONCEALED: Final = Scenario(
    (
        Message("c1.0-suci", 1, 0, IDENTIFICATION, DEREGISTRATION),
        Message("c2.0", 2, 0, SERVICE),
        Message("c2.1-deregistration", 2, 1, DEREGISTRATION, ends=True),
    ),
    APART,
    Faults(kills=1),
)
"""A SUCI is de-concealed after a newer connection is opened with the 5G-GUTI."""
FOREIGN: Final = Scenario(
    (
        _OPENS,
        Message("c1.1", 1, 1, REGISTRATION, foreign=True),
        Message("c1.2", 1, 2, DEREGISTRATION, foreign=True),
        Message("c2.0", 2, 0, SERVICE),
    ),
    APART,
)
"""The AMF-UE-NGAP-ID of the older connection has another slot than the UE."""
LATE: Final = Scenario((_OPENS, _AGAIN, Message("c1.1", 1, 1, SESSION)), APART)
"""The gNB still sends a message on the older connection."""
LOST: Final = GAP._replace(faults=Faults(lost=1, unacknowledged=1))
RECREATED: Final = Scenario(
    (_OPENS, Message("c2.0", 2, 0, SERVICE), Message("c3.0", 3, 0, REGISTRATION)),
    APART,
    Faults(kills=1, recreated=1),
)
FORGOTTEN: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, SESSION), _AGAIN), APART, Faults(kills=1, forgotten=2)
)
"""The stream has messages again that their consumers never deliver."""
TAIL: Final = FOREIGN._replace(faults=Faults(tails=1))
TWO_GATEWAYS: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, SESSION), Message("c2.0", 2, 0, SERVICE, gateway=1)),
    APART,
    Faults(lost=1, unacknowledged=1),
)
SWITCHED: Final = Scenario(
    (
        _OPENS,
        Message("c1.1", 1, 1, SESSION),
        Message("c1-switch", 1, 0, SERVICE, gateway=1, end=1),
        Message("c1-switch.1", 1, 1, SESSION, gateway=1, end=1),
    ),
    APART,
    Faults(kills=1),
)
"""A PATH SWITCH REQUEST by another gNB and gateway."""
RECREATED_AND_AGAIN: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, SERVICE, SESSION), Message("c2.0", 2, 0, SESSION)),
    APART,
    Faults(recreated=1),
)
"""An event of the stream of before is published again, behind an event with a lower sequence."""
KILLED: Final = OVERTAKEN._replace(hosts=TOGETHER, faults=Faults(kills=1))
SUSPENDED: Final = OVERTAKEN._replace(faults=Faults(kills=1, copies=1))
NEIGHBOURS: Final = Scenario(
    (
        _OPENS,
        Message("other.0", 1, 0, REGISTRATION, ue=1),
        Message("other.1", 1, 1, SESSION, ue=1),
        _AGAIN,
    ),
    APART,
)
"""Two UEs share messages."""

ALL: Final = {
    name.lower(): value for name, value in globals().copy().items() if isinstance(value, Scenario)
}
FULL: Final = Scenario(
    (_OPENS, Message("c1.1", 1, 1, SESSION, REGISTRATION), _AGAIN), APART, ack_pending=1
)
"""A consumer delivers nothing more before an event that waits is acknowledged."""
PUBLISHED_TWICE: Final = Scenario(
    (
        Message("c1.0-suci", 1, 0, IDENTIFICATION, REGISTRATION),
        Message("c2.0", 2, 0, SERVICE, gateway=1),
    ),
    ((IDENTIFICATION,), (IDENTIFICATION, REGISTRATION, SERVICE)),
    Faults(unacknowledged=1),
)
"""A gateway publishes an opening a second time, after another gateway published a newer one. The
two messages have two positions."""


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a larger instance: up to two UEs with up to three connections each."""
    ues = [_messages(draw, ue) for ue in range(draw(st.integers(1, 2)))]
    messages: list[Message] = []
    while any(ues):
        messages.append(draw(st.sampled_from([ue for ue in ues if ue])).pop(0))
    faults = Faults(*(draw(st.integers(0, 1)) for _ in Faults._fields))
    if {message.gateway for message in messages} != {messages[0].gateway}:
        faults = faults._replace(unacknowledged=0)  # see `PUBLISHED_TWICE`
    return Scenario(tuple(messages), draw(st.sampled_from([APART, TOGETHER])), faults)


def _messages(draw: st.DrawFn, ue: int) -> list[Message]:
    messages: list[Message] = []
    for connection in range(1, 1 + draw(st.integers(1, 3))):
        gateway = draw(st.integers(0, 1))
        name = f"{'xy'[ue]}{connection}"
        guess, decides = draw(
            st.sampled_from([(REGISTRATION, ""), (SERVICE, ""), (IDENTIFICATION, DEREGISTRATION)])
        )
        messages.append(Message(f"{name}.0", connection, 0, guess, decides, False, gateway, 0, ue))
        foreign = draw(st.booleans())
        end = number = 0
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.integers(0, 3)) == 3:
                end, number, gateway = end + 1, 0, draw(st.integers(0, 1))
            else:
                number += 1
            guess, decides = (draw(st.sampled_from([REGISTRATION, *_OTHERS])) for _ in range(2))
            suffix = f"-switch{end}.{number}" if end else f".{number}"
            messages.append(
                Message(
                    name + suffix,
                    connection,
                    number,
                    guess,
                    decides,
                    number > 0 and draw(st.integers(0, 3)) == 3,
                    gateway,
                    end,
                    ue,
                    foreign,
                )
            )
    return messages
