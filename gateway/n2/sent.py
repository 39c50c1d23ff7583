"""The downlink messages that have left: each leaves once, however often its step is sent out.

An event that JetStream delivers again finds its step, whose outputs are then sent again, since
its worker may have died before it sent them. A gNB that has had them must not have them twice: an
AUTHENTICATION REQUEST after SECURITY MODE COMPLETE says that the core is at another point.
"""

from collections import OrderedDict
from typing import Final

KEPT: Final = 1 << 15
"""Messages that are known: more than leave within the time after which JetStream delivers again."""


class Sent:
    """The ids of the events of which PDUs were sent last."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def again(self, identifier: str) -> bool:
        """Whether the PDU of this event has left; from now on it has."""
        if identifier in self._ids:
            return True
        self._ids[identifier] = None
        if len(self._ids) > KEPT:
            self._ids.popitem(last=False)
        return False
