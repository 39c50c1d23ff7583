"""`evcore replay`: a variant that decides the same shows nothing, another one a diff."""

from pathlib import Path

import pytest

from functions.runtime.code import this_code
from tests.evcore.recording import SUPI, UE, Recorded
from tests.evcore.shell import Shell
from tests.variants import edited, environment, folder, source, wheel, wrapped

REGISTRATION = "gmm/registration/procedure"
ACCEPT = "gmm/registration/accept"
NOTING = wrapped(
    REGISTRATION, "def before(d, received):\n    d.note('decided by another version')\n"
)


@pytest.fixture
def noting(home: Path) -> Path:
    """A registration that leaves a note in each of its steps."""
    return folder(home, {REGISTRATION: NOTING})


def counted(said: str) -> tuple[int, int, str]:
    """The steps and the differences of the last line, and the code that decides now."""
    *_, last = said.splitlines()
    words = dict(word.split("=") for word in last.split(",")[0].split() if "=" in word)
    return int(words["steps"]), int(words["differences"]), last.rpartition(", now ")[2]


@pytest.mark.parametrize("module", [ACCEPT, REGISTRATION, "ue/reconcile", "messages/nas/codec"])
def test_a_variant_that_decides_the_same_shows_nothing(
    evcore: Shell, recorded: Recorded, home: Path, module: str
) -> None:
    said = evcore.ok("replay", "--all", "--with", folder(home, {module: source(module)}))
    assert len(said.lines) == 1
    steps, differences, now = counted(said.out)
    assert (steps, differences) == (sum(recorded.heads.values()), 0)
    assert now.startswith(f"{this_code().release} my-variant (")


def test_this_release_decides_the_same(evcore: Shell, recorded: Recorded) -> None:
    said = evcore.ok("replay", "--all")
    assert counted(said.out) == (sum(recorded.heads.values()), 0, str(this_code()))


def test_another_variant_shows_a_diff(evcore: Shell, recorded: Recorded, noting: Path) -> None:
    before = recorded.data.database.read_bytes()
    said = evcore("replay", SUPI, "--with", noting)
    assert said.status == 1
    check_notes(said.lines, recorded)
    assert recorded.data.database.read_bytes() == before, "nothing is stored"


def check_notes(lines: list[str], recorded: Recorded) -> None:
    *shown, last = lines
    titles = [line for line in shown if line.startswith(UE)]
    assert counted(last)[:2] == (recorded.heads[UE], len(titles))
    assert 0 < len(titles) < recorded.heads[UE]
    assert any(title.startswith(f"{UE} step 1") for title in titles)
    added = [line for line in shown if line.startswith("+ ")]
    assert sum("decided by another version" in line for line in added) == len(titles)


def test_a_wheel_shows_the_same(evcore: Shell, recorded: Recorded, home: Path) -> None:
    said = evcore("replay", SUPI, "--with", wheel(home, {REGISTRATION: NOTING}))
    assert said.status == 1
    check_notes(said.lines, recorded)
    assert counted(said.out)[2].startswith(f"{this_code().release} my_variant-1.0 (")


def test_the_evcore_of_a_virtual_environment_shows_the_same(
    evcore: Shell, recorded: Recorded, home: Path
) -> None:
    path = environment(home, {REGISTRATION: NOTING})
    said = evcore("replay", SUPI, "--with", path)
    assert said.status == 1, said
    check_notes(said.lines, recorded)
    now = counted(said.out)[2]
    assert now.startswith(f"{this_code().release} (")
    assert now != str(this_code())
    said = evcore("replay", SUPI, "--with", path, "--procedure", "deregistration")
    assert (said.status, counted(said.out)[1]) == (0, 0)


def test_another_t3512_is_shown(evcore: Shell, recorded: Recorded, home: Path) -> None:
    """A variant of REGISTRATION ACCEPT: one module of one page."""
    text = edited(ACCEPT, ('"t3512-value": network.timers.t3512,', '"t3512-value": 1800,'))
    said = evcore("replay", SUPI, "--with", folder(home, {ACCEPT: text}))
    assert said.status == 1
    assert "1800" in said.out
    del recorded


def test_a_variant_that_raises(evcore: Shell, recorded: Recorded, home: Path) -> None:
    raising = wrapped(REGISTRATION, "def before(d, received): raise KeyError('k')")
    said = evcore("replay", SUPI, "--with", folder(home, {REGISTRATION: raising}))
    assert said.status == 1
    assert said.lines[1] == "KeyError: 'k'"
    del recorded


def test_a_variant_with_another_key_shows_that_but_not_the_key(
    evcore: Shell, recorded: Recorded, home: Path
) -> None:
    """A diff of hidden values has no lines."""
    text = source(REGISTRATION) + (
        "\n\nfrom msgspec.structs import replace\n"
        "from schemas.gmm.events import AuthenticationStarted\n\n"
        "_decide = decide\n\n"
        "def decide(d, received):\n"
        "    _decide(d, received)\n"
        "    for index, one in enumerate(d.events):\n"
        "        if isinstance(one, AuthenticationStarted):\n"
        "            challenge = replace(one.challenge, kamf=bytes(range(32)))\n"
        "            d.events[index] = replace(one, challenge=challenge)\n"
    )
    evcore.keys.add(bytes(range(32)))
    said = evcore("replay", SUPI, "--with", folder(home, {REGISTRATION: text}))
    assert said.lines[0].startswith(f"{UE} step 1")
    assert said.lines[1] == "only keys differ, which are not shown"
    del recorded


def test_only_the_steps_of_a_procedure(evcore: Shell, recorded: Recorded, home: Path) -> None:
    module = "ue/reconcile"
    text = source(module) + (
        "\n_reconcile = reconcile\n\n"
        "def reconcile(d):\n    _reconcile(d)\n    d.note('reconciled')\n"
    )
    path = folder(home, {module: text})
    said = evcore("replay", SUPI, "--with", path, "--procedure", "deregistration")
    assert counted(said.out)[1] == 1
    said = evcore("replay", SUPI, "--with", path)
    assert counted(said.out)[1] == recorded.heads[UE]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def (", "cannot be imported: SyntaxError"),
        ("import no_such_thing", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit"),
        ("X = 1", "cannot be imported: AttributeError"),
    ],
)
def test_a_module_that_cannot_be_loaded(
    evcore: Shell, home: Path, text: str, sentence: str
) -> None:
    path = folder(home, {"gmm/paging": text})
    assert sentence in evcore.refused("replay", "--all", "--with", path, status=2)


@pytest.mark.parametrize("module", ["runtime/worker", "../schemas/flags", "../evcore/cli"])
def test_a_variant_that_changes_more_than_decisions(evcore: Shell, home: Path, module: str) -> None:
    path = folder(home, {module: "X = 1\n"})
    sentence = evcore.refused("replay", "--all", "--with", path, status=2)
    assert "a variant changes decisions only" in sentence


@pytest.mark.parametrize("name", ["no.such.module", ".", "x/", "x.txt/y", "none.whl"])
def test_a_path_that_is_no_variant(evcore: Shell, home: Path, name: str) -> None:
    del home
    assert evcore.refused("replay", "--all", "--with", name, status=2)


def test_replay_wants_a_log(evcore: Shell) -> None:
    assert evcore.refused("replay", SUPI, "--all", status=2) == "name a SUPI, or say --all"
    assert evcore.refused("replay", status=2) == "name a SUPI, or say --all"
    sentence = evcore.refused("replay", "--all", "--procedure", "identification", status=2)
    assert sentence == "identification has no state and leaves no steps to decide again"
