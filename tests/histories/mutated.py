"""Replay recorded histories with each default of a document changed, in its own process.

``python -m tests.histories.mutated`` prints a line for each default that changes a decision, and
the number of defaults at the end. Documents are stored whole: no default may make a difference.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ("schemas.network", "schemas.subscriber", "schemas.nitz")
"""The modules of the documents that decisions read."""


class Default(NamedTuple):
    """A field of a struct that has a default."""

    module: str
    struct: str
    field: str


def source(module: str) -> str:
    """Return the source text of a module."""
    return (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")


def defaults() -> Iterator[Default]:
    """Yield every default of a document."""
    for module in MODULES:
        for struct in ast.parse(source(module)).body:
            if isinstance(struct, ast.ClassDef):
                for name in filter(None, map(_name, struct.body)):
                    yield Default(module, struct.name, name)


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import modules with changed defaults: a text that no field can have."""

    def __init__(self, changed: Sequence[Default]) -> None:
        self._changed = changed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if all(default.module != fullname for default in self._changed):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        tree = ast.parse(source(name))
        for struct in tree.body:
            if isinstance(struct, ast.ClassDef):
                for node in struct.body:
                    field = _name(node)
                    if field and Default(name, struct.name, field) in self._changed:
                        assert isinstance(node, ast.AnnAssign)
                        node.value = ast.Constant("another default")
        code = compile(ast.fix_missing_locations(tree), name, "exec")
        exec(code, vars(module))  # noqa: S102 - a module with some changes


def _name(node: ast.stmt) -> str | None:
    """Return the name of a field with a default; None for anything else in a struct."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        assert isinstance(node.target, ast.Name)
        return node.target.id
    return None


def differences(changed: Sequence[Default]) -> int:
    """Return the number of steps with another decision under changed defaults."""
    sys.meta_path.insert(0, _Mutated(changed))
    from tests.histories import again, history

    found = 0
    for path in history.files():
        recorded = history.read(path)
        for step, first, second in again.cold(recorded):
            same = first is not None and history.encode(first) == history.encode(step)
            found += not (same and history.encode(second) == history.encode(step))
    return found


def differs(changed: Sequence[Default]) -> bool:
    """Whether a process with changed defaults decides a step in another way, or fails."""
    pid = os.fork()
    if not pid:
        os._exit(_child(changed))
    return os.waitpid(pid, 0)[1] != 0


def main() -> int:
    """Change all defaults at once, and if that makes a difference, each alone."""
    every = list(defaults())
    failed = 0
    if differs(every):
        for default in every:
            if differs([default]):
                failed += 1
                name = f"{default.struct}.{default.field}"
                sys.stdout.write(f"{name} changes what a recorded step means\n")
        if not failed:
            failed = len(every)
            sys.stdout.write("some defaults together change what a recorded step means\n")
    sys.stdout.write(f"defaults={len(every)} differences={failed}\n")
    return 1 if failed else 0


def _child(changed: Sequence[Default]) -> int:
    try:
        return 1 if differences(changed) else 0
    except BaseException:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    sys.exit(main())
