"""wire.pyi matches the extension: its names, parameters and defaults, each documented."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import wire

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STUB = ROOT / "wire" / "wire.pyi"
MODULE = ast.parse(STUB.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_stubtest() -> None:
    """Mypy's comparison of the stub with what it imports."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            "--concise",
            "--allowlist",
            HERE / "stubtest-allowlist.txt",
            "wire",
        ],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(STUB.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def documented() -> dict[str, bool]:
    """Return each name that the stub defines, and whether it has a docstring."""
    found: dict[str, bool] = {}
    for node, after in zip(MODULE.body, [*MODULE.body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = bool(ast.get_docstring(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            found[node.target.id] = said
    return found


def test_every_public_name_is_in_the_stub() -> None:
    public = {name for name in dir(wire) if not name.startswith("_")} - {"wire"}
    assert public == {name for name in documented() if not name.startswith("_")}


def test_every_name_is_explained() -> None:
    assert [name for name, said in documented().items() if not said] == []


def test_every_attribute_is_in_the_stub() -> None:
    """For each class: stubtest does not notice attributes that the stub omits from a private
    class."""
    for node in MODULE.body:
        if not isinstance(node, ast.ClassDef) or node.name == "WireError":
            continue
        stubbed = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                stubbed.add(item.target.id)
        kind = getattr(wire, node.name)
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public == {name for name in stubbed if not name.startswith("_")}, node.name


def test_the_parameters_of_an_endpoint() -> None:
    (endpoint,) = (
        node
        for node in MODULE.body
        if isinstance(node, ast.ClassDef) and node.name == "SctpEndpoint"
    )
    (new,) = (
        item
        for item in endpoint.body
        if isinstance(item, ast.FunctionDef) and item.name == "__new__"
    )
    found = inspect.signature(wire.SctpEndpoint).parameters
    assert [name for name, p in found.items() if p.kind is p.KEYWORD_ONLY] == [
        argument.arg for argument in new.args.kwonlyargs
    ]
    assert [name for name, p in found.items() if p.kind is not p.KEYWORD_ONLY] == ["port"]
    for argument, default in zip(new.args.kwonlyargs, new.args.kw_defaults, strict=True):
        assert default is not None
        runtime = found[argument.arg].default
        assert runtime in (ast.literal_eval(default), ...), argument.arg
