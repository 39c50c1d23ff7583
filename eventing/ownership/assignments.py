"""Which version of a procedure decides in which partitions: swaps, in a key-value bucket.

A *variant* is other code for a procedure: an overlay of modules, or another release. It is named by
the id of its code (`schemas.code`). The variant ``""`` is the release's own version, of each worker
that hosts no variant. A swap starts as a canary in some partitions, so always for the same
UEs. It ends in one of three states: finished (the canary decides everywhere), aborted by the
operator, or rolled back because the canary is worse. Each procedure has one entry, with a history.
"""

import base64
import logging
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.jetstream.streams import assignment_bucket, stored_message
from eventing.ownership.bucket_watch import BucketWatch

log = logging.getLogger(__name__)

State: TypeAlias = Literal["starting", "canary", "finished", "aborted", "rolled-back"]


class SwapError(Exception):
    """A swap is refused; the text is one sentence with the reason."""


class Margins(Struct, frozen=True, omit_defaults=True):
    """How much worse than the stable variant a canary may be before it is rolled back."""

    failures: float = 0.01
    """Maximum difference of the shares of failures, 0 to 1."""
    p99_ratio: float = 2.0
    """Maximum ratio of the 99th percentiles of the latency, canary to stable."""


class Assignment(Struct, frozen=True, omit_defaults=True):
    """Which variants decide the events of a procedure, and the state of its last swap."""

    procedure: str
    state: State
    at: int
    """Time of the change, in milliseconds since the Unix epoch."""
    stable: str = ""
    """The variant that decides in all partitions without the canary."""
    canary: str = ""
    """The variant of the last swap, in any state."""
    partitions: tuple[int, ...] = ()
    """Partitions of the last swap's canary."""
    margins: Margins = Margins()
    reason: str = ""
    """Why the canary ended."""
    before: str = ""
    """The stable variant before the last swap was finished."""

    @property
    def under_way(self) -> bool:
        """Whether a canary decides, or its workers are being started."""
        return self.state in ("starting", "canary")

    def variant(self, partition: int) -> str:
        """Return the variant that decides in a partition."""
        on_trial = self.state == "canary" and partition in self.partitions
        return self.canary if on_trial else self.stable


def variant_for(assignments: Mapping[str, Assignment], procedure: str, partition: int) -> str:
    """Return the variant that decides a procedure's events in a partition."""
    found = assignments.get(procedure)
    return "" if found is None else found.variant(partition)


def begun(
    last: Assignment | None,
    procedure: str,
    variant: str,
    partitions: tuple[int, ...],
    margins: Margins,
    now: int,
) -> Assignment:
    """Return the assignment of a new swap, before its workers are started.

    If the same variant is the canary already, only its partitions and margins change.

    Raises:
        SwapError: another swap is under way, or the variant decides everywhere already.
    """
    stable = last.stable if last is not None else ""
    if variant == stable:
        raise SwapError(f"{procedure} {variant} decides everywhere already")
    state: State = "starting"
    if last is not None and last.under_way:
        if last.canary != variant:
            raise SwapError(
                f"a swap of {procedure} to {last.canary} is under way: --finish or --abort it first"
            )
        state = last.state
    return Assignment(procedure, state, now, stable, variant, partitions, margins)


def promoted(last: Assignment, now: int) -> Assignment:
    """Return the assignment of a canary, once its workers are live."""
    return replace(last, state="canary", at=now)


def finished(
    last: Assignment | None, procedure: str, now: int, *, released: bool = False
) -> Assignment:
    """Return the assignment with which the canary decides everywhere.

    `released` says that all workers without a variant have the code of the canary already.

    Raises:
        SwapError: there is no canary.
    """
    if last is None or last.state != "canary":
        raise SwapError(f"there is no canary of {procedure}")
    stable = "" if released else last.canary
    return replace(last, state="finished", at=now, stable=stable, before=last.stable)


