"""The documents are right: commands run, files exist, the configuration is the default."""

import asyncio
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from evcore.local.process import Process
from schemas.config.reading import Config
from statestore.importers import read_subscribers
from tests.servers import free_udp_port

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
OPERATING = (ROOT / "docs" / "operating.md").read_text()

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
UP = ".venv/bin/evcore up\n"


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(text) if kind == language]


async def shell(script: str, folder: Path) -> str:
    child = await asyncio.create_subprocess_exec(
        *("bash", "-e", "-c", script),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await child.communicate()
    text = said.decode()
    assert child.returncode == 0, f"{script}\n{text}"
    return text


@pytest.mark.slow
async def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    """They run as pasted, in the clone. Only the load is shorter, and the ports are free ones."""
    for name in (".venv", "functions"):
        (tmp_path / name).symlink_to(ROOT / name)
    scripts = [block for block in blocks(README, "sh") if not block.startswith("make ")]
    assert scripts[0] == UP
    ports = ["--udp-port", str(free_udp_port()), "--nats-port", "0"]
    command = [str(ROOT / ".venv/bin/evcore"), "up", *ports, "--data", str(tmp_path / ".evcore")]
    core = await Process.start("evcore up", command, tmp_path / "up.log", "evcore is up")
    try:
        said = [await shell(s.replace("20", "3", 1), tmp_path) for s in scripts[1:]]
    finally:
        await core.stop()
    assert "failures=0" in said[0]
    assert (tmp_path / "out.json").exists()


def test_every_make_target_of_the_docs_is_there() -> None:
    documents = [README, *(path.read_text() for path in ROOT.glob("*.md"))]
    wanted = {t for d in documents for t in re.findall(r"^make ([a-z0-9 -]+)", d, re.MULTILINE)}
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {name for line in wanted for name in line.split()} <= targets


def test_every_file_that_is_named_exists() -> None:
    named = re.compile(r"`((?!my-)(?:[\w-]+/)+[\w.-]+\.(?:json|md|py|sh|toml|yaml))`")
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if document.name.startswith("adding-a-") or document.name == "conformance.md":
            continue
        for name in named.findall(document.read_text()):
            found = [ROOT / name, ROOT / "functions" / name, document.parent / name]
            assert any(path.exists() for path in found), f"{document.name}: {name}"


def test_every_link_leads_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("language", ["json", "csv"])
def test_the_subscribers_in_the_docs_are_subscribers(language: str) -> None:
    (text,) = blocks(OPERATING, language)
    found = read_subscribers(text.encode(), None)
    assert found.format == language
    assert len(found.subscribers) == 1
    assert found.notes == ()


def test_the_configuration_in_the_docs_is_the_default() -> None:
    """The longest block has every setting. The others have examples of settings."""
    parts = sorted(blocks(OPERATING, "toml"), key=len)
    assert msgspec.convert(tomllib.loads(parts.pop()), Config) == Config()
    for part in parts:
        assert msgspec.convert(tomllib.loads(part), Config) != Config()


def test_the_changelog_has_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog or f"## [{project['version']}]" in changelog
