"""Variants of procedures: this release's decisions with some of its modules replaced.

A variant is a folder or a wheel with modules in the layout of the project. A module such as
``functions/gmm/registration/accept.py`` replaces this release's module. All other modules are this
release's. A variant is loaded as a second copy of the packages that decide, so its changes affect
only its own decisions.
"""

import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import count
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

import functions
from functions.decider import Forward, Inputs
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.code import HOSTS, decision_sources, digest, this_code
from schemas.cloudevents import CloudEvent
from schemas.code import Code
from schemas.procedures import MODULES, Procedure
from schemas.step import Step

_ROOT: Final = Path(functions.__path__[0])
_LOCK: Final = threading.Lock()
_NUMBERS: Final = count(1)
_MODULES: Final = (".py", ".pyc", ".pyd", ".so")
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 64
"""Characters of a name."""


class VariantError(Exception):
    """A variant cannot be used. The message says why in one sentence."""


class Overlay(NamedTuple):
    """The modules of a variant, before they are loaded."""

    name: str
    path: Path
    files: dict[str, bytes]
    """The texts of modules, by their paths such as ``"functions/gmm/paging.py"``."""


class Variant(NamedTuple):
    """A copy of the packages that decide, with the modules of a variant."""

    code: Code
    overlay: Overlay
    decide: Callable[[Any, int, CloudEvent, Inputs], Step[Any] | Forward | None]
    """Returns the step number N of an aggregate: see `functions.decider.decide`."""
    identify: Callable[[CloudEvent, Mapping[int, HomeNetworkKey]], CloudEvent]
    """See `functions.gmm.identification.decide`."""
    modules: dict[str, ModuleType]
    """The modules of the copy, by their names."""

    @property
    def id(self) -> str:
        """The short id of its code, which steps and leases name."""
        return self.code.id


def load(path: Path) -> Variant:
    """Return the variant in a folder or a wheel.

    Raises:
        VariantError: it cannot be read or imported, or it changes more than decisions.
    """
    return loaded(read(path))


def read(path: Path) -> Overlay:
    """Return the modules of a folder or a wheel.

    Raises:
        VariantError: it cannot be read, has no modules, or changes more than decisions.
    """
    try:
        if path.is_dir():
            files, name = _of_folder(path), path.resolve().name
        elif path.is_file():
            files, name = _of_wheel(path), _name_of_wheel(path)
        else:
            raise VariantError(f"there is no folder or wheel {path}")
    except OSError as err:
        raise VariantError(f"{path} cannot be read: {err.strerror}") from None
    own = {f"functions/{file}" for file in decision_sources()}
    # The package that all share is empty but for its docstring, and wheels have it.
    files.pop("functions/__init__.py", None)
    for file in sorted(files):
        _allow(path, file, own)
    if not files:
        raise VariantError(
            f"{path} has no module of a decision: a variant has the layout of evcore, such as "
            "functions/gmm/registration/accept.py"
        )
    return Overlay(_UNUSUAL.sub("-", name)[:_LONGEST] or "variant", path, files)


def _of_folder(path: Path) -> dict[str, bytes]:
    """Return the modules of a folder. Kubernetes mounts a ConfigMap as links, also to folders."""
    found: dict[str, bytes] = {}
    seen: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = [name for name in folders if name[0] != "." and name != "__pycache__"]
        if (real := os.path.realpath(folder)) in seen:
            folders.clear()  # a link to a folder above
            continue
        seen.add(real)
        for file in (Path(folder, name) for name in names if name[0] != "."):
            if file.suffix in _MODULES:
                found[file.relative_to(path).as_posix()] = file.read_bytes()
    return found


def _of_wheel(path: Path) -> dict[str, bytes]:
    import zipfile  # noqa: PLC0415 - not at the start of a worker

    try:
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if PurePosixPath(name).suffix in _MODULES]
            return {name: wheel.read(name) for name in names if "__pycache__" not in name}
    except zipfile.BadZipFile:
        raise VariantError(f"{path} is neither a folder nor a wheel") from None


def _name_of_wheel(path: Path) -> str:
    """Return the name and the version of a wheel; the name of a kept variant, ``name@id.whl``."""
    name, kept, _ = path.stem.partition("@")
    return name if kept else "-".join(name.split("-")[:2])


def _allow(path: Path, file: str, own: set[str]) -> None:
    """Refuse a module that is not part of decisions.

    Raises:
        VariantError: it is in another package, or is not a Python source.
    """
    folders = {name.split("/")[1] for name in own}
    parts = file.split("/")
    if len(parts) < 2 or parts[0] != "functions" or parts[1] not in folders:
        what = "/".join(parts[:2] if parts[0] == "functions" else parts[:1])
        raise VariantError(
            f"{path} has {file}: a variant changes decisions only; a release that changes {what} "
            "runs from an environment of its own"
        )
    if parts[-1].partition(".")[2] != "py":
        raise VariantError(f"{path} has {file}: the modules of a variant are Python sources")


