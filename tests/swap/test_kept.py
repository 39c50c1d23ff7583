"""Variants of procedures in files: which may be swapped in, and their names."""

import re
from pathlib import Path

import pytest

from evcore.commands.errors import UsageError
from evcore.commands.swap import count_of, file_of
from evcore.local.data import DataDirectory
from evcore.swap import kept
from evcore.swap.kept import Kept
from functions.gmm import paging
from functions.runtime.variants import VariantError, load_all, version_with, versions
from schemas.procedures import Procedure
from tests.e2e.versions import BROKEN, RIGHT, write

SERVICE = Procedure.SERVICE_REQUEST


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path / "data")


def test_a_version_is_named_after_its_text(tmp_path: Path, data: DataDirectory) -> None:
    first = kept.keep(data, SERVICE, write(tmp_path, RIGHT))
    assert re.fullmatch(r"2\+[0-9a-f]{8}", first)
    assert kept.keep(data, SERVICE, write(tmp_path, RIGHT)) == first
    second = kept.keep(data, SERVICE, write(tmp_path, RIGHT + "# other\n"))
    assert second != first
    names = {path.name for path in data.variants.iterdir()}
    assert names == {f"service-request@{first}.py", f"service-request@{second}.py"}


def test_workers_load_what_was_kept(tmp_path: Path, data: DataDirectory) -> None:
    path = write(tmp_path, RIGHT)
    variant = kept.keep(data, SERVICE, path)
    path.unlink()
    sign, option = kept.arguments(data, {SERVICE: variant})
    assert sign == "--with"
    found = load_all([option])
    assert versions(found) == {SERVICE: variant}
    assert version_with("0.1.0", versions(found)) == f"0.1.0 service-request={variant}"


def test_steps_of_a_version_find_it_again(tmp_path: Path, data: DataDirectory) -> None:
    variant = kept.keep(data, SERVICE, write(tmp_path, RIGHT))
    found = Kept(data).procedures(SERVICE, variant)
    assert found is not None
    assert variant == found.module(SERVICE).VERSION
    assert found.module(Procedure.PAGING).VERSION == "1"
    assert Kept(data).procedures(SERVICE, "2+00000000") is None


def test_a_file_that_was_changed_since_is_not_what_decided(
    tmp_path: Path, data: DataDirectory
) -> None:
    variant = kept.keep(data, SERVICE, write(tmp_path, RIGHT))
    with kept.path_of(data, SERVICE, variant).open("a") as file:
        file.write("# other\n")
    assert Kept(data).module(SERVICE, variant) is None


WRONG = {
    "import there_is_nothing\n": r"cannot be imported: ModuleNotFoundError",
    "VERSION = '2'\n": "is no procedure: it has no decide, or no VERSION",
    "def decide(d, given): ...\n": "is no procedure: it has no decide, or no VERSION",
    "VERSION = '1+x'\ndef decide(d, given): ...\n": r"VERSION of .* is '1\+x'",
    "VERSION = 'a' * 65\ndef decide(d, given): ...\n": "has more than 64 octets",
    "raise SystemExit(3)\n": "cannot be imported: SystemExit: 3",
    BROKEN: "cannot be imported: ModuleNotFoundError: No module named 'there_is_no_such_module'",
}


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_what_is_no_version(tmp_path: Path, data: DataDirectory, text: str, why: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(VariantError, match=why) as raised:
        kept.keep(data, SERVICE, path)
    assert str(path) in str(raised.value), "it is called as the user called it"
    assert list(data.variants.iterdir()) == []


def test_what_is_no_file_and_what_leaves_no_steps(tmp_path: Path, data: DataDirectory) -> None:
    with pytest.raises(VariantError, match="there is no file"):
        kept.keep(data, SERVICE, tmp_path / "none.py")
    with pytest.raises(VariantError, match="identification has no state"):
        kept.keep(data, Procedure.IDENTIFICATION, write(tmp_path, RIGHT))
    for option in ("paging", "smf=x.py"):
        with pytest.raises(VariantError, match="is not PROCEDURE=FILE"):
            load_all([option])


def test_a_module_is_named_by_its_file_or_by_its_name() -> None:
    assert file_of("a/b.py") == Path("a/b.py")
    assert file_of("functions.gmm.paging") == Path(paging.__file__)
    for none in ("functions.none", "no.such.package", "sys", "a b"):
        with pytest.raises(UsageError, match=f"there is no module {none}"):
            file_of(none)


def test_a_package_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raising").mkdir()
    (tmp_path / "raising" / "__init__.py").write_text("raise RuntimeError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"raising\.x cannot be found: RuntimeError: no"):
        file_of("raising.x")


@pytest.mark.parametrize(
    ("share", "count"), [("1/16", 1), ("1/4", 4), ("1/100", 1), ("16/16", 16), ("3", 3)]
)
def test_shares_of_the_partitions(share: str, count: int) -> None:
    assert count_of(share, 16) == count


@pytest.mark.parametrize("share", ["0", "0/16", "17", "2/1", "1/0", "x", "", "-1"])
def test_what_is_no_share(share: str) -> None:
    with pytest.raises(UsageError, match="--partitions is a share as 1/8, or a number of 1 to 16"):
        count_of(share, 16)
