"""The command line: `evcore`. Each command is in a file of `evcore.commands`."""

import sys
from typing import Annotated

import typer

import evcore
from evcore.commands import demo, doctor, function, load, logs, replay, subscribers, up
from evcore.commands.errors import said_in_one_line

app = typer.Typer(
    name="evcore",
    help="An event-sourced, serverless 5G core control plane.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("demo")(demo.demo)
app.command("load")(load.load)
app.add_typer(subscribers.app, name="subscriber")
app.add_typer(logs.app, name="log")
app.command("replay")(replay.replay)
app.command("doctor")(doctor.doctor)
app.add_typer(function.app, name="function")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evcore {evcore.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True),
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line; errors that a user can mend are one line."""
    with said_in_one_line():
        app()
    sys.exit(0)


if __name__ == "__main__":
    main()
