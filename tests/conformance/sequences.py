"""Draw random sequences of messages, faults and time from a seed, and shorten them.

A sequence is plain data: the first state and the shots. So a sequence that fails can become a test.
`random.Random` draws it, or the generator of hypothesis (`strategies.randoms`), which shortens a
failing sequence itself.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from schemas.cloudevents import EventType
from schemas.procedures import EVENTS, NAS_MESSAGES, NGAP_MESSAGES
from tests.conformance.bench import HOWS
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES
from tests.conformance.playing import NAS, NGAP, Sequence, Shot
from tests.conformance.states import STATES

LONGEST: Final = 8

_TAKEN: Final = [
    *(s.name for s in GMM_SAMPLES if s.type in NAS_MESSAGES and s.type != 0x67),
    *(s.name for s in GSM_SAMPLES),
]
"""NAS messages that a procedure accepts. They are more frequent."""
_TAKEN_NGAP: Final = [n for n, s in NGAP.items() if s.message in NGAP_MESSAGES] + [
    name for name, sample in NGAP.items() if sample.message in ("NGReset", "NGSetupRequest")
]
_OF_UPFS: Final = (EventType.PFCP_UNANSWERED, EventType.PFCP_ENDED, EventType.SESSION_LOST)
_EVENTS: Final = [kind for kind in EVENTS if kind not in _OF_UPFS]
"""Events of the core. Shots of the UPFs make the events that a UPF causes."""
_SECONDS: Final = (0.0, 0.5, 4.0, 6.1, 16.1, 40.0, 3600.0)
_SUBSCRIPTIONS: Final = ("barred", "ambr", "withdrawn", "as before")
_FAULTS: Final = ("answer", "refuse", "drop", "lose", "twice", "last")


def draw(random: Random) -> Sequence:
    """Return a random sequence."""
    state = random.choice(list(STATES))
    return Sequence(state, tuple(_shot(random) for _ in range(random.randint(1, LONGEST))))


def _shot(random: Random) -> Shot:
    kind = random.choices(list(_DRAWN), _WEIGHTS)[0]
    return (kind, *_DRAWN[kind][1](random))


def _nas(random: Random) -> Shot:
    name = random.choice(_TAKEN if random.random() < 0.9 else list(NAS))
    how = random.choice(HOWS) if random.random() < 0.4 else "protected"
    return name, how, random.random() < 0.25


def _gnb(random: Random) -> Shot:
    return (random.choice(_TAKEN_NGAP if random.random() < 0.8 else list(NGAP)),)


_DRAWN: Final[dict[str, tuple[int, Callable[[Random], Shot]]]] = {
    "answer": (12, lambda random: (random.randrange(4),)),
    "nas": (12, _nas),
    "ngap": (7, _gnb),
    "upf": (4, lambda random: (random.choice(_FAULTS),)),
    "silent": (2, lambda random: (random.random() < 0.7,)),
    "late": (2, lambda random: (random.randint(1, 3),)),
    "copy": (3, lambda random: (random.randrange(6),)),
    "advance": (4, lambda random: (random.choice(_SECONDS),)),
    "expire": (4, lambda _: ()),
    "report": (2, lambda _: ()),
    "restart": (1, lambda random: (random.randrange(2),)),
    "lose": (1, lambda random: (random.randrange(2),)),
    "set-up": (1, lambda random: (random.randrange(2),)),
    "roam": (2, lambda random: (random.randrange(2),)),
    "event": (2, lambda random: (random.choice(_EVENTS),)),
    "subscription": (1, lambda random: (random.choice(_SUBSCRIPTIONS),)),
    "busy": (1, lambda random: (random.random() < 0.7,)),
    "wrong-ids": (1, lambda random: (random.randrange(3),)),
}
"""Weight and random arguments of each kind of shot."""
_WEIGHTS: Final = [weight for weight, _ in _DRAWN.values()]


# Shortening


def shorten(sequence: Sequence, fails: Callable[[Sequence], bool]) -> Sequence:
    """Return the shortest sequence that still fails. Leave out shots, and simplify them."""
    found = True
    while found:
        found = False
        for candidate in _simpler(sequence):
            if fails(candidate):
                sequence, found = candidate, True
                break
    return sequence


def _simpler(sequence: Sequence) -> Iterator[Sequence]:
    state, shots = sequence
    for index in range(len(shots)):
        yield Sequence(state, shots[:index] + shots[index + 1 :])
    for index, shot in enumerate(shots):
        for at, value in enumerate(shot[1:], 1):
            for plain in _PLAIN.get(type(value), ()):
                if value != plain and (at == 1 or plain != "protected" or shot[0] == "nas"):
                    changed = (*shot[:at], plain, *shot[at + 1 :])
                    if _possible(changed):
                        yield Sequence(state, (*shots[:index], changed, *shots[index + 1 :]))


_PLAIN: Final[dict[type, tuple[Any, ...]]] = {
    bool: (False,),
    int: (0,),
    float: (0.0,),
    str: ("protected",),
}


def _possible(shot: Shot) -> bool:
    """Whether `draw` can return a simplified shot."""
    if "protected" not in shot:
        return True
    return shot[0] == "nas" and shot[1] != "protected"


def as_test(sequence: Sequence) -> str:
    """Return a line for `test_regressions.py`."""
    return f"    Sequence({sequence.state!r}, {sequence.shots!r}),"
