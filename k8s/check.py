"""`python -m k8s.check`: check every manifest with schemas and with additional rules.

1. The generated manifests match the configuration in k8s/base/evcore.toml.
2. Each overlay builds, and is valid by the schemas of Kubernetes, Knative, KEDA and the
   fdb-kubernetes-operator (k8s/tools.py). The pods of ContainerSources are checked too.
3. The rules that schemas cannot express (k8s/rules.py), and references to resources that do
   not exist (k8s/references.py).
4. The Containerfile, with hadolint.

The check needs no network. scripts/k8s-setup.sh fetches its tools and schemas.
"""

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from evcore.commands.up import groups_of
from eventing import subjects
from k8s import generate, references, rules, tools
from k8s.pods import Manifest
from k8s.tools import ToolError
from schemas.config.reading import Config
from schemas.procedures import Procedure

ROOT: Final = Path(__file__).resolve().parent.parent


def overlay(folder: Path) -> list[str]:
    """Return a sentence for each fault of an overlay.

    Raises:
        ToolError: a tool is missing, or a kind has no schema.
    """
    manifests = tools.build(folder)
    found = tools.invalid([*manifests, *references.pods(manifests)])
    if found:
        return found  # the rules rely on the shape that the schemas have checked
    partitions = config_of(manifests).nats.partitions
    names = {subjects.consumer(n, procedure) for n in range(partitions) for procedure in Procedure}
    for manifest in manifests:
        found += rules.faults(manifest, names, partitions)
    return [*found, *references.dangling(manifests)]


def config_of(manifests: list[Manifest]) -> Config:
    """Return the evcore.toml that the pods mount."""
    text = next(
        one["data"]["evcore.toml"]
        for one in manifests
        if one["kind"] == "ConfigMap" and "evcore.toml" in one.get("data", {})
    )
    return msgspec.convert(tomllib.loads(text), Config)


def faults(root: Path) -> list[str]:
    """Return a sentence for each fault in the files under `root`, a clone of evcore."""
    k8s = root / "k8s"
    config = generate.configuration.load(k8s / "base" / "evcore.toml")
    sizing = generate.sizing_of(config)
    made = generate.files(groups_of("each", sizing.replicas), sizing)
    found = [f"k8s/{line}: run make k8s" for line in generate.differences(k8s, made)]
    for folder in sorted((k8s / "overlays").iterdir()):
        try:
            found += [f"{folder.name}: {fault}" for fault in overlay(folder)]
        except ToolError as err:
            found.append(f"{folder.name}: {err}")
    found += tools.lint_containerfile(root / "Containerfile")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the check and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m k8s.check", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    try:
        found = faults(options.root)
    except ToolError as err:
        found = [str(err)]
    for line in found:
        sys.stderr.write(f"{line}\n")
    if not found:
        overlays = ", ".join(sorted(path.name for path in (ROOT / "k8s/overlays").iterdir()))
        sys.stdout.write(f"k8s: valid: {overlays}, Containerfile\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
