"""The roles of evcore's processes on the bus, and what each role may publish and receive.

NATS has one user for each role. This module is the only place with their permissions: `evcore up`,
`evcore nats users` and the values of NATS's Helm chart all use it. A permission is a subject, with
wildcards. A role may do nothing that is not listed.

Replies go to inboxes below ``_INBOX.<role>``, so no role receives replies to another one.

JetStream checks no permissions when it publishes itself: on the target of a scheduled
message, and on the delivery subject of a push consumer. So only `setup` makes consumers of events,
and the receiver of an event checks the scheduled message behind it
(`eventing.jetstream.delivery.event_of`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from eventing import subjects
from schemas.origin import Origin


class Role(StrEnum):
    """A role of a process."""

    SETUP = "setup"
    """Makes the streams, consumers and buckets, and scales functions by the events that wait:
    `evcore up`, `evcore streams`. It is the only administrator of JetStream."""
    GATEWAY_N2 = "gateway-n2"
    GATEWAY_N4 = "gateway-n4"
    WORKER = "worker"
    """A function, pulling or over HTTP."""
    DISPATCHER = "dispatcher"
    ANNOUNCER = "announcer"
    CONSOLE = "console"
    """Shows the state of a core, and changes nothing."""
    OPERATOR = "operator"
    """Deregistrations, changes of subscriptions and of the network, swaps."""


class Permissions(Struct, frozen=True):
    """The subjects that a role may publish on and subscribe to."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox(role: Role) -> str:
    """Return the prefix of the inboxes of a role."""
    return f"_INBOX.{role}"


def permissions(role: Role) -> Permissions:
    """Return what a role may publish and subscribe to."""
    publish, subscribe = _ALLOWED[role]
    return Permissions(
        tuple(dict.fromkeys(publish)), tuple(dict.fromkeys((*subscribe, f"{inbox(role)}.>")))
    )


def _api(*calls: str) -> tuple[str, ...]:
    return tuple(f"$JS.API.{call}" for call in calls)


def _bucket(name: str) -> str:
    return f"KV_{name}"


def _reads(*buckets: str) -> tuple[str, ...]:
    """Return the requests that read single entries of key-value buckets."""
    return tuple(
        subject
        for name in buckets
        for subject in _api(
            f"STREAM.INFO.{_bucket(name)}",
            f"STREAM.MSG.GET.{_bucket(name)}",
            f"DIRECT.GET.{_bucket(name)}",
            f"DIRECT.GET.{_bucket(name)}.>",
        )
    )


def _watches(*buckets: str) -> tuple[str, ...]:
    """Return the requests that watch key-value buckets: an ephemeral consumer of each."""
    return tuple(
        subject
        for name in buckets
        for subject in (
            *_api(
                f"CONSUMER.CREATE.{_bucket(name)}",
                f"CONSUMER.CREATE.{_bucket(name)}.>",
                f"CONSUMER.INFO.{_bucket(name)}.*",
            ),
            f"$JS.FC.{_bucket(name)}.>",
        )
    )


def _entries(bucket: str) -> str:
    """Return the subjects of the entries of a bucket, to write them."""
    return f"$KV.{bucket}.*"


_STREAM: Final = _api(f"STREAM.INFO.{subjects.STREAM}")
_ACKS: Final = (f"$JS.ACK.{subjects.STREAM}.>", f"$JS.ACK.*.*.{subjects.STREAM}.>")
"""Acknowledgements; the second form has the domain and the account (ADR-15)."""

_PULLS: Final = (
    *_api(
        f"CONSUMER.NAMES.{subjects.STREAM}",
        f"CONSUMER.MSG.NEXT.{subjects.STREAM}.*",
    ),
    *_ACKS,
    # The partitions are shared by leases, and their owners ask each other whether they are alive.
    *_reads(subjects.LEASES, subjects.ASSIGNMENTS),
    *_watches(subjects.LEASES, subjects.ASSIGNMENTS),
    _entries(subjects.LEASES),
    subjects.alive("*"),
    f"{inbox(Role.WORKER)}.>",
    f"{inbox(Role.DISPATCHER)}.>",
)
"""For processes that pull events."""

_OUTPUTS: Final = (
    subjects.events_from(Origin.CORE),
    f"{subjects.TIMERS}>",
    subjects.dead(subjects.EVENTS),
    subjects.DOWNLINKS,
    f"{subjects.N4}*",
)
"""For the outputs of functions."""

_ALLOWED: Final[dict[Role, tuple[Iterable[str], Iterable[str]]]] = {
    Role.SETUP: (
        ("$JS.API.>", f"{subjects.TIMERS}>"),
        (subjects.EVENTS,),
    ),
    Role.GATEWAY_N2: (
        (*_STREAM, subjects.events_from(Origin.N2)),
        (subjects.DOWNLINKS, subjects.stats("*")),
    ),
    Role.GATEWAY_N4: (
        (*_STREAM, subjects.events_from(Origin.N4)),
        (f"{subjects.N4}*",),
    ),
    Role.WORKER: (
        (
            *_STREAM,
            *_PULLS,
            *_OUTPUTS,
            # JetStream may lose an acknowledgement (`eventing.jetstream.earlier`).
            *_api(
                f"CONSUMER.INFO.{subjects.STREAM}.*",
                f"STREAM.MSG.GET.{subjects.STREAM}",
                f"STREAM.MSG.DELETE.{subjects.STREAM}",
            ),
            subjects.stats("*"),
        ),
        (subjects.alive("*"), subjects.STATS_REQUEST),
    ),
    Role.DISPATCHER: ((*_STREAM, *_PULLS, *_OUTPUTS), (subjects.alive("*"),)),
    Role.ANNOUNCER: (
        (
            *_reads(subjects.ANNOUNCERS),
            _entries(subjects.ANNOUNCERS),
            subjects.dead("announce.*"),
        ),
        (),
    ),
    Role.CONSOLE: (
        (
            *_STREAM,
            *_api(f"CONSUMER.LIST.{subjects.STREAM}"),
            *_reads(subjects.LEASES, subjects.ASSIGNMENTS),
            subjects.STATS_REQUEST,
        ),
        (subjects.stats("*"),),
    ),
    Role.OPERATOR: (
        (
            subjects.events_from(Origin.OPERATOR),
            *_reads(subjects.LEASES, subjects.ASSIGNMENTS),
            *_watches(subjects.ASSIGNMENTS),
            _entries(subjects.ASSIGNMENTS),
            subjects.STATS_REQUEST,
        ),
        (subjects.stats("*"),),
    ),
}
"""By role, the subjects to publish on, and those to subscribe to beside the role's inboxes."""
