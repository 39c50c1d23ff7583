"""Versions of procedures that are put in the place of the ones that this evcore has."""

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from msgspec.structs import replace

from functions.runtime.code import this_code
from schemas.procedures import Procedure

DIGITS: Final = 8
"""Of the hash of a module's text, in the name of its variant."""


class VariantError(Exception):
    """A module cannot take the place of a procedure; it says why in one sentence."""


def load_file(path: Path) -> ModuleType:
    """The module in a file, whatever it raises when it is run.

    It has a name of its own, so that ``registration.py`` does not stand for anything else.

    Raises:
        VariantError: there is no such file, or it is none of Python.
    """
    if not path.is_file():
        raise VariantError(f"there is no file {path}")
    if path.suffix != ".py":
        raise VariantError(f"{path} is no file of Python: its name does not end with .py")
    name = f"evcore_candidate.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise VariantError(f"{path} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the module of a class
    spec.loader.exec_module(module)
    return module


def load_variant(path: Path) -> ModuleType:
    """Return the same as it decides in a swap: `VARIANT` is its `schemas.code.Code`, `CODE` its id.

    Raises:
        VariantError: it cannot be imported, or is no procedure.
    """
    try:
        module = load_file(path)
    except VariantError:
        raise
    except (Exception, SystemExit) as err:  # whatever somebody's code does
        raise VariantError(f"{path} cannot be imported: {type(err).__name__}: {err}") from None
    if not callable(getattr(module, "decide", None)):
        raise VariantError(f"{path} is no procedure: it has no decide")
    text = hashlib.sha256(path.read_bytes()).hexdigest()
    code = replace(this_code(), variant=f"{path.stem.partition('@')[0]}+{text[:DIGITS]}")
    vars(module).update(VARIANT=code, CODE=code.id)
    return module


def file_name(procedure: str, variant: str) -> str:
    """What the file of a variant is called where variants are kept."""
    return f"{procedure}@{variant}.py"


def load_all(options: Iterable[str]) -> dict[Procedure, ModuleType]:
    """The modules of ``PROCEDURE=FILE`` each.

    Raises:
        VariantError: one is not of that form, is of no procedure, or cannot be loaded.
    """
    found: dict[Procedure, ModuleType] = {}
    for option in options:
        name, sign, path = option.partition("=")
        if not sign or name not in tuple(Procedure):
            raise VariantError(f"{option!r} is not PROCEDURE=FILE, of {', '.join(Procedure)}")
        found[Procedure(name)] = load_variant(Path(path))
    return found


def versions(modules: Mapping[Procedure, ModuleType]) -> dict[str, str]:
    """The variants of modules that were loaded, by procedure."""
    return {str(procedure): str(vars(module)["CODE"]) for procedure, module in modules.items()}


def version_with(version: str, variants: Mapping[str, str]) -> str:
    """The version of workers that host variants: ``"0.1.0 paging=2+5d41402a"``."""
    hosted = [f"{procedure}={variant}" for procedure, variant in sorted(variants.items())]
    return " ".join([version, *hosted])
