"""docs/conformance.md and states.json are current. Their tests and files exist."""

import re

import pytest

from tests.conformance import (
    conformance_document,
    generate,
    procedures_table,
    references,
    states_page,
)


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


def test_a_supported_procedure_names_its_functions_and_tests() -> None:
    for line in procedures_table.LINES:
        if line.status in (procedures_table.YES, procedures_table.PARTLY):
            assert line.functions, line
            assert line.tests, line


def test_the_page_of_states_has_the_chosen_messages(capsys: pytest.CaptureFixture[str]) -> None:
    assert states_page.main(["service request: data", "paged-in-vain"]) == 0
    page = capsys.readouterr().out
    assert page.count("\n### ") == 1
    assert "### SERVICE REQUEST: data" in page
    assert "\n| `paged-in-vain` | " in page
    assert states_page.main(["no such message"]) == 1
