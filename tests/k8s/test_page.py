"""docs/kubernetes.md refers to existing names."""

import json
import re
from pathlib import Path

import pytest
import yaml

from evcore.commands.app import COMMANDS
from k8s import tools
from loadgen import Population

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
COMMANDS_OF_PAGE = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def test_the_subscriber_is_the_first_ue_of_a_load() -> None:
    found = re.search(r"<<'JSON'\n(.*?)^JSON", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    (shown,) = json.loads(found[1])
    (made,) = Population().to_json()
    assert [shown[key] for key in ("supi", "k", "opc")] == [
        made[key] for key in ("supi", "k", "opc")
    ]


def test_its_commands_are_evcores() -> None:
    used = set(re.findall(r"(?:^ +|bin/)evcore ([a-z]+)", COMMANDS_OF_PAGE, re.MULTILINE))
    assert used == {"subscriber", "load", "log", "nats", "replay", "swap"}
    assert used <= {command.name for command in COMMANDS}


def test_its_files_are_there() -> None:
    named = set(re.findall(r"(?<![\w/])((?:k8s|tests|functions)/[\w./-]*\w)", PAGE))
    assert len(named) > 10
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_each_overlay_is_in_it() -> None:
    overlays = {path.name for path in (ROOT / "k8s" / "overlays").iterdir()}
    assert overlays == set(re.findall(r"`overlays/([a-z-]+)`", PAGE))


@pytest.mark.usefixtures("prepared")
def test_its_manifests_are_valid() -> None:
    texts = re.findall(r"<<'YAML'\n(.*?)^YAML", PAGE, re.MULTILINE | re.DOTALL)
    manifests = [one for text in texts for one in yaml.safe_load_all(text)]
    assert [one["kind"] for one in manifests] == ["Certificate", "Trigger"]
    # The schemas of cert-manager are not among those of `make k8s-check`.
    assert not tools.invalid(manifests[1:])
