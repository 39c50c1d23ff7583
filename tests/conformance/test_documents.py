"""docs/states.md and docs/conformance.md are what the code does, and name tests that there are."""

import re

import pytest

from tests.conformance import conformance_document, generate, procedures_table, references


@pytest.mark.slow
def test_the_documents_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


def test_every_test_and_every_file_that_is_named_exists() -> None:
    for line in procedures_table.LINES:
        for name in line.functions:
            assert (references.ROOT / f"functions/{name}.py").exists(), name
        for test in line.tests:
            assert test in references.test_names(), test
    for name in set(re.findall(r"`([a-z_/]+\.py)`", conformance_document.text())):
        found = [references.ROOT / "functions" / name, references.ROOT / name]
        assert any(path.exists() for path in found), name


def test_a_procedure_that_is_supported_says_by_what_and_how_it_is_tested() -> None:
    for line in procedures_table.LINES:
        if line.status in (procedures_table.YES, procedures_table.PARTLY):
            assert line.functions, line
            assert line.tests, line
