"""docs/security.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ATTACKS = PAGE.partition("\n## Attacks\n")[2]


def test_each_attack_has_tests_that_exist() -> None:
    rows = [line.strip("|").split("|") for line in ATTACKS.splitlines() if line.startswith("| ")]
    attacks = [row for row in rows[1:] if not row[0].strip().startswith("**")]
    assert len(attacks) > 50
    for row in attacks:
        assert len(row) == 4, row
        tests = re.findall(r"`(tests/[a-z0-9_/]+\.py)`", row[3])
        assert tests, row
        assert [name for name in tests if not (ROOT / name).is_file()] == []


def test_each_file_of_attacks_is_in_the_table() -> None:
    files = {f"tests/hostile/{one.name}" for one in (ROOT / "tests/hostile").glob("test_*.py")}
    assert {name for name in files if f"`{name}`" not in ATTACKS} == set()
