"""The data directory and every file in it belong to their owner alone."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evcore.local import private
from evcore.local.data import DEFAULT, DataDirectory
from evcore.local.process import Process
from evcore.swap import kept
from schemas.config.reading import Config, ConfigError
from statestore.sqlite.engine import SqliteEngine
from tests.e2e import versions
from tests.evcore.recording import Recorded
from tests.evcore.shell import Shell

ROOT = os.geteuid() == 0
OTHER = 65534


def shared(root: Path) -> list[str]:
    """Return the files and directories that other users have rights to; `root` itself is `.`."""
    found = [root, *root.rglob("*")]
    return sorted(
        str(path.relative_to(root))
        for path in found
        if not path.is_symlink() and path.stat().st_mode & 0o077
    )


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """The worst umask: every file without a mode of its own is everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_directory(home: Path) -> None:
    said: list[str] = []
    data = DataDirectory(home / "data")
    data.prepare(said.append)
    data.write_config(Config())
    assert shared(data.root) == []
    data.prepare(said.append)
    assert said == []


def test_a_directory_that_was_there(home: Path) -> None:
    """As an earlier evcore, a copy or a careless `mkdir` left it."""
    data = DataDirectory(home / "data")
    (data.broker / "streams").mkdir(parents=True)
    data.logs.mkdir()
    files = (data.database, data.broker / "streams" / "1.blk", data.log("nats-server"))
    for path in files:
        path.touch()
    outside = home / "outside"
    outside.touch()
    (data.root / "link").symlink_to(outside)
    data.secrets_file.write_text('{"master_key": "%s"}' % ("00" * 32))
    data.secrets_file.chmod(0o640)
    (data.root / "script").touch(0o775)
    assert len(shared(data.root)) == 9
    said: list[str] = []
    data.prepare(said.append)
    assert shared(data.root) == []
    assert said == [f"note: other users had rights to 9 files of {data.root}; they have none now"]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o666, "a link is not followed"
    assert stat.S_IMODE((data.root / "script").stat().st_mode) == 0o700


def test_the_command_says_so(evcore: Shell, recorded: Recorded) -> None:
    recorded.data.database.chmod(0o644)
    said = evcore.ok("subscriber", "add", "001010000000003", "--k", "01" * 16, "--opc", "02" * 16)
    line = f"note: other users had rights to 1 file of {DEFAULT}; they have none now"
    assert line in said.err.splitlines()
    assert shared(recorded.data.root) == []


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
@pytest.mark.parametrize("name", [".", "evcore.db"])
def test_files_of_another_user_are_refused(evcore: Shell, home: Path, name: str) -> None:
    data = DataDirectory(home / DEFAULT)
    data.prepare()
    data.database.touch(0o600)
    os.chown(data.root / name, OTHER, OTHER)
    sentence = evcore.refused("subscriber", "add", "1" * 15, "--k", "01" * 16, "--opc", "02" * 16)
    path = DEFAULT if name == "." else DEFAULT / name
    assert sentence.startswith(f"{path} belongs to another user (nobody): run evcore as that user")


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_another_user_gets_nothing(home: Path) -> None:
    data = DataDirectory(home / "data")
    data.prepare()
    for folder in (home, *home.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    command = [sys.executable, "-c", "import os, sys; os.listdir(sys.argv[1])", str(data.root)]
    ended = subprocess.run(
        command, user=OTHER, group=OTHER, extra_groups=[], capture_output=True, check=False
    )
    assert b"PermissionError" in ended.stderr


async def test_the_log_and_its_locks(home: Path) -> None:
    """SQLite's WAL and shared memory have the rights of the database."""
    folder = home / "store"
    folder.mkdir(0o700)
    engine = await SqliteEngine.open(folder / "evcore.db")
    names = {path.name for path in folder.iterdir()}
    assert names >= {"evcore.db", "evcore.db-wal", "evcore.db-shm", "evcore.db-turn"}
    assert shared(folder) == []
    await engine.close()


async def test_what_a_process_writes(home: Path) -> None:
    """A child has a umask, so the files of nats-server are private too."""
    data = DataDirectory(home / "data")
    data.prepare()
    script = "import os, pathlib; os.mkdir('jetstream'); pathlib.Path('jetstream/1.blk').touch()"
    command = (sys.executable, "-c", f"import os; os.chdir({str(data.root)!r}); {script}")
    child = await Process.start("a child", command, data.log("child"))
    assert await child.wait() == 0
    assert (data.broker / "1.blk").exists()
    assert shared(data.root) == []


def test_kept_variants(home: Path) -> None:
    data = DataDirectory(home / "data")
    data.prepare()
    versions.write(home / "variant", versions.OTHER_T3512, versions.ACCEPT)
    kept.keep(data, home / "variant" / "my-variant")
    assert len(list(data.variants.iterdir())) == 1
    assert shared(data.root) == []


def test_a_file_system_without_rights(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "data").mkdir(0o755)
    monkeypatch.setattr("os.chmod", lambda *_, **__: None)
    with pytest.raises(ConfigError, match="on a file system that cannot keep it from other users"):
        private.tighten(home / "data")


def test_no_core_dumps(home: Path) -> None:
    """A core dump of a process has keys in plain."""
    del home
    script = (
        "import resource as r, evcore.cli; r.setrlimit(r.RLIMIT_CORE, (-1, -1)); "
        "evcore.cli.main(['doctor']); print('core', r.getrlimit(r.RLIMIT_CORE)[0])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # noqa: PLW1510
    assert "core 0" in ended.stdout, ended.stderr
