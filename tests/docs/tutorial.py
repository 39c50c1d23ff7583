"""Follow a tutorial of docs/ in a copy of the tree: apply its files and patches, run its commands.

The fence of a block says its purpose:

- `python file=PATH`: a new file.
- `diff file=PATH`: a patch of lines with ``+``, ``-`` or a space before them. A line ``@@``
  separates two hunks. There are no line numbers: the old lines of a hunk must be in the file once.
- `sh`: commands to run. Blocks of other languages are for the reader.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]

_BLOCK: Final = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class TutorialError(Exception):
    """A block cannot be applied, or its commands fail."""


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    file: str
    text: str


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [Block(*found) for found in _BLOCK.findall(page)]


def copy_tree(to: Path) -> None:
    """Copy the files of the repository, as they are now, with the same environment."""
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, to / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    (to / ".venv").symlink_to(ROOT / ".venv")


def apply(block: Block, tree: Path) -> None:
    """Write the file of a block, or patch it.

    Raises:
        TutorialError: a new file exists, or the old lines of a hunk are not in the file once.
    """
    path = tree / block.file
    if block.kind != "diff":
        if path.exists():
            raise TutorialError(f"{block.file} exists")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        return
    text = path.read_text()
    for hunk in re.split(r"^@@\n", block.text, flags=re.MULTILINE):
        lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
        before = "".join(f"{rest}\n" for sign, rest in lines if sign in " -")
        after = "".join(f"{rest}\n" for sign, rest in lines if sign in " +")
        if f"\n{text}".count(f"\n{before}") != 1:
            raise TutorialError(f"these lines are not in {block.file} once:\n{before}")
        text = f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:]
    path.write_text(text)


def run(script: str, tree: Path) -> str:
    """Run commands in a tree, and return their output.

    Raises:
        TutorialError: one of them fails.
    """
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", script],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TutorialError(f"{script}\n{done.stdout[-8000:]}")
    return done.stdout


def follow(page: str, tree: Path) -> list[str]:
    """Follow a page in a copy of the tree. Return the output of each block of commands."""
    copy_tree(tree)
    said: list[str] = []
    for block in blocks(page):
        if block.file:
            apply(block, tree)
        elif block.kind == "sh":
            said.append(run(block.text, tree))
    return said
