"""The latency plot of a report: the distribution, and the percentiles over time."""

from typing import Any

from loadgen.errors import ConfigError
from loadgen.report.report import Recorder, Report


def save_plot(report: Report, recorder: Recorder, path: str) -> None:
    """Write a PNG: the cumulative distribution of each procedure's latency, and p50 and p99 per
    second.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    figure, axes = _figure()
    _distributions(axes[0], recorder)
    _course(axes[1], report)
    try:
        figure.savefig(path, dpi=120, format="png")
    except OSError as error:
        raise ConfigError(f"plot: cannot write {path}: {error.strerror}") from error


def _figure() -> tuple[Any, Any]:
    try:
        # Imported late: the import takes longer than a short load.
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see above
        from matplotlib.figure import Figure  # noqa: PLC0415 - see above
    except ImportError as error:
        raise ConfigError("plot: matplotlib is not installed (pip install matplotlib)") from error
    figure: Any = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(2, 1)


def _distributions(axes: Any, recorder: Recorder) -> None:
    for name, samples in recorder.procedures.items():
        ordered = sorted(samples.latencies)
        if ordered:
            shares = [(rank + 1) / len(ordered) for rank in range(len(ordered))]
            axes.step([x * 1000 for x in ordered], shares, where="post", label=str(name))
    axes.set(xscale="log", xlabel="latency in ms", ylabel="share", title="Latency", ylim=(0, 1))
    axes.grid(visible=True, which="both", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _course(axes: Any, report: Report) -> None:
    for index, (name, procedure) in enumerate(report.procedures.items()):
        seconds = [s for s in procedure.timeline if s.p50 is not None]
        at = [s.at for s in seconds]
        color = f"C{index}"
        p50 = [(s.p50 or 0) * 1000 for s in seconds]
        p99 = [(s.p99 or 0) * 1000 for s in seconds]
        axes.plot(at, p50, color=color, marker=".", label=f"{name} p50")
        axes.plot(at, p99, color=color, marker=".", linestyle="--", label=f"{name} p99")
    axes.set(xlabel="seconds since the start", ylabel="latency in ms", title="Over time")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(ncols=2)
