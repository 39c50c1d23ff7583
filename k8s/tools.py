"""The tools that `scripts/k8s-setup.sh` has installed in the cache folder."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from k8s.pods import Manifest

KUBERNETES: Final = "1.33.0"

_PREAMBLE: Final = re.compile(r"^.*failed with '[^']*'[\s-]*")
"""The prefix that kubeconform puts before the place and the reason of a fault."""


class ToolError(Exception):
    """A tool is missing, or rejects its input. The message names the reason."""


def cache() -> Path:
    """Return the folder of the tools."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "evcore" / "k8s"


def tool(name: str) -> str:
    """Return the path of a tool.

    Raises:
        ToolError: the tool is not installed.
    """
    path = cache() / "bin" / name
    if not path.exists():
        raise ToolError(f"{path} is missing: run scripts/k8s-setup.sh")
    return str(path)


def build(folder: Path) -> list[Manifest]:
    """Return the manifests of a kustomization.

    Raises:
        ToolError: kustomize cannot build them.
    """
    made = subprocess.run(
        [tool("kustomize"), "build", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise ToolError(made.stderr.strip())
    documents = yaml.load_all(made.stdout, Loader=yaml.CSafeLoader)
    return [document for document in documents if document]


def invalid(manifests: list[Manifest]) -> list[str]:
    """Check manifests with the schemas of Kubernetes and of the CRDs. Return a sentence for each
    fault.

    Raises:
        ToolError: a kind has no schema, or kubeconform does not run.
    """
    schemas = cache() / "schemas"
    core = "core/{{.ResourceKind}}{{.KindSuffix}}.json"
    custom = "{{.Group}}-{{.ResourceKind}}-{{.ResourceAPIVersion}}.json"
    checked = subprocess.run(
        [
            tool("kubeconform"),
            *("-strict", "-output", "json", "-kubernetes-version", KUBERNETES),
            *("-schema-location", f"{schemas}/{core}", "-schema-location", f"{schemas}/{custom}"),
        ],
        input="\n---\n".join(map(json.dumps, manifests)),
        capture_output=True,
        text=True,
        check=False,
    )
    if not checked.stdout:
        raise ToolError(f"kubeconform: {checked.stderr.strip()}")
    found: list[str] = []
    resources: list[dict[str, Any]] = json.loads(checked.stdout)["resources"]
    for one in resources:
        name = f"{one['kind']} {one['name']}"
        if one["status"] == "statusError":
            raise ToolError(f"{name}: {one['msg']}")
        if one["msg"]:
            found.append(f"{name}: {_PREAMBLE.sub('', one['msg'])}")
    return found


def lint_containerfile(path: Path) -> list[str]:
    """Check a Containerfile with hadolint. Return a sentence for each fault."""
    made = subprocess.run(
        [
            tool("hadolint"),
            "--no-color",
            *("--config", str(path.parent / "k8s" / "hadolint.yaml")),
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in (made.stdout + made.stderr).splitlines() if line]
