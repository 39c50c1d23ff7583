"""Events that nobody can take, kept with the reason."""

import logging

from eventing import binding, subjects
from eventing.delivery import Delivery
from eventing.publisher import Outgoing

log = logging.getLogger(__name__)


def dead_letter(delivery: Delivery, reason: str) -> Outgoing:
    """A delivery as a message for the stream of dead letters, with the reason."""
    log.error("%s is a dead letter: %s", delivery.subject, reason)
    of_event = binding.to_headers(delivery.event) if delivery.event is not None else {}
    headers = {**of_event, **delivery.headers, "evcore-reason": binding.header_value(reason)}
    return Outgoing(subjects.dead(delivery.subject), delivery.data, headers)
