"""The allowlist of imports: each way out is found, at any distance from a decision."""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.api import read_configuration

from scripts.import_contracts import AllowlistContract

PROCEDURE = "functions.gmm.paging"
SCHEMA = "schemas.identity"
"""A module that decisions reach, by others."""

WAYS_OUT = (
    *("aiohttp", "asyncio", "builtins", "ctypes", "datetime", "importlib", "io", "locale", "os"),
    *("pathlib", "platform", "random", "secrets", "socket", "subprocess", "sys", "threading"),
    *("time", "uuid", "zoneinfo"),
)
"""Modules outside this project, which a decision must not import."""


@cache
def graph() -> grimp.ImportGraph:
    packages = ("eventing", "functions", "schemas", "statestore")
    return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)


def contract() -> AllowlistContract:
    (options,) = (
        found
        for found in read_configuration("pyproject.toml")["contracts_options"]
        if found["type"] == "allowlist"
    )
    return AllowlistContract(options["name"], {}, options)


def faults(importer: str = "", imported: str = "") -> list[str]:
    """Return the faults of the tree, with one more import if there is an importer."""
    tree = deepcopy(graph())
    if importer:
        line = f"import {imported}"
        tree.add_import(importer=importer, imported=imported, line_number=7, line_contents=line)
    return contract().check(tree, verbose=False).metadata["faults"]


def test_the_tree_keeps_the_contract() -> None:
    assert faults() == []


@pytest.mark.parametrize("imported", WAYS_OUT)
def test_an_import_by_a_procedure_is_found(imported: str) -> None:
    assert faults(PROCEDURE, imported) == [f"{PROCEDURE} -> {imported} (line 7)"]


@pytest.mark.parametrize("imported", ["os", "zoneinfo", "subprocess"])
def test_an_import_by_a_schema_of_a_procedure_is_found(imported: str) -> None:
    assert faults(SCHEMA, imported) == [f"{SCHEMA} -> {imported} (line 7)"]


def test_a_schema_that_reads_files_is_out_of_reach() -> None:
    found = faults(PROCEDURE, "schemas.config.reading")
    assert re.search(r"schemas\.config\.reading -> pathlib \(line \d+\)", str(found))


@pytest.mark.parametrize("imported", ["functions.runtime.round", "statestore.log"])
def test_code_that_hosts_decisions_is_out_of_reach(imported: str) -> None:
    assert f"{PROCEDURE} -> {imported} (line 7)" in faults(PROCEDURE, imported)


def test_an_exception_that_no_module_needs_is_found() -> None:
    tree = deepcopy(graph())
    tree.remove_import(importer="functions.ue.dispatch", imported="importlib")
    (fault,) = contract().check(tree, verbose=False).metadata["faults"]
    assert fault == "no module has the exception functions.ue.dispatch -> importlib"


def test_every_package_that_decides_is_a_source() -> None:
    """A new package of functions/ is a source of the contract, or hosts decisions."""
    packages = {f"functions.{path.stem}" for path in Path("functions").iterdir() if is_module(path)}
    assert packages - contract().source_modules == {"functions.runtime", "functions.announcer"}


def is_module(path: Path) -> bool:
    return (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
