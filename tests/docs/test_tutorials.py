"""The tutorials of docs/ can be followed to the letter, and what they build works."""

from pathlib import Path

import pytest

from tests.docs.tutorial import ROOT, Block, TutorialError, apply, blocks, follow

TUTORIALS = ("adding-a-message", "adding-a-procedure")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TUTORIALS)
def test_following_it(name: str, tmp_path: Path) -> None:
    said = follow((ROOT / f"docs/{name}.md").read_text(), tmp_path)
    assert said


def test_the_blocks_of_a_page() -> None:
    page = "text\n\n```python file=a/b.py\nx = 1\n```\n\n```sh\nls\n```\n\n```\nfree\n```\n"
    assert blocks(page) == [Block("python", "a/b.py", "x = 1\n"), Block("sh", "", "ls\n")]


def test_a_patch(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\n\nthree\ntwelve\n")
    apply(Block("diff", "a.py", " one\n+more\n two\n\n@@\n-three\n+four\n"), tmp_path)
    assert path.read_text() == "one\nmore\ntwo\n\nfour\ntwelve\n"


@pytest.mark.parametrize("lines", [" three\n", " o\n", " two\n"])
def test_a_patch_that_does_not_apply(lines: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("two\none\ntwo\n")
    with pytest.raises(TutorialError, match=r"not in a\.py once"):
        apply(Block("diff", "a.py", lines), tmp_path)


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    with pytest.raises(TutorialError, match="exists"):
        apply(Block("python", "a.py", ""), tmp_path)
