"""`evcore function`: hosting procedures."""

from typing import Annotated

import typer
import uvloop

from evcore.commands.options import ConfigFile, SecretsFile, procedures_named
from evcore.commands.running import log_to_stderr
from functions.runtime.__main__ import work
from schemas.config import reading as configuration

app = typer.Typer(help="Procedure functions, one by one.", no_args_is_help=True)

Procedures = Annotated[
    str, typer.Argument(metavar="PROCEDURES", help='As "registration,deregistration", or "all".')
]


@app.command("work", epilog="Example: `evcore function work registration --config evcore.toml`.")
def work_(
    procedures: Procedures = "all", config: ConfigFile = None, secrets: SecretsFile = None
) -> None:
    """Pull events and decide about them, until SIGTERM."""
    log_to_stderr()
    names = procedures_named(procedures)
    settings = configuration.load(config)
    keys = configuration.load_secrets(secrets)
    uvloop.run(work(settings, keys, names))


@app.command("serve", epilog="Example: `evcore function serve registration --port 8080`.")
def serve_(
    procedures: Procedures = "all",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65535, envvar="PORT", help="To listen on.")
    ] = 8080,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="To listen on.")] = "0.0.0.0",  # noqa: S104
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide about events that are POSTed as CloudEvents, until SIGTERM.

    The response holds what the decision puts out, as CloudEvents: `evcore dispatch` sends it.
    """
    from functions.runtime.serve import serve  # noqa: PLC0415 - a server's imports, here alone

    log_to_stderr()
    names = procedures_named(procedures)
    settings = configuration.load(config)
    keys = configuration.load_secrets(secrets)
    serve(settings, keys, names, host, port)
