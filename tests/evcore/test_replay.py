"""`evcore replay`: a version that decides the same shows nothing, another one a diff."""

import sys
from pathlib import Path

import pytest

import functions.gmm.deregistration.procedure
import functions.gmm.registration.procedure
from evcore.commands.errors import UsageError
from evcore.logs.candidate import load_module, procedure_of
from schemas.procedures import Procedure
from tests.evcore.recording import SUPI, UE, Recorded
from tests.evcore.shell import Shell

SAME = Path(functions.gmm.registration.procedure.__file__)
NOTING = """
from functions import registration
VERSION = "2"
def decide(draft, received):
    registration.decide(draft, received)
    draft.note("decided by another version")
"""


@pytest.fixture
def noting(home: Path) -> Path:
    """A registration that leaves a note in each of its steps."""
    path = home / "registration_2.py"
    path.write_text(NOTING)
    return path


@pytest.mark.parametrize("module", ["functions.gmm.registration.procedure", SAME])
def test_the_same_version_shows_nothing(
    evcore: Shell, recorded: Recorded, module: str | Path
) -> None:
    said = evcore.ok("replay", "--all", "--with", module)
    steps = sum(recorded.heads.values())
    assert said.out == f"replay: aggregates={len(recorded.heads)} steps={steps} differences=0\n"


def test_another_version_shows_a_diff(evcore: Shell, recorded: Recorded, noting: Path) -> None:
    before = recorded.data.database.read_bytes()
    said = evcore("replay", SUPI, "--with", noting)
    assert said.status == 1
    *shown, last = said.lines
    titles = [line for line in shown if line.startswith(UE)]
    assert last == (f"replay: aggregates=1 steps={recorded.heads[UE]} differences={len(titles)}")
    assert 0 < len(titles) < recorded.heads[UE]
    assert f"{UE} step 1" in titles
    added = [line for line in shown if line.startswith("+ ")]
    assert sum("decided by another version" in line for line in added) == len(titles)
    assert recorded.data.database.read_bytes() == before, "nothing is stored"


def test_a_version_that_raises(evcore: Shell, recorded: Recorded, home: Path) -> None:
    path = home / "registration_broken.py"
    path.write_text("VERSION = '3'\ndef decide(draft, received):\n    raise KeyError('k')\n")
    said = evcore("replay", SUPI, "--with", path)
    assert said.status == 1
    assert said.lines[1] == "KeyError: 'k'"
    del recorded


def test_a_version_with_another_key_shows_that_but_not_the_key(
    evcore: Shell, recorded: Recorded, home: Path
) -> None:
    """A diff of what is hidden has no lines."""
    path = home / "registration_keys.py"
    path.write_text(
        "from msgspec.structs import replace\n"
        "from functions import registration\n"
        "from schemas.ue_events import AuthenticationStarted\n"
        "VERSION = '2'\n"
        "def decide(draft, received):\n"
        "    registration.decide(draft, received)\n"
        "    for index, one in enumerate(draft.events):\n"
        "        if isinstance(one, AuthenticationStarted):\n"
        "            challenge = replace(one.challenge, kamf=bytes(range(32)))\n"
        "            draft.events[index] = replace(one, challenge=challenge)\n"
    )
    evcore.keys.add(bytes(range(32)))
    said = evcore("replay", SUPI, "--with", path)
    assert said.lines[:2] == [f"{UE} step 1", "only keys differ, which are not shown"]
    del recorded


def test_the_procedure_that_is_named(evcore: Shell, recorded: Recorded, noting: Path) -> None:
    """The one deregistration of the log is decided by what knows registrations alone."""
    said = evcore("replay", SUPI, "--with", noting, "--procedure", "deregistration")
    assert said.lines[-1].endswith(" differences=1")
    del recorded


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no file"),
        ("def (", "cannot be imported: SyntaxError"),
        ("import no_such_thing", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit"),
        ("VERSION = '1'", "is no procedure: it has no decide, or no VERSION"),
        ("def decide(): ...", "is no procedure: it has no decide, or no VERSION"),
        ("decide = 5\nVERSION = '1'", "is no procedure: it has no decide, or no VERSION"),
    ],
)
def test_a_file_that_is_no_procedure(
    evcore: Shell, home: Path, text: str | None, sentence: str
) -> None:
    path = home / "registration.py"
    if text is not None:
        path.write_text(text)
    assert sentence in evcore.refused("replay", "--all", "--with", path, status=2)


@pytest.mark.parametrize("name", ["no.such.module", ".", "functions", "x/", "x.txt/y"])
def test_a_name_that_is_no_procedure(evcore: Shell, name: str) -> None:
    assert evcore.refused("replay", "--all", "--with", name, status=2)


def test_a_module_of_the_current_directory(
    evcore: Shell, recorded: Recorded, noting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    assert evcore("replay", SUPI, "--with", noting.stem).status == 1
    del recorded


def test_a_file_may_import_what_is_beside_it(
    evcore: Shell, recorded: Recorded, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    (home / "beside").mkdir()
    (home / "beside" / "said_beside.py").write_text("TEXT = 'from beside'\n")
    path = home / "beside" / "registration.py"
    path.write_text(
        NOTING.replace('"decided by another version"', "said_beside.TEXT") + "import said_beside\n"
    )
    assert "from beside" in evcore("replay", SUPI, "--with", path).out
    del recorded


def test_what_a_module_takes_the_place_of(home: Path) -> None:
    def named(stem: str) -> Procedure:
        path = home / f"{stem}.py"
        path.write_text("VERSION = '1'\ndef decide(*_): ...\n")
        return procedure_of(load_module(str(path)), None)

    assert named("ran") == named("ran_2") == named("ran-b") == Procedure.RAN
    assert named("context_release_3") == Procedure.AN_RELEASE
    assert named("deregistration2") == Procedure.DEREGISTRATION
    with pytest.raises(UsageError, match="random is named as no procedure"):
        named("random")
    with pytest.raises(UsageError, match="leaves no steps"):
        named("identification")
    assert procedure_of(functions.gmm.deregistration.procedure, Procedure.RAN) == Procedure.RAN


def test_replay_wants_a_log_and_a_module(evcore: Shell) -> None:
    both = ("replay", SUPI, "--all", "--with", "functions.ran.procedure")
    assert evcore.refused(*both, status=2) == "name a SUPI, or say --all"
    assert evcore.refused("replay", status=2) == "name a SUPI, or say --all"
    assert evcore.refused("replay", "--all", status=2).startswith("say with what")
