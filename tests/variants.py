"""Variants for tests: folders with edited copies of modules, in the layout of evcore."""

import shutil
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import functions

ROOT = Path(functions.__path__[0]).parent


def source(module: str) -> str:
    """Return the text of a module of this release, such as ``"gmm/paging"``."""
    return (ROOT / "functions" / f"{module}.py").read_text()


def edited(module: str, *edits: tuple[str, str]) -> str:
    """Return the text of a module with each old text replaced by a new one."""
    text = source(module)
    for old, new in edits:
        assert text.count(old) == 1, (module, old)
        text = text.replace(old, new)
    return text


def wrapped(module: str, text: str) -> str:
    """Return the text of a procedure that calls ``before(d, received)`` and then decides as usual.

    `text` defines ``before``.
    """
    return (
        f"{source(module)}\n\n{dedent(text)}\n"
        "_decide = decide\n\n\n"
        "def decide(d, received):\n    before(d, received)\n    return _decide(d, received)\n"
    )


def folder(root: Path, files: dict[str, str], name: str = "my-variant") -> Path:
    """Write a variant: texts by modules such as ``"gmm/paging"``. An old one is replaced."""
    for old in sorted(root.glob(f"{name}/**/*.py")):
        old.unlink()
    for module, text in files.items():
        path = root / name / "functions" / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / name


def wheel(root: Path, files: dict[str, str], name: str = "my_variant-1.0") -> Path:
    """Write the same as a wheel."""
    path = root / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(f"{name}.dist-info/METADATA", "Name: my_variant\nVersion: 1.0\n")
        for module, text in files.items():
            made.writestr(f"functions/{module}.py", text)
    return path


def environment(root: Path, files: dict[str, str], name: str = "venv") -> Path:
    """Make a folder that works as a virtual environment with another release of evcore.

    Its Python finds a copy of `functions` with other modules first, and this checkout's packages.
    """
    made = root / name
    site = made / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "functions", site / "functions", ignore=ignored)
    for module, text in files.items():
        (site / "functions" / f"{module}.py").write_text(text)
    python = made / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return made
