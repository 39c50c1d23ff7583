"""The commands put together."""

from typing import Annotated

import typer

import evcore
from evcore.commands import demo, doctor, function, load, logs, replay, sessions, subscribers, up

app = typer.Typer(
    name="evcore",
    help="An event-sourced, serverless 5G core control plane.",
    epilog=(
        "A first run: `evcore demo`. A core to keep: `evcore subscriber add`, `evcore up`, then "
        "`evcore log show SUPI`."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("up", short_help="Run a core on this machine.")(up.up)
app.command("demo", short_help="Show all of it, from nothing to a verified log.")(demo.demo)
app.command("load", short_help="Run gNBs and UEs against a core.")(load.load)
app.add_typer(subscribers.app, name="subscriber")
app.add_typer(sessions.app, name="session")
app.add_typer(logs.app, name="log")
app.command("replay", short_help="Try another version of a procedure on the log.")(replay.replay)
app.command("doctor", short_help="See what this machine has.")(doctor.doctor)
app.add_typer(function.app, name="function")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evcore {evcore.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    del version
