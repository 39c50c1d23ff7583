"""Variants: which folders and wheels may be one, and that loading one changes nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import functions.gmm.registration.accept
from functions.runtime.code import this_code
from functions.runtime.variants import VariantError, load, load_all, version_with
from schemas.procedures import MODULES, Procedure
from tests.variants import edited, folder, source, wheel

ACCEPT = "gmm/registration/accept"
NOTING = edited(
    ACCEPT,
    ("    tmsi = guti.new_tmsi(d)\n", "    tmsi = guti.new_tmsi(d)\n    d.note('by a variant')\n"),
)


def test_a_variant_has_one_module_and_all_others_of_this_release(tmp_path: Path) -> None:
    found = load(folder(tmp_path, {ACCEPT: NOTING}))
    assert set(MODULES.values()) <= found.modules.keys()
    accept = found.modules["functions.gmm.registration.accept"]
    assert accept.__file__ == str(tmp_path / "my-variant/functions/gmm/registration/accept.py")
    paging = found.modules["functions.gmm.paging"]
    assert paging.__file__ == sys.modules["functions.gmm.paging"].__file__
    assert paging is not sys.modules["functions.gmm.paging"], "a copy of its own"
    answers = found.modules["functions.gmm.registration.answers"]
    assert accept in vars(answers).values(), "it imports the variant's"


def test_loading_leaves_this_release_as_it_is(tmp_path: Path) -> None:
    before = {name: one for name, one in sys.modules.items() if name.startswith("functions")}
    paths, accept = [*sys.meta_path], functions.gmm.registration.accept
    load(folder(tmp_path, {ACCEPT: NOTING}))
    with pytest.raises(VariantError):
        load(folder(tmp_path, {ACCEPT: "raise SystemExit(3)\n"}))
    after = {name: one for name, one in sys.modules.items() if name.startswith("functions")}
    assert after == before
    assert sys.meta_path == paths
    assert functions.gmm.registration.accept is accept


def test_its_code_is_that_of_all_its_modules(tmp_path: Path) -> None:
    first = load(folder(tmp_path, {ACCEPT: NOTING})).code
    assert load(folder(tmp_path, {ACCEPT: NOTING})).code == first
    assert (first.variant, first.release) == ("my-variant", this_code().release)
    assert (first.schemas, first.wire) == (this_code().schemas, this_code().wire)
    assert str(first) == f"{this_code().release} my-variant ({first.id})"
    same = load(folder(tmp_path, {ACCEPT: source(ACCEPT)})).code
    assert same.functions == this_code().functions
    assert same.id != this_code().id, "the name counts too"
    assert len({first.functions, same.functions, this_code().functions}) == 2


def test_the_text_that_is_loaded_is_the_text_of_the_digest(tmp_path: Path) -> None:
    """Python's cache of compiled modules is not asked: its times have a resolution of seconds."""
    path = folder(tmp_path, {ACCEPT: NOTING})
    first = load(path)
    file = path / "functions/gmm/registration/accept.py"
    file.write_text(file.read_text().replace("by a variant", "by a VARIANT"))
    second = load(path)
    assert first.id != second.id
    assert "by a VARIANT" in second.overlay.files["functions/gmm/registration/accept.py"].decode()
    assert not [*path.rglob("__pycache__")]


def test_a_wheel_is_a_variant(tmp_path: Path) -> None:
    found = load(wheel(tmp_path, {ACCEPT: NOTING, "__init__": ""}))
    assert found.code.variant == "my_variant-1.0"
    assert list(found.overlay.files) == ["functions/gmm/registration/accept.py"]
    of_folder = load(folder(tmp_path, {ACCEPT: NOTING}))
    assert found.code.functions == of_folder.code.functions


def test_a_variant_may_have_modules_of_its_own(tmp_path: Path) -> None:
    new = {
        ACCEPT: edited(
            ACCEPT, ("import wire\n", "import wire\nfrom functions.gmm.extra import t\n")
        ),
        "gmm/extra/__init__": "",
        "gmm/extra/t": "X = 1\n",
    }
    found = load(folder(tmp_path, new))
    assert vars(found.modules["functions.gmm.extra.t"])["X"] == 1