def aborted(last: Assignment | None, procedure: str, reason: str, now: int) -> Assignment:
    """Return the assignment that undoes the last swap, which is under way or finished.

    Raises:
        SwapError: there is no swap to undo.
    """
    if last is None or not (last.under_way or last.state == "finished"):
        raise SwapError(f"there is no swap of {procedure} to go back from")
    stable = last.before if last.state == "finished" else last.stable
    return replace(last, state="aborted", at=now, stable=stable, before="", reason=reason)


def rolled_back(last: Assignment, reason: str, now: int) -> Assignment:
    """Return the assignment without the canary, because the canary is worse."""
    return replace(last, state="rolled-back", at=now, reason=reason)


def withdrawn(last: Assignment, reason: str, now: int) -> Assignment:
    """Return the assignment without the stable variant, because no worker can host it any more."""
    canary = last.stable
    return replace(
        last, state="aborted", at=now, stable="", canary=canary, before="", reason=reason
    )


def decode(value: bytes) -> Assignment:
    """Return the assignment in an entry.

    Raises:
        msgspec.DecodeError: the entry is not an assignment.
    """
    return msgspec.json.decode(value, type=Assignment)


async def read(kv: KeyValue, procedure: str) -> tuple[Assignment | None, int]:
    """Return the assignment of a procedure and its revision; None and 0 without any swap.

    Raises:
        nats.errors.Error: JetStream does not answer.
    """
    try:
        entry = await kv.get(procedure)
    except KeyNotFoundError:
        return None, 0
    return decode(entry.value or b""), entry.revision or 0


async def write(kv: KeyValue, assignment: Assignment, last: int) -> int:
    """Write an assignment that replaces revision `last`, and return the new revision.

    Raises:
        SwapError: another process has written an assignment after revision `last`.
        nats.errors.Error: JetStream refuses the entry.
    """
    value = msgspec.json.encode(assignment)
    try:
        return await kv.update(assignment.procedure, value, last)
    except KeyWrongLastSequenceError:
        raise SwapError(
            f"the swap of {assignment.procedure} was changed by somebody else just now"
        ) from None


async def history(client: Client, procedure: str) -> list[Assignment]:
    """Return the kept assignments of a procedure, the oldest first.

    It reads them one by one: the role `console` may not make the consumer of nats-py's history.

    Raises:
        BusError: JetStream does not answer.
    """
    found: list[Assignment] = []
    sequence, subject = 0, f"$KV.{subjects.ASSIGNMENTS}.{procedure}"
    while True:
        which = {"seq": sequence, "next_by_subj": subject}
        message = await stored_message(client, which, stream=f"KV_{subjects.ASSIGNMENTS}")
        if message is None:
            return found
        found.append(decode(base64.b64decode(message.get("data", ""))))
        sequence = message["seq"] + 1


class AssignmentWatch:
    """The current assignments of all procedures, from a watch of the bucket."""

    def __init__(self, client: Client, changed: Callable[[], None]) -> None:
        """`changed` is called after each new assignment."""
        self._client = client
        self._changed = changed
        self._watch = BucketWatch(client, "the assignments", self._note)
        self.current: dict[str, Assignment] = {}
        """The assignments by procedure."""
        self.revision = 0
        """Revision of the last assignment; 0 without any."""

    async def start(self) -> KeyValue:
        """Start to watch, and return the bucket.

        Returns when the existing assignments are known, after one second at most.

        Raises:
            nats.errors.Error: the bucket does not exist and JetStream does not make it.
        """
        kv = await assignment_bucket(self._client)
        await self._watch.start(kv)
        return kv

    async def refresh(self) -> None:
        """Watch again after a reconnection. The caller calls this about once a second."""
        await self._watch.refresh()

    async def stop(self) -> None:
        """Stop to watch."""
        await self._watch.stop()

    def _note(self, entry: KeyValue.Entry) -> None:
        revision = entry.revision or 0
        if revision <= self.revision:
            return  # known from an earlier watch
        try:
            assignment = decode(entry.value or b"")
        except msgspec.DecodeError as err:
            log.warning("the assignment of %s cannot be read: %s", entry.key, err)
            return
        self.current[entry.key] = assignment
        self.revision = revision
        self._changed()
