"""The progress bar of a run."""

from math import inf

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from loadgen.recorder import Recorder

_INTERVAL = 0.2


class ProgressBar:
    """Shows how many procedures are done; redrawn by the heap of deadlines, without a thread."""

    def __init__(self, recorder: Recorder, planned: int | None) -> None:
        """A bar of `planned` procedures, of unknown length for None."""
        self.queued = inf
        self._at = inf
        self._recorder = recorder
        self._progress = Progress(
            TextColumn("load"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failures]} failed"),
            TimeElapsedColumn(),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task("load", total=planned, failures=0)

    def start(self, now: float) -> None:
        """Show it."""
        self._progress.start()
        self._at = now

    def deadline(self) -> float:
        """When it is drawn again."""
        return self._at

    def advance(self, now: float) -> None:
        """Draw it."""
        self._at = now + _INTERVAL
        recorder = self._recorder
        self._progress.update(
            self._task, completed=recorder.finished, failures=recorder.failures, refresh=True
        )

    def stop(self) -> None:
        """Take it away."""
        self._at = inf
        self._progress.stop()
