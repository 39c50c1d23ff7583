"""What the commands that POST to a sink have in common: they are containers of Knative sources."""

from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

import typer

from evcore.commands.errors import UsageError
from eventing.dispatcher.sink import OverridesError, overrides

CeOverrides: TypeAlias = Annotated[
    str,
    typer.Option(
        "--ce-overrides",
        metavar="JSON",
        envvar="K_CE_OVERRIDES",
        help='Attributes to add: {"extensions": {"name": "value"}}.',
    ),
]


def check_sink(url: str) -> None:
    """Refuse what cannot be POSTed to.

    Raises:
        UsageError: it is no http URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--sink: {url!r} is no http URL")


def extensions_of(text: str) -> dict[str, str]:
    """The attributes to add to each event.

    Raises:
        UsageError: it is not what Knative makes it.
    """
    try:
        return overrides(text)
    except OverridesError as err:
        raise UsageError(str(err)) from None
