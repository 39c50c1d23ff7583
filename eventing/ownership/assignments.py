"""Which version of a procedure decides in which partitions: swaps, in a key-value bucket.

A *variant* is a version of a procedure that was put in the place of the one that this evcore came
with; that one is the variant ``""``. A swap begins as a canary, in some partitions, and so for the
same UEs all the time. It is finished, and decides everywhere then, or aborted, or rolled back
because it is worse. All of this is written down in one entry a procedure, whose history is kept.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.js.api import KeyValueConfig
from nats.js.errors import BucketNotFoundError, KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.ownership.bucket_watch import Watching

HISTORY: Final = 64
"""Entries of a procedure that are kept, the last included."""

State: TypeAlias = Literal["starting", "canary", "finished", "aborted", "rolled-back"]


class SwapError(Exception):
    """A swap cannot be as it was asked for; it says why in one sentence."""


class Margins(Struct, frozen=True, omit_defaults=True):
    """How much worse than the stable version a canary may be before it is rolled back."""

    failures: float = 0.01
    """By how much its share of failures may be higher, from 0 to 1."""
    p99_ratio: float = 2.0
    """How many times the stable version's 99th percentile of the latency its own may be."""


class Assignment(Struct, frozen=True, omit_defaults=True):
    """Who decides about the events of a procedure, and how that came about."""

    procedure: str
    state: State
    at: int
    """When it was written, in milliseconds since the Unix epoch."""
    stable: str = ""
    """The variant that decides wherever the canary does not."""
    canary: str = ""
    """The variant of the last swap, whatever became of it."""
    partitions: tuple[int, ...] = ()
    """Those of the last swap's canary."""
    margins: Margins = Margins()
    reason: str = ""
    """Why it is no canary any more."""
    before: str = ""
    """What was stable before the last swap was finished."""

    @property
    def under_way(self) -> bool:
        """Whether there is a canary, or its workers are being started."""
        return self.state in ("starting", "canary")

    def variant(self, partition: int) -> str:
        """The variant that decides in a partition."""
        on_trial = self.state == "canary" and partition in self.partitions
        return self.canary if on_trial else self.stable


def wanted(assignments: Mapping[str, Assignment], procedure: str, partition: int) -> str:
    """The variant that decides about a procedure's events in a partition."""
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
    """A swap whose workers are to be started; or, of the canary that there is, its new partitions.

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
    """The swap whose workers live, as a canary."""
    return replace(last, state="canary", at=now)


def finished(last: Assignment | None, procedure: str, now: int) -> Assignment:
    """The canary as the version that decides everywhere.

    Raises:
        SwapError: there is no canary.
    """
    if last is None or last.state != "canary":
        raise SwapError(f"there is no canary of {procedure}")
    return replace(last, state="finished", at=now, stable=last.canary, before=last.stable)


def aborted(last: Assignment | None, procedure: str, reason: str, now: int) -> Assignment:
    """Back to what decided before the last swap, which is under way or finished.

    Raises:
        SwapError: there is nothing to go back from.
    """
    if last is None or not (last.under_way or last.state == "finished"):
        raise SwapError(f"there is no swap of {procedure} to go back from")
    stable = last.before if last.state == "finished" else last.stable
    return replace(last, state="aborted", at=now, stable=stable, before="", reason=reason)


def rolled_back(last: Assignment, reason: str, now: int) -> Assignment:
    """The canary withdrawn, because it is worse."""
    return replace(last, state="rolled-back", at=now, reason=reason)


def decode(value: bytes) -> Assignment:
    """The assignment in an entry.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(value, type=Assignment)


async def bucket(client: Client, replicas: int = 1) -> KeyValue:
    """The bucket of assignments, made if it is missing."""
    js = client.jetstream()
    try:
        return await js.key_value(subjects.ASSIGNMENTS)
    except BucketNotFoundError:
        config = KeyValueConfig(bucket=subjects.ASSIGNMENTS, history=HISTORY, replicas=replicas)
        return await js.create_key_value(config)


async def read(kv: KeyValue, procedure: str) -> tuple[Assignment | None, int]:
    """The assignment of a procedure and its revision; None and 0 where there was no swap of it.

    Raises:
        nats.errors.Error: JetStream does not say.
    """
    try:
        entry = await kv.get(procedure)
    except KeyNotFoundError:
        return None, 0
    return decode(entry.value or b""), entry.revision or 0


async def write(kv: KeyValue, assignment: Assignment, last: int) -> int:
    """Write an assignment in the place of that of the revision `last`; its own revision.

    Raises:
        SwapError: somebody else has written one since.
        nats.errors.Error: JetStream does not take it.
    """
    value = msgspec.json.encode(assignment)
    try:
        return await kv.update(assignment.procedure, value, last)
    except KeyWrongLastSequenceError:
        raise SwapError(
            f"the swap of {assignment.procedure} was changed by somebody else just now"
        ) from None


async def history(kv: KeyValue, procedure: str) -> list[Assignment]:
    """What became of the swaps of a procedure, the oldest that is kept first.

    Raises:
        nats.errors.Error: JetStream does not say.
    """
    if (await read(kv, procedure))[0] is None:
        return []
    return [decode(entry.value or b"") for entry in await kv.history(procedure)]


log = logging.getLogger(__name__)


class Assigned:
    """Follows the bucket."""

    def __init__(self, client: Client, changed: Callable[[], None]) -> None:
        """`changed` is called when there is another assignment."""
        self._client = client
        self._changed = changed
        self._watching = Watching(client, "the assignments", self._note)
        self.found: dict[str, Assignment] = {}
        """By procedure."""
        self.revision = 0
        """That of the last assignment, 0 for none."""

    async def start(self) -> KeyValue:
        """Begin; the bucket. What there is is known when it returns, or is not told in a second.

        Raises:
            nats.errors.Error: JetStream has no bucket, and makes none.
        """
        kv = await bucket(self._client)
        await self._watching.start(kv)
        return kv

    async def refresh(self) -> None:
        """Begin anew after a reconnection. To be called every second or so."""
        await self._watching.refresh()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._watching.stop()

    def _note(self, entry: KeyValue.Entry) -> None:
        revision = entry.revision or 0
        if revision <= self.revision:
            return  # seen before the watch began anew
        try:
            assignment = decode(entry.value or b"")
        except msgspec.DecodeError as err:
            log.warning("the assignment of %s cannot be read: %s", entry.key, err)
            return
        self.found[entry.key] = assignment
        self.revision = revision
        self._changed()
