"""Keep the variants of swaps in the data directory.

New workers load the kept variants. `evcore log verify` repeats the decisions of their steps. An
overlay is kept as a wheel, ``NAME@ID.whl``. For a virtual environment, ``NAME@ID.path`` keeps only
the path of its Python.
"""

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from evcore.local import private
from evcore.local.data import DataDirectory
from evcore.swap import environment
from functions.runtime import variants
from functions.runtime.variants import Overlay, Variant, VariantError
from schemas.code import Code

_WHEEL = ".whl"
_PATH = ".path"


def keep(data: DataDirectory, path: Path) -> Code:
    """Keep the variant in a folder, a wheel or a virtual environment, and return its code.

    Raises:
        VariantError: there is no variant at the path.
        OSError: the data directory cannot be written.
    """
    python = environment.python_of(path)
    if python is not None:
        code = environment.code_of(python)
        _write(data, f"{code.release}@{code.id}{_PATH}", str(python).encode())
        return code
    kept = variants.load(path)
    name = f"{kept.overlay.name}@{kept.id}{_WHEEL}"
    private.make_directory(data.variants)
    with tempfile.TemporaryDirectory(dir=data.variants) as folder:
        part = Path(folder) / name
        part.touch(private.FILE)
        _zip(part, kept.overlay)
        part.replace(data.variants / name)
    return kept.code


def _zip(path: Path, overlay: Overlay) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in sorted(overlay.files.items()):
            wheel.writestr(name, text)


def _write(data: DataDirectory, name: str, text: bytes) -> None:
    private.make_directory(data.variants)
    number, part = tempfile.mkstemp(prefix=".", dir=data.variants)
    with os.fdopen(number, "wb") as file:
        file.write(text)
    Path(part).replace(data.variants / name)


class Kept:
    """The kept variants of a data directory. Each overlay is loaded when it is first needed."""

    def __init__(self, data: DataDirectory) -> None:
        self._data = data
        self._loaded: dict[str, Variant | None] = {}

    def overlay(self, variant: str) -> Path | None:
        """Return the wheel of an overlay by its id; None if it is not kept."""
        return self._file(variant, _WHEEL)

    def python(self, variant: str) -> Path | None:
        """Return the Python of an environment by the id of its code; None if it is not kept."""
        file = self._file(variant, _PATH)
        return None if file is None else Path(file.read_text())

    def has(self, variant: str) -> bool:
        """Whether the variant is kept, so this core can start its workers."""
        return self.overlay(variant) is not None or self.python(variant) is not None

    def outdated(self, variant: str) -> str:
        """Return why a kept variant cannot be hosted any more, as a sentence; empty if it can.

        An upgrade of evcore changes the id of an overlay.
        """
        python = self.python(variant)
        if python is not None:
            try:
                code = environment.code_of(python)
            except VariantError as err:
                return str(err)
            return "" if code.id == variant else f"{python} runs {code} now"
        if self.overlay(variant) is not None and self.load(variant) is None:
            return "it was made for another evcore than this one"
        return ""

    def load(self, variant: str) -> Variant | None:
        """Return an overlay by its id; None if it is not kept, or fits only another evcore."""
        if variant not in self._loaded:
            self._loaded[variant] = None
            path = self.overlay(variant)
            if path is not None:
                with contextlib.suppress(VariantError):
                    found = variants.load(path)
                    self._loaded[variant] = found if found.id == variant else None
        return self._loaded[variant]

    def arguments(self, hosted: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """Return the arguments of a worker that hosts overlays, as (procedure, id) pairs.

        Variants that are not kept as overlays are left out.
        """
        arguments: list[str] = []
        for procedure, variant in sorted(hosted):
            path = self.overlay(variant)
            if path is not None:
                arguments += ("--with", f"{procedure}={path.resolve()}")
        return tuple(arguments)

    def _file(self, variant: str, suffix: str) -> Path | None:
        files = sorted(self._data.variants.glob(f"*@{variant}{suffix}"))
        return files[0] if files else None
