"""Domain events of recorded logs, without a store or a sink."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from functions.announcer.announcement import Announcement, announcements
from schemas.domain import PREFIX
from schemas.step import Step
from statestore.log import Aggregate
from statestore.vault import Vault

SOURCE = "/amf/test"
_VAULT = Vault(bytes(32))


class Told(NamedTuple):
    """A domain event with the states of its aggregate around the step."""

    event: Announcement
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The type without its prefix."""
        return self.event.type.removeprefix(PREFIX)

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.event.body)
        return found


def told(order: Iterable[tuple[str, Step[Any]]]) -> list[Told]:
    """Return the domain events of steps, in order."""
    states: dict[str, Aggregate] = {}
    found: list[Told] = []
    for name, step in order:
        if name not in states:
            key = _VAULT.new_data_key()
            states[name] = Aggregate(name, _VAULT.sealer(key, name), key)
        before = states[name].state
        made = list(announcements(states[name], step, SOURCE))
        found += [Told(event, before, states[name].state) for event in made]
    return found
