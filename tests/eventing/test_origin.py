"""The origin of an event: the receiver refuses what the sender may not send."""

import pytest

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.delivery import Delivery, dead_letter, event_of, split
from eventing.jetstream.messages import addressed, gathered
from schemas.cloudevents import EventType
from schemas.origin import ORIGINS, Origin, origin_of
from schemas.position import Position
from tests.eventing.brokers import event

HANDED_ON = Position(7, 0, 1_800_000_000_000)


def delivered(subject: str, kind: EventType, **headers: str) -> Delivery:
    found = nats_binding.to_headers(event(1, type=kind)) | headers
    return Delivery(subject, b"", found, "", 1, "registration-0000")


@pytest.mark.parametrize("kind", [*EventType])
def test_an_event_is_taken_from_its_origin_alone(kind: EventType) -> None:
    for origin in Origin:
        subject = subjects.event(0, "registration", origin, 1)
        if origin == ORIGINS.get(kind, Origin.CORE):
            assert event_of(delivered(subject, kind)).type == kind
        else:
            with pytest.raises(BadEventError, match=rf"only \w+ sends {kind}"):
                event_of(delivered(subject, kind))


def test_an_event_that_is_handed_on_is_of_the_core() -> None:
    one = event(1, position=HANDED_ON)
    assert origin_of(one) == Origin.CORE
    message = addressed(one, 1).outgoing
    assert subjects.is_from(message.subject, Origin.CORE)
    here = Delivery(message.subject, message.data, message.headers, "", 1, "registration-0000")
    assert event_of(here) == one
    forged = here._replace(subject=subjects.event(0, "registration", Origin.N2, 1))
    with pytest.raises(BadEventError, match="only core sends"):
        event_of(forged)


def test_each_event_of_a_batch_is_checked() -> None:
    wish = event(2, type=EventType.DEREGISTER, procedure="registration", slot=1)
    ours = event(1, procedure="registration", slot=1)
    (batch,) = gathered([addressed(ours, 1), addressed(wish, 1)], lambda _: "")
    first, second = split(Delivery(batch.subject, batch.data, batch.headers, "", 1, "x"))
    assert event_of(first).id == ours.id
    with pytest.raises(BadEventError, match="only operator sends"):
        event_of(second)
    scheduled = {**batch.headers, "Nats-Scheduler": "ue.0.nothing.n2.1"}
    for one in split(Delivery(batch.subject, batch.data, scheduled, "", 1, "x")):
        with pytest.raises(BadEventError):
            event_of(one)


def test_only_a_wake_up_is_scheduled() -> None:
    subject = subjects.event(0, "registration", Origin.CORE, 1)
    wake = delivered(subject, EventType.TIMER, **{"Nats-Scheduler": "timer.0.1.ue-1"})
    assert event_of(wake).type == EventType.TIMER
    for scheduler, kind, origin in (
        ("ue.0.nothing.n2.1", EventType.TIMER, Origin.CORE),
        ("timer.0.1.ue-1", EventType.NGAP_UPLINK, Origin.N2),
    ):
        target = subjects.event(0, "registration", origin, 1)
        with pytest.raises(BadEventError, match="is not the subject of a wake-up"):
            event_of(delivered(target, kind, **{"Nats-Scheduler": scheduler}))


def test_a_dead_letter_has_no_headers_for_jetstream() -> None:
    """The stream of dead letters refuses some of them, and the worker would try for ever."""
    more = {"Nats-Schedule": "@at 2026-01-01T00:00:00Z", "nats-rollup": "all", "evcore-x": "1"}
    letter = dead_letter(delivered("ue.0.ran.n2.1", EventType.NGAP_UPLINK, **more), "why")
    assert not [name for name in letter.headers if name.lower().startswith("nats-")]
    assert letter.headers["evcore-x"] == "1"
