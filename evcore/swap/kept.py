"""The modules that were swapped in, kept in the data directory: workers that start anew need them,
and whoever decides their steps again."""

import contextlib
import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Final

from evcore.local.data import DataDirectory
from functions.runtime.variants import VariantError, file_name, load_variant
from functions.ue.dispatch import Procedures
from schemas.procedures import Procedure

UNSWAPPABLE: Final = (Procedure.IDENTIFICATION,)
"""What leaves no steps, so that nobody could tell its versions apart."""


def keep(data: DataDirectory, procedure: Procedure, path: Path) -> str:
    """Keep a module for a procedure; the name of its variant.

    What is kept is what was loaded, and it has to be whole: a module beside it is not there when
    its copy is loaded.

    Raises:
        VariantError: it cannot be imported, or is no procedure.
        OSError: it cannot be kept.
    """
    if procedure in UNSWAPPABLE:
        raise VariantError(f"{procedure} has no state and leaves no steps: it cannot be swapped")
    if not path.is_file():
        raise VariantError(f"there is no file {path}")
    data.variants.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=f".{procedure}-", suffix=".py", dir=data.variants)
    part = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(path.read_bytes())
        try:
            variant: str = load_variant(part).CODE
        except VariantError as err:
            raise VariantError(str(err).replace(str(part), str(path))) from None
        part.replace(path_of(data, procedure, variant))
    finally:
        part.unlink(missing_ok=True)
    return variant


def path_of(data: DataDirectory, procedure: str, variant: str) -> Path:
    """Where a variant is kept."""
    return data.variants / file_name(procedure, variant)


def arguments(data: DataDirectory, variants: dict[str, str]) -> tuple[str, ...]:
    """What a worker is told on its command line to host variants of procedures."""
    found: list[str] = []
    for procedure, variant in sorted(variants.items()):
        found += ("--with", f"{procedure}={path_of(data, procedure, variant).resolve()}")
    return tuple(found)


class Kept:
    """The variants of a data directory, loaded when first needed."""

    def __init__(self, data: DataDirectory) -> None:
        self._data = data
        self._loaded: dict[tuple[str, str], ModuleType | None] = {}

    def module(self, procedure: str, version: str) -> ModuleType | None:
        """The module of a version that a step says; None where it is not here."""
        key = (procedure, version)
        if key not in self._loaded:
            self._loaded[key] = None
            with contextlib.suppress(VariantError):
                found = load_variant(path_of(self._data, procedure, version))
                if version == found.CODE:  # else somebody has changed it since
                    self._loaded[key] = found
        return self._loaded[key]

    def procedures(self, procedure: str, version: str) -> Procedures | None:
        """What decides a step again that a variant has decided; None where that is not here."""
        module = self.module(procedure, version)
        return None if module is None else Procedures(replaced={Procedure(procedure): module})
