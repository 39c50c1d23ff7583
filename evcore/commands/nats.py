"""`evcore nats`: the users of a NATS cluster of your own."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eventing.access import keys
from eventing.access.authorization import configuration, helm_values

app = typer.Typer(help="The users of NATS: keys and permissions.", no_args_is_help=True)


class Form(StrEnum):
    """A form of the configuration that is printed."""

    SERVER = "server"
    """For the configuration file of nats-server."""
    HELM = "helm"
    """Values of NATS's Helm chart."""


@app.command("users", epilog="Example: `evcore nats users keys > authorization.conf`.")
def users(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the keys.")],
    form: Annotated[
        Form, typer.Option("--for", help="nats-server's own file, or values of its Helm chart.")
    ] = Form.SERVER,
) -> None:
    """Write a key for each role to DIR/ROLE.nk, and print the users for nats-server.

    Existing keys stay. The output has public keys only: each user is a role, with the subjects
    that it may publish on and subscribe to. Give each process the file of its role only, by
    `[nats] nkey`.
    """
    public = keys.make_missing(folder)
    helm = form is Form.HELM
    typer.echo(json.dumps(helm_values(public), indent=2) if helm else configuration(public))
