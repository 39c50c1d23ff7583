"""Procedures as a user names them."""

from evcore.commands.errors import UsageError
from schemas.procedures import Procedure


def procedure_named(name: str) -> Procedure:
    """The procedure of a name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Procedure(name.strip())
    except ValueError:
        raise UsageError(f"{name.strip()!r} is no procedure: {', '.join(Procedure)}") from None


def procedures_named(text: str) -> tuple[Procedure, ...]:
    """The procedures of ``"registration,session"``, or of ``"all"``.

    Raises:
        UsageError: there is no such procedure.
    """
    if text == "all":
        return tuple(Procedure)
    return tuple(dict.fromkeys(procedure_named(name) for name in text.split(",")))
