"""`evcore load` with PDU sessions and scenarios, from the command line."""

from pathlib import Path

import pytest

from evcore.commands.load import programme_of
from loadgen import Procedure
from tests.evcore.shell import Shell

LOAD = ("load", "--host", "127.0.0.1")


@pytest.fixture
def evcore(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_the_names_of_the_procedures() -> None:
    text = "register, session,idle,service-request,service,page,release-session,deregister"
    assert programme_of(text) == (
        Procedure.REGISTER,
        Procedure.SESSION,
        Procedure.IDLE,
        Procedure.SERVICE_REQUEST,
        Procedure.SERVICE,
        Procedure.PAGE,
        Procedure.RELEASE_SESSION,
        Procedure.DEREGISTER,
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--procedures", "session"), "programme session: session needs a registered UE"),
        (("--procedures", "register,session,idle,page"), "page needs emulated UPFs"),
        (("--scenario", "paging"), "page needs emulated UPFs"),
        (
            ("--scenario", "nope"),
            "there is no scenario nope: use a path, or one of city.yaml, iot-burst",
        ),
        (
            ("--scenario", "mixed", "--procedures", "register", "--rate", "3"),
            "--scenario cannot be combined with --procedures, --rate",
        ),
        (("--dnn", "a b"), "dnn is 'a b', but must be labels"),
        (("--tacs", "1,x"), "--tacs is '1,x', not numbers such as 1,2"),
        (("--tacs", "16777216"), "tac is 16777216, but a TAC has 24 bits"),
        (("--faults", "2"), "invalid value for '--faults'"),
        (
            ("--procedures", "register,session,xn-handover"),
            "a handover needs two gNBs",
        ),
        (
            ("--gnbs", "2", "--procedures", "register,xn-handover"),
            "programme register,xn-handover: xn-handover is for a connected UE with a PDU session",
        ),
        (("--session-type", "ipx"), "invalid value for '--session-type': 'ipx'"),
    ],
)
def test_what_is_refused(evcore: Shell, arguments: tuple[str, ...], sentence: str) -> None:
    assert evcore.refused(*LOAD, *arguments, status=2).startswith(sentence)


def test_a_scenario_that_is_wrong(evcore: Shell, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("description: x\nphases: [{name: a, mix: [{procedures: [fly]}]}]\n")
    said = evcore.refused(*LOAD, "--scenario", path, status=2)
    assert str(path) in said
    assert "Invalid enum value 'fly' - at `$.phases[0].mix[0].procedures[0]`" in said
