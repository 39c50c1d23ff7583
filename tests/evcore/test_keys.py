"""Keys of subscribers that neither `ps` nor the history of a shell shows."""

import asyncio
import io
import os
import pty
import sys
from pathlib import Path

import pytest

from evcore.local.data import DEFAULT
from evcore.logs.access import opened
from tests.evcore.shell import Shell
from tests.statestore.import_samples import CSV, OP, OPC, OPC_OF_OP, K

SUPI = "imsi-001010000000777"
IN_ARGUMENTS = (
    "note: `ps` shows keys in arguments, and a shell's history keeps them: --key-file FILE reads "
    "a file, or - standard input\n"
)
NEITHER = "is none of k=HEX, opc=HEX and op=HEX"


@pytest.fixture(autouse=True)
def keys_are_secret(evcore: Shell) -> None:
    evcore.keys |= {bytes.fromhex(key) for key in (K, OP, OPC, OPC_OF_OP)}


def stored() -> tuple[str, str]:
    """Return K and OPc of the subscriber."""

    async def read() -> tuple[str, str]:
        async with opened(DEFAULT, read_only=True) as access:
            found = await access.subscribers.get(SUPI)
        assert found is not None
        assert found.subscriber is not None
        return found.subscriber.k.hex(), found.subscriber.opc.hex()

    return asyncio.run(read())


def key_file(text: str, mode: int = 0o600) -> str:
    path = Path("sim.keys")
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("text", "opc"),
    [
        (f"k={K}\nopc={OPC}\n", OPC),
        (f"# a USIM\n\n  K = {K.upper()}  # of the card\nOPc: {OPC}", OPC),
        (f"op={OP}\r\nk={K}\r\n", OPC_OF_OP),
    ],
)
def test_a_key_file(evcore: Shell, text: str, opc: str) -> None:
    said = evcore.ok("subscriber", "add", SUPI, "--key-file", key_file(text))
    assert (said.out, said.err) == (f"{SUPI}: version 1\n", "")
    assert stored() == (K, opc)


def test_standard_input(evcore: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"k={K}\nopc={OPC}\n")
    said = evcore.ok("subscriber", "add", SUPI, "--key-file", "-")
    assert said.err == ""
    assert stored() == (K, OPC)


def test_opc_of_the_network_and_k_of_the_card(evcore: Shell) -> None:
    said = evcore.ok("subscriber", "add", SUPI, "--key-file", key_file(f"k={K}"), "--op", OP)
    assert said.err == IN_ARGUMENTS
    assert stored() == (K, OPC_OF_OP)


def test_arguments_are_taken_with_a_warning(evcore: Shell) -> None:
    said = evcore.ok("subscriber", "add", SUPI, "--k", K, "--opc", OPC)
    assert (said.out, said.err) == (f"{SUPI}: version 1\n", IN_ARGUMENTS)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_read_gets_a_warning(evcore: Shell, mode: int) -> None:
    warning = "note: other users can read or change {}, which has keys: chmod 600\n"
    file = key_file(f"k={K}\nopc={OPC}", mode)
    said = evcore.ok("subscriber", "add", SUPI, "--key-file", file)
    assert said.err == warning.format(file)
    Path("sims.csv").write_text(CSV)
    Path("sims.csv").chmod(mode)
    assert evcore.ok("subscriber", "import", "sims.csv").err.startswith(warning.format("sims.csv"))
    Path("sims.csv").chmod(0o600)
    assert "other users" not in evcore.ok("subscriber", "import", "sims.csv").err


@pytest.mark.parametrize(
    ("text", "more", "sentence"),
    [
        ("", (), "give K by --key-file: FILE, or - for standard input"),
        (f"k={K}", (), "give OPc by --opc or a line opc=HEX, or OP by --op or a line op=HEX"),
        (f"k={K}\nopc={OPC}\nop={OP}", (), "give OPc by --opc or a line opc=HEX, or OP by"),
        (f"{K}\n{OPC}", (), f"sim.keys: line 1 {NEITHER}"),
        (f"k={K}\nopc {OPC}", (), f"sim.keys: line 2 {NEITHER}"),
        (f"k={K}\nk={K}", (), "sim.keys: line 2 gives k again"),
        (f"k={K}\nopc={OPC}", ("--opc", OPC), "sim.keys: opc is also given by --opc"),
        (f"k={K[:-1]}\nopc={OPC}", (), "k is not a string of 32 hexadecimal digits"),
        ("#" * 65537, (), "sim.keys: more than 64 KiB"),
    ],
)
def test_a_wrong_file(evcore: Shell, text: str, more: tuple[str, ...], sentence: str) -> None:
    arguments = ("subscriber", "add", SUPI, "--key-file", key_file(text, 0o644), *more)
    said = evcore.refused(*arguments, status=1 if "KiB" in sentence else 2)
    assert said.startswith(sentence)
    assert not DEFAULT.exists()


def test_a_file_that_is_not_there_or_no_text(evcore: Shell) -> None:
    arguments = ("subscriber", "add", SUPI, "--key-file")
    assert evcore.refused(*arguments, "none.keys") == "none.keys: No such file or directory"
    Path("binary").write_bytes(bytes.fromhex(K))
    assert evcore.refused(*arguments, "binary", status=2) == "binary: the file is not UTF-8 text"


def test_a_terminal_is_asked_and_shows_nothing(home: Path) -> None:
    """The keys are typed; the terminal does not echo them."""
    shown = in_terminal(
        [sys.executable, "-m", "evcore", "subscriber", "add", SUPI],
        {"K: ": f"{K}\n", "OPc: ": f"{OPC}\n"},
    )
    assert shown.splitlines() == ["K: ", "OPc: ", f"{SUPI}: version 1"], shown
    assert stored() == (K, OPC)
    assert (home / DEFAULT).is_dir()


def in_terminal(command: list[str], answers: dict[str, str]) -> str:
    """Run a command in a new terminal, and type each answer after its prompt."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)  # noqa: S606
    shown = ""
    typed: set[str] = set()
    while True:
        try:
            octets = os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        if not octets:
            break
        shown += octets.decode()
        for prompt, answer in answers.items():
            if prompt in shown and prompt not in typed:
                typed.add(prompt)
                os.write(terminal, answer.encode())
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    return shown
