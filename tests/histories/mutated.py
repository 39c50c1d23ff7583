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
from typing import Final, NamedTuple, TypeGuard

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ("schemas.network", "schemas.subscriber", "schemas.nitz")
"""The modules of the documents that decisions read."""
AT_ONCE: Final = 2


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
                for node in struct.body:
                    if isinstance(node, ast.AnnAssign) and node.value is not None:
                        assert isinstance(node.target, ast.Name)
                        yield Default(module, struct.name, node.target.id)


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module with a changed default: a text that no field can have."""

    def __init__(self, default: Default) -> None:
        self._default = default

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._default.module:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.parse(source(self._default.module))
        for struct in tree.body:
            if isinstance(struct, ast.ClassDef) and struct.name == self._default.struct:
                for node in struct.body:
                    if _is_field(node, self._default.field):
                        node.value = ast.Constant("another default")
        code = compile(ast.fix_missing_locations(tree), self._default.module, "exec")
        exec(code, vars(module))  # noqa: S102 - a module with one change


def _is_field(node: ast.stmt, name: str) -> TypeGuard[ast.AnnAssign]:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return False
    return node.target.id == name


def differences(default: Default) -> int:
    """Return the number of steps with another decision under a changed default."""
    sys.meta_path.insert(0, _Mutated(default))
    from tests.histories import again, history

    found = 0
    for path in history.files():
        recorded = history.read(path)
        for step, first, second in again.cold(recorded):
            same = first is not None and history.encode(first) == history.encode(step)
            found += not (same and history.encode(second) == history.encode(step))
    return found


def main() -> int:
    """Run each mutation in its own process, several at a time."""
    every = list(defaults())
    running: dict[int, Default] = {}
    left = iter(every)
    failed = 0
    while True:
        while len(running) < AT_ONCE and (default := next(left, None)) is not None:
            pid = os.fork()
            if not pid:
                os._exit(_child(default))
            running[pid] = default
        if not running:
            break
        pid, status = os.wait()
        ended = running.pop(pid)
        if status:
            failed += 1
            sys.stdout.write(f"{ended.struct}.{ended.field} changes what a recorded step means\n")
    sys.stdout.write(f"defaults={len(every)} differences={failed}\n")
    return 1 if failed else 0


def _child(default: Default) -> int:
    try:
        return 1 if differences(default) else 0
    except BaseException:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    sys.exit(main())