def test_files_beside_the_modules_are_ignored(tmp_path: Path) -> None:
    path = folder(tmp_path, {ACCEPT: NOTING})
    (path / "pyproject.toml").write_text("[project]\n")
    (path / "README.md").write_text("#\n")
    hidden = path / ".git" / "hooks"
    hidden.mkdir(parents=True)
    (hidden / "x.py").write_text("raise RuntimeError\n")
    assert list(load(path).overlay.files) == ["functions/gmm/registration/accept.py"]


SENTENCES = {
    "runtime/worker": (
        "has functions/runtime/worker.py: a variant changes decisions only; a release that changes "
        "functions/runtime runs from an environment of its own"
    ),
    "announcer/window": "a release that changes functions/announcer runs from an environment",
    "../schemas/flags": "a release that changes schemas runs from an environment of its own",
    "../setup": "a release that changes setup.py runs from an environment of its own",
    "new/family": "a release that changes functions/new runs from an environment of its own",
    "gmm/acept": "has functions/gmm/acept.py, which no module imports",
}


@pytest.mark.parametrize(("module", "sentence"), SENTENCES.items())
def test_a_variant_that_changes_more_than_decisions(
    tmp_path: Path, module: str, sentence: str
) -> None:
    path = folder(tmp_path, {ACCEPT: NOTING, module: "X = 1\n"})
    with pytest.raises(VariantError, match="my-variant") as raised:
        load(path)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def (", "cannot be imported: SyntaxError"),
        ("import no_such_thing\n", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "cannot be imported: SystemExit: 3"),
        ("from functions.runtime import worker\n", "a decision imports no functions.runtime"),
        (
            edited("gmm/ue_context", ("def decide(", "def otherwise(")),
            "has no decide for ue-context, in functions.gmm.ue_context",
        ),
    ],
)
def test_a_module_that_cannot_decide(tmp_path: Path, text: str, sentence: str) -> None:
    path = folder(tmp_path, {"gmm/ue_context": text})
    with pytest.raises(VariantError) as raised:
        load(path)
    assert sentence in str(raised.value)
    assert str(path) in str(raised.value)


def compiled(root: Path) -> Path:
    path = folder(root, {ACCEPT: NOTING})
    (path / "functions/gmm/fast.so").write_bytes(b"\x7fELF")
    return path


def text_file(root: Path) -> Path:
    path = root / "accept.py"
    path.write_text(NOTING)
    return path


NO_VARIANTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "nothing": (lambda root: root / "none", "there is no folder or wheel"),
    "an empty folder": (lambda root: root, "has no module of a decision: a variant has the layout"),
    "a file of Python": (text_file, "is neither a folder nor a wheel"),
    "compiled code": (compiled, "the modules of a variant are Python sources"),
}


@pytest.mark.parametrize(("make", "sentence"), NO_VARIANTS.values(), ids=NO_VARIANTS)
def test_a_path_that_is_no_variant(
    tmp_path: Path, make: Callable[[Path], Path], sentence: str
) -> None:
    with pytest.raises(VariantError, match=sentence):
        load(make(tmp_path))


def test_the_variants_of_a_command_line(tmp_path: Path) -> None:
    path = folder(tmp_path, {ACCEPT: NOTING})
    found = load_all([f"registration={path}", f"paging={path}"])
    assert found[Procedure.REGISTRATION] is found[Procedure.PAGING]
    hosted = {str(procedure): one.id for procedure, one in found.items()}
    one = found[Procedure.PAGING].id
    assert version_with("0.1.0", hosted) == f"0.1.0 paging={one} registration={one}"
    for option in ("paging", f"smf={path}", "=x"):
        with pytest.raises(VariantError, match="is not PROCEDURE=PATH"):
            load_all([option])


def test_a_folder_as_kubernetes_mounts_a_config_map(tmp_path: Path) -> None:
    """Links at the top, to a folder with a hidden name; and a link to a folder above ends."""
    mount = tmp_path / "my-variant"
    made = folder(tmp_path / "made", {ACCEPT: NOTING})
    mount.mkdir()
    made.rename(mount / "..2026_11_23")
    (mount / "..data").symlink_to("..2026_11_23")
    (mount / "functions").symlink_to("..data/functions")
    (mount / "..data" / "functions" / "again").symlink_to("../functions")
    found = load(mount)
    assert found.overlay.files == {f"functions/{ACCEPT}.py": NOTING.encode()}
