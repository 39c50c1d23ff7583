"""Fail if a module imports upwards (see docs/architecture.md)."""

import ast
import sys
from pathlib import Path
from typing import Final

LAYERS: Final = {
    "k8s": {"evcore", "eventing", "schemas"},
    "evcore": {
        "loadgen",
        "gateway",
        "functions",
        "eventing",
        "statestore",
        "schemas",
        "transport",
        "wire",
    },
    "loadgen": {"transport", "wire"},
    "gateway": {"eventing", "schemas", "transport", "wire"},
    "functions": {"eventing", "statestore", "schemas", "wire"},
    "eventing": {"schemas", "wire"},
    "statestore": {"schemas", "wire"},
    "schemas": {"wire"},
    "transport": {"wire"},
}
"""The packages that each folder may import."""

PURE: Final = {"functions": {"schemas", "wire"}}
"""The packages that a folder's own modules may import, without its sub-packages."""

FORBIDDEN_IN_PURE: Final = {"asyncio", "time", "random", "secrets", "os", "socket", "datetime"}
"""A procedure uses no clock, no randomness and no I/O."""


def imports(path: Path) -> set[str]:
    """Return the top-level packages that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.partition(".")[0])
    return found


def faults(root: Path) -> list[str]:
    """Return a sentence for each forbidden import."""
    out: list[str] = []
    for layer, allowed in LAYERS.items():
        for path in sorted((root / layer).rglob("*.py")):
            used = imports(path)
            pure = layer in PURE and path.parent == root / layer
            limit = PURE[layer] if pure else allowed
            upwards = used & (LAYERS.keys() | {"wire"}) - limit - {layer}
            impure = used & FORBIDDEN_IN_PURE if pure else set[str]()
            where = path.relative_to(root)
            out.extend(f"{where} imports {name}, which is not below it" for name in sorted(upwards))
            out.extend(f"{where} imports {name}: procedures are pure" for name in sorted(impure))
    return out


def main() -> int:
    """Run the check and return the exit status."""
    found = faults(Path(__file__).resolve().parent.parent)
    for line in found:
        sys.stderr.write(line + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
