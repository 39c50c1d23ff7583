"""`evcore gateway`: the processes that hold the sockets to gNBs and UPFs."""

import typer
import uvloop

from evcore.commands.errors import CommandError
from evcore.commands.options import ConfigFile, SecretsFile
from evcore.commands.running import log_to_stderr
from gateway.n2.__main__ import serve as serve_n2
from gateway.n4.__main__ import serve as serve_n4
from gateway.n4.endpoint import EndpointError
from schemas.config import reading as configuration

app = typer.Typer(help="The gateways to gNBs and UPFs.", no_args_is_help=True)


@app.command("n2", epilog="Example: `evcore gateway n2 --config evcore.toml`.")
def n2(config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Serve gNBs: NGAP over SCTP, until SIGTERM."""
    log_to_stderr()
    settings, keys = configuration.load(config), configuration.load_secrets(secrets)
    uvloop.run(serve_n2(settings, keys))


@app.command("n4", epilog="Example: `evcore gateway n4 --config evcore.toml`.")
def n4(config: ConfigFile = None) -> None:
    """Serve UPFs: PFCP over UDP, until SIGTERM."""
    log_to_stderr()
    settings = configuration.load(config)
    try:
        uvloop.run(serve_n4(settings))
    except EndpointError as err:
        raise CommandError(str(err)) from None
