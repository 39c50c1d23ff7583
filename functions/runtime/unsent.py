"""What another worker may not have sent before it died (docs/decisions/0023).

A worker that loads an aggregate may continue the log of a worker that died between an append and
the sending. It sends what is still due of the last steps before the outputs of its own step: a UE
drops a message with a lower NAS COUNT than it has seen (TS 24.501 4.4.3.1). A gateway drops what it
has sent before.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from functions.runtime.due import due, is_due
from functions.runtime.effects import responds_last
from schemas.step import Output, Page, SendNgap, Step
from statestore.contract import StoreDamaged
from statestore.log import Aggregate, EventLog

RECENT: Final = 30_000
"""Maximum age of these steps in milliseconds: the event of a dead worker is redelivered sooner."""
LAST: Final = 16
"""Maximum number of steps before a snapshot that are read for it."""


async def recent(log: EventLog, aggregate: Aggregate, now: int) -> list[Step[Any]]:
    """Return the recent steps of an aggregate that was just loaded, from the first one with a
    message to a gNB; no steps if there is none.

    `now` is the time in milliseconds since the Unix epoch.
    """
    steps, since = aggregate.tail, now - RECENT
    if aggregate.snapshot_seq and (not steps or steps[0].at >= since):
        first = max(0, aggregate.snapshot_seq - LAST)
        read = log.steps(aggregate.name, first)
        # A damaged step before the snapshot does not concern the state.
        with contextlib.suppress(StoreDamaged):
            steps = [step async for step in read if step.seq <= aggregate.seq]
    return _from_first(steps, since)


def _from_first(steps: list[Step[Any]], since: int) -> list[Step[Any]]:
    if not steps or steps[-1].at < since:
        return []
    sending = (i for i, s in enumerate(steps) if s.at >= since and _sends(s.outputs))
    first = next(sending, None)
    return [] if first is None else steps[first:]


def unsent(
    steps: Sequence[Step[Any]], later: Sequence[Step[Any]], state: object
) -> list[Step[Any]]:
    """Return those of `steps` with NGAP messages or PAGING that are still due, with these only.

    `later` are all steps after `steps`, and `state` is the state after the last of them. A response
    that follows a fan-out is left to the redelivery, which repeats the fan-out.
    """
    all_steps, found = [*steps, *later], list[Step[Any]]()
    nothing: Any = None
    for index, step in enumerate(steps):
        if not _sends(step.outputs) or responds_last(step):
            continue
        after = all_steps[index + 1 :]
        kept = tuple(
            o if isinstance(o, SendNgap | Page) and is_due(o, step, after, state) else nothing
            for o in step.outputs
        )
        if any(kept):
            found.append(replace(step, outputs=kept))
    return found


async def of_copy(
    log: EventLog, name: str, seq: int, now: int
) -> tuple[list[Step[Any]], Step[Any]]:
    """Return what is sent for a copy of the trigger of step `seq`: what may be unsent of the steps
    before it, then the step with what is still due of it.

    Raises:
        StoreDamaged: the aggregate has no such step.
    """
    steps = [step async for step in log.steps(name, max(0, seq - 1 - LAST))]
    (aggregate,) = await log.load([name])
    for index, step in enumerate(steps):
        if step.seq == seq:
            before = _from_first(steps[:index], now - RECENT)
            found = unsent(before, steps[index:], aggregate.state)
            return found, due(step, steps[index + 1 :], aggregate.state)
    raise StoreDamaged(f"{name} has no step {seq}")


def _sends(outputs: Sequence[Output]) -> bool:
    return any(isinstance(output, SendNgap | Page) for output in outputs)
