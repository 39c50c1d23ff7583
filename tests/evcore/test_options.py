"""A wrong command line is refused with one sentence and the exit status 2."""

import pytest

from evcore.commands.errors import UsageError
from evcore.commands.load import programme_of
from evcore.commands.options import aggregate_of, supi_of
from evcore.commands.up import groups_of
from loadgen import Procedure as UeProcedure
from schemas.procedures import Procedure
from schemas.version import VERSION
from tests.evcore.shell import Shell

SUPI = "imsi-001010000000001"
LOAD = ("load", "--host", "127.0.0.1")


@pytest.mark.parametrize("text", [SUPI, SUPI.upper(), f" {SUPI}\n", SUPI.removeprefix("imsi-")])
def test_a_supi(text: str) -> None:
    assert supi_of(text) == SUPI
    assert aggregate_of(text) == f"ue/{SUPI}"


@pytest.mark.parametrize(
    "text",
    ["", "imsi-", "12345", "1" * 16, "imsi-00101x", "nai-a@b", "\u0660" * 6, f"{SUPI} {SUPI}"],
)
def test_no_supi(text: str) -> None:
    for reads in (supi_of, aggregate_of):
        with pytest.raises(UsageError, match="SUPI"):
            reads(text)


def test_what_is_quoted_is_short_and_printable() -> None:
    with pytest.raises(UsageError) as caught:
        supi_of("\x1b[31m" + "x" * 1000)
    assert len(str(caught.value)) < 120
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "name", [f"ue/{SUPI}", "gnb/001-01-gnb-24-1", "upf/10.9.0.1", "ue/unidentified-1a-2"]
)
def test_a_name_of_the_list(name: str) -> None:
    assert aggregate_of(name) == name


def test_an_unidentified_ue() -> None:
    assert aggregate_of("unidentified-1a-2") == "ue/unidentified-1a-2"


@pytest.mark.parametrize("name", ["smf/1", "upf/", "gnb/", "/x", "gnb"])
def test_a_name_of_nothing(name: str) -> None:
    with pytest.raises(UsageError, match="neither a SUPI"):
        aggregate_of(name)


def test_groups() -> None:
    (everything,) = groups_of("all", 3)
    assert (set(everything.procedures), everything.max_workers) == (set(Procedure), 3)
    assert [group.procedures for group in groups_of("each", 1)] == [(p,) for p in Procedure]
    one = ("registration", "deregistration", "session", "service-request")
    other = tuple(procedure for procedure in Procedure if procedure not in one)
    two = groups_of(f"{', '.join(one)};{','.join(other)}", 1)
    assert [group.name for group in two] == ["+".join(one), "+".join(other)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ran", "--groups hosts no an-release, configuration-update, deregistration, "),
        ("ran,ran", "--groups hosts ran twice"),
        ("ran;x", "'x' is not a procedure; choose from ran, identification, registration, "),
        ("", "'' is not a procedure"),
        ("all;ran", "'all' is not a procedure"),
    ],
)
def test_groups_that_are_none(evcore: Shell, text: str, sentence: str) -> None:
    assert evcore.refused("up", "--groups", text, status=2).startswith(sentence)


def test_a_programme() -> None:
    assert programme_of("register, idle") == (UeProcedure.REGISTER, UeProcedure.IDLE)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nope",), "no such command 'nope'; see `evcore --help`"),
        (("--nope",), "no such option: --nope; see `evcore --help`"),
        (("log", "nope"), "no such command 'nope'; see `evcore log --help`"),
        (("log", "show"), "missing argument 'SUPI'; see `evcore log show --help`"),
        (("log", "show", SUPI, "x"), "got unexpected extra argument"),
        (("log", "show", SUPI, "--seq", "0"), "invalid value for '--seq': "),
        (("log", "show", SUPI, "--seq", "x"), "invalid value for '--seq': "),
        (("log", "show", "x"), "'x' is neither a SUPI"),
        (("log", "show", SUPI, "--json", "--asn1"), "--asn1 and --json cannot be combined"),
        (("log", "state", SUPI, "--at", "-1"), "invalid value for '--at': "),
        (("log", "verify"), "name a SUPI, or say --all"),
        (("log", "verify", SUPI, "--all"), "name a SUPI, or say --all"),
        (("up", "--port", "65536"), "invalid value for '--port': "),
        (("up", "--transport", "tcp"), "invalid value for '--transport': 'tcp' is not one of"),
        (("up", "--max-workers", "0"), "invalid value for '--max-workers': "),
        (("demo", "--ues", "0"), "invalid value for '--ues': "),
        (("function", "work", "--with", "paging"), "'paging' is not PROCEDURE=PATH, of ran, "),
        (("function", "work", "--with", "paging=x"), "there is no folder or wheel x"),
        (("function", "work", "nope"), "'nope' is not a procedure; choose from ran, "),
        (
            (*LOAD, "--procedures", "x"),
            "'x' is not a procedure of a UE; choose from register, idle",
        ),
        ((*LOAD, "--procedures", ""), "'' is not a procedure of a UE"),
        ((*LOAD, "--ues", "0"), "invalid value for '--ues': "),
        ((*LOAD, "--ues", "99999999999"), "99999999999 UEs from 001010000000001 exceed"),
        (("swap", "ran", "--to", "x.py", "--max-p99-ratio", "nan"), "a margin is nan"),
        ((*LOAD, "--duration", "nan"), "--duration is nan: it must be finite"),
        ((*LOAD, "--duration", "inf"), "--duration is inf: it must be finite"),
        ((*LOAD, "--rate", "0"), "rate is 0.0"),
        ((*LOAD, "--tac", "16777216"), "tac is 16777216, but a TAC has 24 bits"),
        ((*LOAD, "--plmn", "1-1"), "plmn is '1-1', not MCC-MNC"),
        ((*LOAD, "--first-imsi", "1"), "population.first_imsi is '1', not 15 digits"),
        ((*LOAD, "--slices", "1-zz"), "--slices: '1-zz' is not a slice"),
    ],
)
def test_wrong_options(evcore: Shell, arguments: tuple[str, ...], sentence: str) -> None:
    assert evcore.refused(*arguments, status=2).startswith(sentence)


@pytest.mark.parametrize("command", [[], ["log"], ["subscriber"], ["function"]])
def test_a_command_that_is_missing(evcore: Shell, command: list[str]) -> None:
    said = evcore(*command)
    assert said.status == 2
    assert said.err.startswith("Usage: evcore")


@pytest.mark.parametrize(
    "command",
    ["up", "demo", "load", "replay", "doctor", "log list", "log show", "log state", "log verify"]
    + [
        f"subscriber {name}"
        for name in ("add", "import", "list", "show", "remove", "deregister", "home-keys")
    ]
    + ["function work"],
)
def test_every_command_explains_itself(evcore: Shell, command: str) -> None:
    said = evcore.ok(*command.split(), "--help")
    assert said.out.startswith(f"Usage: evcore {command} ")
    assert evcore.ok(*command.split(), "-h") == said


def test_version(evcore: Shell) -> None:
    assert evcore.ok("--version").out == f"evcore {VERSION}\n"
