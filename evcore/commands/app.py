"""The command line. It imports only the named command, so that a function starts fast."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer

import evcore


class Command(NamedTuple):
    """A command with a help text, or a group of commands without one."""

    name: str
    module: str
    help: str = ""


COMMANDS: Final = (
    Command("up", "up", "Run a core on this machine."),
    Command("demo", "demo", "Run a core with a load, and verify its log."),
    Command("load", "load", "Run gNBs and UEs against a core."),
    Command("subscriber", "subscribers"),
    Command("session", "sessions"),
    Command("network", "network"),
    Command("log", "logs"),
    Command("replay", "replay", "Try another version of a procedure on the log."),
    Command("swap", "swap", "Swap a procedure of a core for another version of it."),
    Command("doctor", "doctor", "Check the requirements on this machine."),
    Command("function", "function"),
    Command("gateway", "cluster"),
    Command("dispatch", "dispatch", "POST events to functions over HTTP."),
    Command("announce", "announce", "POST domain events to a Knative Broker."),
    Command("nats", "nats"),
    Command("streams", "cluster", "Create the streams of a cluster."),
)
"""In the order of the help text."""


def app(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line, or only the command that `arguments` name."""
    made = typer.Typer(
        name="evcore",
        help="An event-sourced, serverless 5G core control plane.",
        epilog=(
            "A first run: `evcore demo`. A core to keep: `evcore subscriber add`, `evcore up`, "
            "then `evcore log show SUPI`."
        ),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    made.callback()(_options)
    named = [command for command in COMMANDS if command.name in arguments[:1]]
    for command in named or COMMANDS:
        module: Any = import_module(f"evcore.commands.{command.module}")
        if command.help:
            run = getattr(module, command.name)
            made.command(command.name, short_help=command.help)(run)
        else:
            made.add_typer(module.app, name=command.name)
    return made


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evcore {evcore.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    del version
