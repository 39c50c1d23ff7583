"""A `World` that can be copied at low cost.

Each cell and each sequence of a table begins in a copy of a state that is built once.
"""

import hashlib
from collections import defaultdict
from typing import Any, Self

from functions.decider import Inputs
from schemas.subscriber import Subscriber
from tests.functions.checked import CheckedWorld
from tests.functions.world import World


class Core(World):
    """One core. `salt` gives copies of one state different randomness."""

    salt = b""
    busy = False
    """Whether the worker is congested."""

    def __init__(self, *given: Any, **more: Any) -> None:
        self.subscriptions: dict[tuple[str, int], Subscriber] = {}
        """Every version of a subscription. `replay` needs them."""
        super().__init__(*given, **more)

    def fork(self) -> Self:
        """Return a copy that shares the immutable objects: states, steps and events."""
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            mutable = isinstance(value, dict | list | set) or hasattr(value, "popleft")
            setattr(made, name, value.copy() if mutable else value)
        made.steps = defaultdict(list, {name: [*steps] for name, steps in self.steps.items()})
        return made

    def back_off(self) -> int:
        return 30 if self.busy else 0

    def inputs(self, name: str) -> Inputs:
        given = super().inputs(name)
        found = given.subscriber
        if self.salt:
            given = given._replace(entropy=hashlib.sha256(self.salt + given.entropy).digest())
        if found is None:
            return given
        version = 1
        while self.subscriptions.setdefault((found.supi, version), found) is not found:
            version += 1
        return given._replace(subscription=version)

    def subscriber_of(self, name: str, version: int) -> Subscriber | None:
        return self.subscriptions.get((name.removeprefix("ue/"), version))


class CheckedCore(Core, CheckedWorld):
    """A `Core` that checks every step."""
