"""Fail if comments and docstrings are written in words that are hard to read (CONTRIBUTING.md).

It counts some words that stand for such sentences, per 10,000 words of comments and docstrings.
"""

import ast
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BOUNDS: Final = {"nobody": 0.0, "anew": 0.0, "whose": 2.0, "what": 15.0}
"""The most of each word, per 10,000 words."""
_GIT: Final = shutil.which("git") or "git"
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a file of Python or Rust."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        yield from re.findall(r"//[/!]?(.*)", source)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED):
            yield from (text for statement in node.body if (text := _text(statement)))


def _text(statement: ast.stmt) -> str:
    """Return a string that stands alone: a docstring, also of a constant or a field."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else ""
    return ""


def count(paths: list[Path]) -> tuple[int, Counter[str]]:
    """Return the number of all words, and of those in `BOUNDS`."""
    total, found = 0, Counter[str]()
    for path in paths:
        for text in texts(path):
            words = re.findall(r"[a-z']+", text.lower())
            total += len(words)
            found.update(word for word in words if word in BOUNDS)
    return total, found


def main() -> int:
    """Return the exit status."""
    listed = subprocess.run(  # noqa: S603
        (_GIT, "ls-files", "-co", "--exclude-standard", "*.py", "*.pyi", "*.rs"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    paths = [ROOT / name for name in listed if name and (ROOT / name).exists()]
    code = [path for path in paths if path.relative_to(ROOT).parts[0] != "tests"]
    status = 0
    for name, some in (
        ("code", code),
        ("tests", [path for path in paths if path not in set(code)]),
    ):
        total, found = count(some)
        rates = {word: 10_000 * found[word] / total for word in BOUNDS}
        for word, bound in BOUNDS.items():
            if rates[word] > bound:
                status = 1
                sys.stderr.write(
                    f"check_words: {name}: {word!r} {found[word]} times in {total} words: "
                    f"{rates[word]:.1f} in 10,000, and {bound:g} are allowed\n"
                )
    return status


if __name__ == "__main__":
    sys.exit(main())
