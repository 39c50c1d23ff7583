"""`evcore function`: hosting procedures."""

from typing import Annotated

import typer
import uvloop

from evcore.commands.errors import UsageError
from evcore.commands.options import ConfigFile, SecretsFile, procedures_named
from evcore.commands.running import log_to_stderr
from functions.runtime.__main__ import AS_VARIANT, work
from functions.runtime.variants import VariantError, load_all
from schemas.config import reading as configuration

app = typer.Typer(help="Procedure functions, one by one.", no_args_is_help=True)

Procedures = Annotated[
    str, typer.Argument(metavar="PROCEDURES", help='As "registration,deregistration", or "all".')
]


@app.command("work", epilog="Example: `evcore function work registration --config evcore.toml`.")
def work_(
    procedures: Procedures = "all",
    variant: Annotated[
        bool,
        typer.Option(
            "--variant", envvar=AS_VARIANT, help="Decide only where `evcore swap` assigns it."
        ),
    ] = False,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="PROCEDURE=PATH", help="A variant: a folder or a wheel."),
    ] = None,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Pull events and decide about them, until SIGTERM.

    With --variant, the worker hosts this release as a variant of its procedures. With --with, it
    hosts a variant of one procedure. It gets no event until `evcore swap` assigns partitions to it.
    """
    log_to_stderr()
    names = procedures_named(procedures)
    settings = configuration.load(config)
    keys = configuration.load_secrets(secrets)
    try:
        variants = load_all(with_ or [])
    except VariantError as err:
        raise UsageError(str(err)) from None
    uvloop.run(work(settings, keys, names, variants, as_variant=variant))


@app.command("serve", epilog="Example: `evcore function serve registration --port 8080`.")
def serve_(
    procedures: Procedures = "all",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65535, envvar="PORT", help="To listen on.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="To listen on; Knative's queue-proxy calls loopback."),
    ] = "127.0.0.1",
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Accept requests without a token.")
    ] = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide about events that are POSTed as CloudEvents, until SIGTERM.

    The response has the messages to publish, as CloudEvents; `evcore dispatch` publishes them. A
    caller shows one of http_tokens in the secrets file, or a token of the issuer in [http.oidc].
    """
    from functions.runtime.serve import Address, serve  # noqa: PLC0415 - a server's imports, here alone

    log_to_stderr()
    names = procedures_named(procedures)
    settings = configuration.load(config)
    keys = configuration.load_secrets(secrets)
    serve(settings, keys, names, Address(host, port), anonymous=anonymous)
