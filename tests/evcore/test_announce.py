"""The options of `evcore announce`. tests/announcer tests its work."""

from pathlib import Path

import pytest

from evcore.commands.announce import types_named
from schemas.domain import DomainType
from tests.evcore.shell import Shell

SINK = ("--sink", "http://127.0.0.1:1/")


def test_types_are_named_in_whole_in_short_or_as_a_group() -> None:
    assert types_named("all") == frozenset(DomainType)
    assert types_named("ue.idle, org.evcore.ue.moved") == {DomainType.UE_IDLE, DomainType.UE_MOVED}
    session = {kind for kind in DomainType if kind.startswith("org.evcore.session.")}
    assert types_named("session") == session
    assert types_named("session,session.usage") == session
    assert len(session) > 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sink", "broker"), "--sink: 'broker' is not an http URL"),
        (("--sink", "ftp://broker/"), "--sink: 'ftp://broker/' is not an http URL"),
        ((*SINK, "--name", "a.b"), "--name: 'a.b' must be 1 to 63 lower-case letters"),
        (
            (*SINK, "--types", "ue.flown"),
            "--types: there is no 'ue.flown'; choose from ue.registered, ",
        ),
        ((*SINK, "--types", ""), "--types: there is no ''; choose from "),
        ((*SINK, "--ce-overrides", "[]"), 'K_CE_OVERRIDES is not {"extensions": {...}}'),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    evcore: Shell, arguments: tuple[str, ...], sentence: str
) -> None:
    assert evcore.refused("announce", *arguments, status=2).startswith(sentence)


def test_without_a_sink_there_is_nothing_to_do(
    evcore: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("K_SINK", raising=False)
    assert "--sink" in evcore.refused("announce", status=2)


def test_a_store_must_be_there(evcore: Shell, tmp_path: Path) -> None:
    config, secrets = tmp_path / "evcore.toml", tmp_path / "secrets.toml"
    config.write_text(f'[store]\nurl = "sqlite://{tmp_path}/none.db"\n')
    secrets.write_text(f'master_key = "{"0" * 64}"\n')
    said = evcore.refused("announce", *SINK, "--config", config, "--secrets", secrets)
    assert said == f"there is no store at {tmp_path}/none.db"