def loaded(overlay: Overlay) -> Variant:
    """Return the variant of an overlay. It takes some tenths of a second.

    Raises:
        VariantError: it cannot be imported, or one of its modules is not used.
    """
    code = _code(overlay)
    try:
        modules, decider, procedures = _imported(overlay, code)
    except (Exception, SystemExit) as err:  # third-party code may raise anything
        why = f"{type(err).__name__}: {err}"
        raise VariantError(f"{overlay.path} cannot be imported: {why}") from None
    for file in overlay.files:
        if _module_name(file) not in modules:
            raise VariantError(f"{overlay.path} has {file}, which no module imports")
    for procedure, name in MODULES.items():
        if not callable(getattr(modules[name], "decide", None)):
            raise VariantError(f"{overlay.path} has no decide for {procedure}, in {name}")

    def decide(state: Any, seq: int, event: CloudEvent, given: Inputs) -> Any:
        return decider.decide(procedures, state, seq, event, given)

    identify: Any = modules[MODULES[Procedure.IDENTIFICATION]]
    return Variant(code, overlay, decide, identify.decide, modules)


def _code(overlay: Overlay) -> Code:
    own = decision_sources()
    changed = {name.removeprefix("functions/"): text for name, text in overlay.files.items()}
    return replace(this_code(), functions=digest(own | changed), variant=overlay.name)


def _module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(overlay: Overlay, code: Code) -> tuple[dict[str, ModuleType], Any, Any]:
    """Import the packages that decide a second time, and leave `sys.modules` unchanged.

    Returns the modules, the module `functions.decider`, and the procedures, all of them loaded.
    """
    finder = _Finder(overlay)
    with _LOCK:
        held = {name: module for name, module in sys.modules.items() if _is_functions(name)}
        for name in held:
            del sys.modules[name]
        sys.meta_path.insert(0, finder)
        try:
            decider: Any = importlib.import_module("functions.decider")
            dispatch: Any = importlib.import_module("functions.ue.dispatch")
            procedures = dispatch.Procedures(tuple(Procedure), code.id)
            procedures.load()
            modules = {name: one for name, one in sys.modules.items() if _is_functions(name)}
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if _is_functions(name)]:
                del sys.modules[name]
            sys.modules.update(held)
    # The guard of replay searches the modules of decisions here (`functions.runtime.pure`).
    number = next(_NUMBERS)
    sys.modules.update({f"evcore_variant_{number}.{name}": one for name, one in modules.items()})
    return modules, decider, procedures


def _is_functions(name: str) -> bool:
    return name == "functions" or name.startswith("functions.")


class _Finder(MetaPathFinder):
    """Finds the modules of `functions`: those of an overlay first, then this release's."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if not _is_functions(fullname):
            return None
        if fullname == "functions":
            return importlib.util.spec_from_file_location(
                fullname, _ROOT / "__init__.py", submodule_search_locations=[str(_ROOT)]
            )
        if fullname.split(".")[1] in HOSTS:
            raise ModuleNotFoundError(f"a decision imports no {fullname}", name=fullname)
        name = fullname.replace(".", "/")
        for file in (f"{name}/__init__.py", f"{name}.py"):
            if file in self._overlay.files:
                return self._spec(fullname, file)
        return PathFinder.find_spec(fullname, path, target)

    def _spec(self, fullname: str, file: str) -> ModuleSpec | None:
        origin = str(self._overlay.path / file)
        loader = _Loader(origin, self._overlay.files[file])
        if not file.endswith("/__init__.py"):
            return importlib.util.spec_from_file_location(fullname, origin, loader=loader)
        # The other modules of the package are this release's.
        folders = [str(_ROOT.parent / PurePosixPath(file).parent)]
        return importlib.util.spec_from_file_location(
            fullname, origin, loader=loader, submodule_search_locations=folders
        )


class _Loader(InspectLoader):
    """Loads a module from the octets that its digest was made of, and from no cache."""

    def __init__(self, origin: str, text: bytes) -> None:
        self._origin = origin
        self._text = text

    def get_source(self, fullname: str) -> str:
        """See `importlib.abc.InspectLoader`."""
        del fullname
        return importlib.util.decode_source(self._text)

    def get_code(self, fullname: str) -> Any:
        """See `importlib.abc.InspectLoader`."""
        del fullname
        return compile(self._text, self._origin, "exec", dont_inherit=True)


# The command line of a worker


def load_all(options: Iterable[str]) -> dict[Procedure, Variant]:
    """Return the variants of options such as ``PROCEDURE=PATH``.

    Raises:
        VariantError: an option is not valid, or its variant cannot be loaded.
    """
    found: dict[Procedure, Variant] = {}
    of_paths: dict[Path, Variant] = {}
    for option in options:
        name, sign, path = option.partition("=")
        if not sign or name not in tuple(Procedure):
            raise VariantError(f"{option!r} is not PROCEDURE=PATH, of {', '.join(Procedure)}")
        if Path(path) not in of_paths:
            of_paths[Path(path)] = _load_kept(Path(path))
        found[Procedure(name)] = of_paths[Path(path)]
    return found


def _load_kept(path: Path) -> Variant:
    """Return a variant, which must have the id in its name, if there is one: ``name@id.whl``."""
    found = load(path)
    if "@" in path.stem and path.stem.partition("@")[2] != found.id:
        raise VariantError(f"{path} is {found.code} with this evcore: it was made for another one")
    return found


def version_with(version: str, variants: Mapping[str, str]) -> str:
    """Return the version of workers that host variants: ``"0.1.0 paging=5d41402a"``."""
    hosted = [mark_of(procedure, variant) for procedure, variant in sorted(variants.items())]
    return " ".join([version, *hosted])


def mark_of(procedure: str, variant: str) -> str:
    """Return the part of a worker's version for a hosted variant."""
    return f"{procedure}={variant}"
