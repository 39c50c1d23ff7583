"""Whether a queue stands or is a burst (CoDel, RFC 8289, with the predicted waiting time)."""

from typing import Final

BURST: Final = 1.5
"""Times the target that a burst may take to be processed."""
PATIENCE: Final = 3.0
"""Seconds for which a queue may exceed the target before it is a standing one. The backlog of a
stall, such as a cold start, is a burst."""
RECENT: Final = 10.0
"""Seconds after the end of a standing queue in which the next one is no burst."""
RELIEF: Final = 0.5
"""The share of the target below which a standing queue has ended."""


class StandingQueue:
    """Judges a queue by the time that its last arrival must wait."""

    def __init__(self, target: float) -> None:
        """`target` is the waiting time, in seconds, that a queue may have for long; 0 for any."""
        self.target = target
        self.wait = 0.0
        """The last predicted waiting time, in seconds."""
        self.stands = False
        """Whether the queue is longer than the target, and no burst."""
        self._above_since: float | None = None
        self._patient = False
        """Whether the last look was patient."""
        self._stood_at = float("-inf")
        """When it stood last."""

    def look(self, now: float, wait: float, *, patient: bool = False) -> bool:
        """Record a predicted waiting time. Both are in seconds. Return `stands`.

        With `patient`, a long queue does not stand at once, but after `PATIENCE`.
        """
        self.wait = wait
        if not self.target or wait < self.target * (RELIEF if self.stands else 1.0):
            self._above_since, self.stands, self._patient = None, False, patient
            return False
        if self._above_since is None or (patient and not self._patient):
            self._above_since = now
        self._patient = patient
        lasts = now - self._above_since >= PATIENCE
        again, long = now - self._stood_at < RECENT, wait >= BURST * self.target
        self.stands = self.stands or lasts or ((again or long) and not patient)
        if self.stands:
            self._stood_at = now
        return self.stands
