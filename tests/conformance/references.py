"""The source files and the tests that name a message."""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("functions", "gateway/n2", "gateway/n4")
HOSTS: Final = ("functions/runtime/", "functions/announcer/")
"""Folders that host decisions and make none."""
TESTS: Final = ("tests/functions", "tests/gateway", "tests/runtime", "tests/e2e")


def _strings(tree: ast.AST) -> Iterator[str]:
    """Return the string constants of a tree, without its docstrings."""
    prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


@functools.cache
def sources() -> dict[str, list[str]]:
    """Return the source files that contain a string, relative to the root of the repository."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name.startswith(HOSTS):
                continue
            for text in set(_strings(ast.parse(path.read_text(encoding="utf-8")))):
                found[text].append(name)
    return found


@functools.cache
def tests() -> dict[str, list[str]]:
    """Return the pytest names of the tests that contain a string."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, function in _test_functions():
        for text in set(_strings(function)):
            found[text].append(name)
    return found


@functools.cache
def test_names() -> frozenset[str]:
    """Return the pytest names of all tests in the folders, without parameters."""
    return frozenset(name for name, _ in _test_functions())


def _test_functions() -> Iterator[tuple[str, ast.AST]]:
    for folder in (*TESTS, "tests/conformance", "tests/loadgen", "tests/evcore"):
        for path in sorted((ROOT / folder).glob("test_*.py")):
            module = ast.parse(path.read_text(encoding="utf-8"))
            for node in module.body:
                if isinstance(
                    node, ast.FunctionDef | ast.AsyncFunctionDef
                ) and node.name.startswith("test_"):
                    yield f"{path.relative_to(ROOT)}::{node.name}", node
