"""Another version of a procedure, from wherever it is, to be tried on recorded logs."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

from evcore.commands.errors import UsageError
from functions.runtime.variants import VariantError, load_file
from schemas.procedures import MODULES, Procedure


def load_module(name: str) -> ModuleType:
    """A module by its dotted name, or a file of Python by its path.

    Raises:
        UsageError: it is not there, cannot be imported, or is no procedure.
    """
    try:
        module = _from_file(Path(name)) if _is_path(name) else _from_name(name)
    except UsageError:
        raise
    except (Exception, SystemExit) as err:  # whatever somebody's code does
        raise UsageError(f"{name} cannot be imported: {type(err).__name__}: {err}") from None
    if not callable(getattr(module, "decide", None)):
        raise UsageError(f"{name} is no procedure: it has no decide")
    return module


def procedure_of(module: ModuleType, named: Procedure | None) -> Procedure:
    """What a module takes the place of: as named, or else as its own name begins.

    Raises:
        UsageError: its name says none, or one that leaves no steps.
    """
    own = module.__name__.rpartition(".")[2]
    found = named or next((p for p, path in MODULES.items() if _begins(own, path)), None)
    if found is None:
        names = ", ".join(Procedure)
        raise UsageError(f"{own} is named as no procedure: say --procedure, of {names}")
    if found == Procedure.IDENTIFICATION:
        raise UsageError(f"{found} has no state and leaves no steps to decide again")
    return found


def _begins(own: str, path: str) -> bool:
    """Whether a name is that of a procedure's module, or continues it as ``ran_2`` and ``ran-b``
    do; ``random`` does not."""
    return re.match(rf"{path.rpartition('.')[2]}(?![a-z])", own) is not None


def _is_path(name: str) -> bool:
    return name.endswith(".py") or "/" in name


def _from_file(path: Path) -> ModuleType:
    sys.path.append(str(path.resolve().parent))
    try:
        return load_file(path)
    except VariantError as err:
        raise UsageError(str(err)) from None


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)
