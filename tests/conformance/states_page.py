"""The outcome of every message in every state: `states.json`, and a page to read.

``python -m tests.conformance.states_page`` writes the page to standard output, as Markdown. Words
after it limit the page to the messages and states with one of the words in their names.
"""

import argparse
import functools
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.conformance import ngap, outcomes
from tests.conformance.bench import Bench
from tests.conformance.cells import Cell, cells_of, drive
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES
from tests.conformance.outcomes import Outcome
from tests.conformance.states import STATES

FILE: Final = Path(__file__).with_name("states.json")

OTHERWISE: Final = "otherwise"
"""The head of the row with the most frequent outcome of a message."""

Data: TypeAlias = dict[str, dict[str, Any]]
"""`states`: title and state of the UE, by name. Sections of messages: rows of states and outcome,
by message. `timers`: the timer that expires first and the outcome, by state."""

Told: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""An outcome: the messages that the core sends, the events, and the changes of the state."""

INTRODUCTION: Final = """\
# Every message in every state

The outcome of each message of a UE (TS 24.501 tables 9.7.1 and 9.7.2) and of a gNB (TS 38.413
clause 9.2) in each state of a UE. `tests/conformance/test_states.py` drives each cell to its end:
nothing raises, nothing waits without end, nothing is left behind, and the UE can register
afterwards. `tests/conformance/expected.py` has the outcomes that a clause determines.

A UE sends each NAS message in four ways:

| | |
|---|---|
| U | in UPLINK NAS TRANSPORT, protected by the current security context |
| u | in UPLINK NAS TRANSPORT, plain |
| I | in INITIAL UE MESSAGE on a new connection, protected by the current security context |
| i | in INITIAL UE MESSAGE on a new connection, plain |

If there is no context, the MAC of a protected message is made with other keys. A SECURITY MODE
COMPLETE is protected by the pending context. UPFs answer at once, except in the states that wait
for them.

A row has all cells with one outcome. A state without letters stands for all ways of that state, and
"otherwise" for each cell that no other row names. The last column has the changes of the state.
Notes of a step are in quotation marks. Events that only count, start timers or repeat a sent
message are left out.

"""


# The data


def data() -> Data:
    """Drive every cell, and return the outcomes."""
    found: dict[str, dict[Told, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for state in STATES:
        before = outcomes.describe(STATES[state].build())
        for cell in cells_of(state):
            found[cell.message][_told(drive(cell)[1], before)].append(cell)
    return {
        "states": {
            state.name: [state.title, list(outcomes.describe(state.build()))]
            for state in STATES.values()
        },
        "5GMM messages": _section((s.name for s in GMM_SAMPLES), found),
        "5GSM messages, in UL NAS TRANSPORT": _section((s.name for s in GSM_SAMPLES), found),
        "NGAP messages": _section((s.name for s in ngap.samples()), found),
        "timers": dict(_timers()),
    }


def text(found: Data) -> str:
    """Return the text of `states.json`: one line for each row, so that a diff names the rows."""
    sections: list[str] = []
    for title, rows in found.items():
        lines: list[str] = []
        for name, value in rows.items():
            if isinstance(value[0], list):
                items = ",\n  ".join(_compact(row) for row in value)
                lines.append(f" {_compact(name)}: [\n  {items}]")
            else:
                lines.append(f" {_compact(name)}: {_compact(value)}")
        body = ",\n".join(lines)
        sections.append(f"{_compact(title)}: {{\n{body}}}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _told(outcome: Outcome, before: tuple[str, ...]) -> Told:
    changes = outcomes.changes(before, outcome.after)
    return outcome.sends, outcome.events, tuple(changes.split("; ")) if changes else ()


def _row(head: str, told: Told) -> list[Any]:
    return [head, *map(list, told)]


def _section(
    names: Iterable[str], found: dict[str, dict[Told, list[Cell]]]
) -> dict[str, list[list[Any]]]:
    section: dict[str, list[list[Any]]] = {}
    for name in names:
        lines = list(found[name].items())
        most = max(lines, key=lambda line: len(line[1]))
        rows = [_row(_where(name, c), told) for told, c in lines if (told, c) != most]
        section[name] = [*rows, _row(OTHERWISE, most[0])]
    return section


def _where(name: str, cells: list[Cell]) -> str:
    """Return the states of some cells, with the letters if not all ways are in the cells."""
    ways: dict[str, str] = defaultdict(str)
    for cell in cells:
        ways[cell.state] += cell.way
    groups: dict[str, list[str]] = defaultdict(list)
    for state, letters in ways.items():
        groups["" if letters == _letters(state, name) else letters].append(state)
    return "; ".join(
        f"{', '.join(states)}{f' {letters}' if letters else ''}"
        for letters, states in groups.items()
    )


@functools.cache
def _letters(state: str, message: str) -> str:
    return "".join(cell.way for cell in cells_of(state) if cell.message == message)


def _timers() -> Iterator[tuple[str, list[Any]]]:
    """Return the first timer of each state, and the outcome of its expiry."""
    for state in STATES.values():
        bench = state.build()
        timers = bench.ue.timers
        if timers:
            name = min(timers, key=lambda timer, t=timers: (t[timer].at, timer))
            before = outcomes.describe(bench)
            after = outcomes.watch(bench, functools.partial(_wait, bench, timers[name].at))
            yield state.name, _row(outcomes.timer_name(name), _told(after, before))


def _wait(bench: Bench, at: int) -> None:
    bench.core.advance(max(0, at - bench.core.now) / 1000)


# The page


def page(found: Data, words: Iterable[str] = ()) -> str:
    """Return the whole page, or the messages and states with one of the words in their names."""
    return "".join(_page(found, [word.lower() for word in words]))


def _page(found: Data, words: list[str]) -> Iterator[str]:
    def wanted(name: str) -> bool:
        return not words or any(word in name.lower() for word in words)

    sections = dict(found)
    states, timers = sections.pop("states"), sections.pop("timers")
    if not words:
        yield INTRODUCTION
    names = [name for name in states if wanted(name)]
    if names:
        yield "## The states\n\n| name | |\n|---|---|\n"
        for name in names:
            title, ue = states[name]
            yield _line(f"`{name}`", f"{title}<br>{'; '.join(ue)}")
        yield "\n"
    for title, messages in sections.items():
        chosen = {name: rows for name, rows in messages.items() if wanted(name)}
        if chosen:
            yield f"## {title}\n\n"
        for name, rows in chosen.items():
            yield f"### {name}\n\n| in | the core sends | events | then |\n|---|---|---|---|\n"
            for where, *told in rows:
                states_of = "every state" if len(rows) == 1 else where.replace("; ", "<br>")
                yield _line(states_of, *_columns(told))
            yield "\n"
    names = [name for name in timers if wanted(name)]
    if names:
        yield "## The next timer\n\n"
        yield "| in | timer | the core sends | events | then |\n|---|---|---|---|---|\n"
        for name in names:
            timer, *told = timers[name]
            yield _line(name, timer, *_columns(told))


def _columns(told: list[list[str]]) -> Iterator[str]:
    for part, sign in zip(told, ("<br>", ", ", "; "), strict=True):
        yield sign.join(part) or "-"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the page to standard output. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.states_page")
    parser.add_argument("word", nargs="*", help="part of the name of a message or of a state")
    words = parser.parse_args(arguments).word
    made = page(json.loads(FILE.read_text(encoding="utf-8")), words)
    sys.stdout.write(made)
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
