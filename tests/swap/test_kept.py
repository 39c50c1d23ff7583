"""The variants that a data directory keeps, and the names of variants on the command line."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore.commands.errors import UsageError
from evcore.commands.swap import count_of
from evcore.local.data import DataDirectory
from evcore.swap import environment, kept
from evcore.swap.kept import Kept
from functions.runtime.code import this_code
from functions.runtime.variants import VariantError, load_all
from schemas.procedures import Procedure
from tests import variants
from tests.e2e.versions import BROKEN, MODULE, RIGHT, write

SERVICE = Procedure.SERVICE_REQUEST


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path / "data")


def test_a_variant_is_kept_under_its_name_and_its_id(tmp_path: Path, data: DataDirectory) -> None:
    first = kept.keep(data, write(tmp_path, RIGHT))
    assert kept.keep(data, write(tmp_path, RIGHT)) == first
    second = kept.keep(data, write(tmp_path, RIGHT + "# other\n"))
    assert second.id != first.id
    names = {path.name for path in data.variants.iterdir()}
    assert names == {f"my-variant@{one.id}.whl" for one in (first, second)}


def test_workers_load_what_was_kept(tmp_path: Path, data: DataDirectory) -> None:
    path = write(tmp_path, RIGHT)
    variant = kept.keep(data, path).id
    for file in path.rglob("*.py"):
        file.unlink()
    sign, option = Kept(data).arguments([(SERVICE, variant)])
    assert sign == "--with"
    (found,) = load_all([option]).values()
    assert found.id == variant
    assert found.code.variant == "my-variant"


def test_the_steps_of_a_variant_find_it_again(tmp_path: Path, data: DataDirectory) -> None:
    variant = kept.keep(data, write(tmp_path, RIGHT)).id
    found = Kept(data).load(variant)
    assert found is not None
    assert found.id == variant
    assert Kept(data).load("00000000") is None
    assert Kept(data).outdated(variant) == ""


def test_a_variant_that_was_made_for_another_release(
    tmp_path: Path, data: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = kept.keep(data, write(tmp_path, RIGHT)).id
    newer = replace(this_code(), release="9.9.9")
    monkeypatch.setattr("functions.runtime.variants.this_code", lambda: newer)
    assert Kept(data).load(variant) is None
    assert Kept(data).outdated(variant) == "it was made for another evcore than this one"
    (option,) = Kept(data).arguments([(SERVICE, variant)])[1:]
    with pytest.raises(VariantError, match="it was made for another one"):
        load_all([option])


def test_of_an_environment_the_path_is_kept(tmp_path: Path, data: DataDirectory) -> None:
    path = variants.environment(tmp_path, {MODULE: RIGHT})
    code = kept.keep(data, path)
    assert (code.variant, code.release) == ("", this_code().release)
    assert code.functions != this_code().functions
    assert [file.name for file in data.variants.iterdir()] == [f"{code.release}@{code.id}.path"]
    found = Kept(data)
    assert found.python(code.id) == path / "bin" / "python"
    assert (found.has(code.id), found.load(code.id), found.outdated(code.id)) == (True, None, "")
    assert found.arguments([(SERVICE, code.id)]) == ()
    changed = path / "site" / "functions" / f"{MODULE}.py"
    changed.write_text(RIGHT + "# upgraded\n")
    assert f"{path}/bin/python runs {code.release} (" in found.outdated(code.id)


def test_a_folder_with_a_python_that_runs_no_evcore(tmp_path: Path, data: DataDirectory) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho no way >&2; exit 3\n")
    python.chmod(0o755)
    assert environment.python_of(tmp_path) == python
    with pytest.raises(VariantError, match=r"runs no evcore that can be a variant: no way"):
        kept.keep(data, tmp_path)


def test_a_variant_that_cannot_be_loaded_is_not_kept(tmp_path: Path, data: DataDirectory) -> None:
    path = write(tmp_path, BROKEN)
    with pytest.raises(VariantError, match="No module named 'there_is_no_such_module'") as raised:
        kept.keep(data, path)
    assert str(path) in str(raised.value)
    assert not data.variants.exists()


@pytest.mark.parametrize(
    ("share", "count"), [("1/16", 1), ("1/4", 4), ("1/100", 1), ("16/16", 16), ("3", 3)]
)
def test_shares_of_the_partitions(share: str, count: int) -> None:
    assert count_of(share, 16) == count


@pytest.mark.parametrize("share", ["0", "0/16", "17", "2/1", "1/0", "x", "", "-1"])
def test_what_is_no_share(share: str) -> None:
    with pytest.raises(UsageError, match="--partitions is a share as 1/8, or a number of 1 to 16"):
        count_of(share, 16)
