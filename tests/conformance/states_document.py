"""docs/states.md: what the core does with every message in every state, by driving each cell."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.conformance import ngap, outcomes
from tests.conformance.bench import Bench
from tests.conformance.cells import Cell, cells_of, drive
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES
from tests.conformance.outcomes import Outcome
from tests.conformance.states import STATES

Told = tuple[str, str, str]
"""What is sent, which events there are, and the state after: the cells of a line."""

INTRODUCTION = """\
# Every message in every state

What the core does with each message of a UE (TS 24.501 tables 9.7.1 and 9.7.2) and of a gNB
(TS 38.413 clause 9.2), in each state that it can have the UE in. This file is written by
`python -m tests.conformance.generate`, which drives every cell; `make test` fails when it is not
what the code does. `tests/conformance/test_states.py` drives each cell to its end: nothing raises,
nothing waits for ever, nothing is left behind, and the UE can register afterwards.
`tests/conformance/expected.py` has the outcomes that a clause determines.

A UE sends each NAS message in four ways:

| | |
|---|---|
| U | in UPLINK NAS TRANSPORT, protected by the current security context |
| u | in UPLINK NAS TRANSPORT, plain |
| I | in INITIAL UE MESSAGE on a new connection, protected by the current security context |
| i | in INITIAL UE MESSAGE on a new connection, plain |

Where there is no context, a protected message has a MAC of somebody else's keys. A SECURITY MODE
COMPLETE is protected by the context that is being taken into use. UPFs answer at once, but in the
states in which they are waited for. A line stands for all the cells whose outcome it is: a state
without letters for all the ways that it has, and "otherwise" for every cell that no other line
names. The last column tells what is another than before. Notes of a step are in quotation marks;
of its events, those are left out that only count, start timers or repeat what was sent.

"""


def text() -> str:
    """The document."""
    found: dict[str, dict[Told, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for state in STATES:
        before = outcomes.describe(STATES[state].build())
        for cell in cells_of(state):
            found[cell.message][_told(drive(cell)[1], before)].append(cell)
    parts = [
        INTRODUCTION,
        *_states(),
        *_section("5GMM messages", (s.name for s in GMM_SAMPLES), found),
        *_section("5GSM messages, in UL NAS TRANSPORT", (s.name for s in GSM_SAMPLES), found),
        *_section("NGAP messages", (s.name for s in ngap.samples()), found),
        *_timers(),
    ]
    return "".join(parts)


def _told(outcome: Outcome, before: tuple[str, ...]) -> Told:
    after = outcomes.changes(before, outcome.after)
    return "<br>".join(outcome.sends), ", ".join(outcome.events), after


def _states() -> Iterator[str]:
    yield "## The states\n\n| name | |\n|---|---|\n"
    for state in STATES.values():
        parts = "; ".join(outcomes.describe(state.build()))
        yield f"| `{state.name}` | {state.title}<br>{parts} |\n"
    yield "\n"


def _section(
    title: str, names: Iterable[str], found: dict[str, dict[Told, list[Cell]]]
) -> Iterator[str]:
    yield f"## {title}\n\n"
    for name in names:
        yield f"### {name}\n\n| in | the core sends | events | then |\n|---|---|---|---|\n"
        lines = list(found[name].items())
        most = max(lines, key=lambda line: len(line[1]))
        for told, cells in lines:
            if (told, cells) != most:
                yield _line(_where(name, cells), told)
        yield _line("otherwise" if len(lines) > 1 else "every state", most[0])
        yield "\n"


def _line(where: str, told: Told) -> str:
    return f"| {where} | {' | '.join(part or '-' for part in told)} |\n"


def _where(name: str, cells: list[Cell]) -> str:
    """The states of some cells, with the letters of their ways unless those are all."""
    ways: dict[str, str] = defaultdict(str)
    for cell in cells:
        ways[cell.state] += cell.way
    groups: dict[str, list[str]] = defaultdict(list)
    for state, letters in ways.items():
        groups["" if letters == _letters(state, name) else letters].append(state)
    return "<br>".join(
        f"{', '.join(states)}{f' {letters}' if letters else ''}"
        for letters, states in groups.items()
    )


@functools.cache
def _letters(state: str, message: str) -> str:
    return "".join(cell.way for cell in cells_of(state) if cell.message == message)


def _timers() -> Iterator[str]:
    """The next expiry of a timer in each state."""
    yield "## The next timer\n\n"
    yield "| in | timer | the core sends | events | then |\n|---|---|---|---|---|\n"
    for state in STATES.values():
        bench = state.build()
        timers = bench.ue.timers
        if timers:
            name = min(timers, key=lambda timer, t=timers: (t[timer].at, timer))
            before = outcomes.describe(bench)
            after = outcomes.watch(bench, functools.partial(_wait, bench, timers[name].at))
            yield _line(f"{state.name} | {outcomes.timer_name(name)}", _told(after, before))


def _wait(bench: Bench, at: int) -> None:
    bench.core.advance(max(0, at - bench.core.now) / 1000)
