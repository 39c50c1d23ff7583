"""The guard around a decision that is decided again: it refuses all inputs but the arguments.

Replay uses the guard and new decisions do not, so a worker pays nothing for it. The guard covers
one thread: other threads may read clocks and files while a decision runs. The limits of the guard
are in docs/decisions/0018-what-a-decision-may-reach.md.
"""

import datetime as dt
import gc
import importlib
import inspect
import os
import random
import secrets
import sys
import threading
import time
import uuid
import zoneinfo
from collections.abc import Callable, Generator, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, Final, NamedTuple

import wire

_CLOCK: Final = "use Env.now"
_RANDOMNESS: Final = "use Env.random"
_SURROUNDINGS: Final = "put the value into the configuration, or let the runtime look it up"
_IMPORT: Final = "import modules at the top of a module, if pyproject.toml allows them"
_EFFECT: Final = "return an output, and let the runtime act on it"

_ADVICE: Final = {
    "import": _IMPORT,
    "compile": _IMPORT,
    "exec": _IMPORT,
    "open": _SURROUNDINGS,
    "os": _SURROUNDINGS,
    "glob": _SURROUNDINGS,
    "pathlib": _SURROUNDINGS,
    "builtins": "its result differs from run to run",
}
"""The advice for an audit event, by the part of its name before the first dot."""

_HARMLESS: Final = frozenset(
    {
        "code.__new__",
        "function.__new__",
        "object.__delattr__",
        "object.__getattr__",
        "object.__setattr__",
        "sys._getframe",
        "sys._getframemodulename",
        "sys.excepthook",
        "sys.unraisablehook",
    }
)
"""Audit events of code that reads and changes nothing outside this process. The guard refuses every
other event: a new Python may add some."""

_PURE_OS: Final = frozenset({"fspath", "strerror"})
"""The functions of `os` that do not ask the operating system."""

_LONGEST: Final = 80
"""Characters of an argument that an error quotes."""


class ImpureError(Exception):
    """A decision depended on more than its arguments. The text names the call and a replacement."""


class _Tried(threading.local):
    """The attempts of the decision that runs on this thread; None while no decision runs."""

    texts: list[str] | None = None


_tried: Final = _Tried()


def _refusal(call: str, advice: str) -> ImpureError:
    text = f"a decision must not call {call}: {advice}"
    if _tried.texts is not None:
        _tried.texts.append(text)
    return ImpureError(text)


# Calls that raise an audit event: files, sockets, processes, imports


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _tried.texts is None or event in _HARMLESS:
        return
    first = args[0] if args and isinstance(args[0], str | bytes) else ""
    raise _refusal(
        f"{event}({str(first)[:_LONGEST]})", _ADVICE.get(event.partition(".")[0], _EFFECT)
    )


@cache
def _listen() -> None:
    """Add the audit hook, which no one can remove: once, and in a process that replays only."""
    sys.addaudithook(_audit)


# Calls that raise no audit event: clocks, randomness, the environment, most of `os`


def _guarded(name: str, original: Callable[..., Any], advice: str) -> Callable[..., Any]:
    """Return a function that raises while this thread decides, and else calls the original."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if _tried.texts is not None:
            raise _refusal(f"{name}()", advice)
        return original(*args, **kwargs)

    return call


def _guarded_class(name: str, original: type, methods: tuple[str, ...], advice: str) -> type:
    """Return a subclass with some guarded methods. Objects of the original are objects of it."""

    class Meta(type(original)):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original)

    guarded: dict[str, Any] = {
        method: staticmethod(_guarded(f"{name}.{method}", getattr(original, method), advice))
        for method in methods
    }
    return Meta(original.__name__, (original,), guarded)


class _Environment(MutableMapping[Any, Any]):
    """`os.environ`, which raises while this thread decides."""

    def __init__(self, original: MutableMapping[Any, Any]) -> None:
        self._original = original

    def _checked(self) -> MutableMapping[Any, Any]:
        if _tried.texts is not None:
            raise _refusal("os.environ", _SURROUNDINGS)
        return self._original

    def __getitem__(self, key: Any) -> Any:
        return self._checked()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._checked()[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._checked()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._checked())

    def __len__(self) -> int:
        return len(self._checked())


class _Names(NamedTuple):
    """Names of one module, and their values while a decision runs."""

    namespace: dict[str, Any]
    guarded: dict[str, Any]

    def replace(self) -> dict[str, Any]:
        """Replace the names, and return their values from before."""
        before = {name: self.namespace[name] for name in self.guarded}
        self.namespace.update(self.guarded)
        return before


def _functions(module: ModuleType, names: Iterable[str], advice: str) -> _Names:
    here = vars(module)
    guarded = {n: _guarded(f"{module.__name__}.{n}", here[n], advice) for n in names if n in here}
    return _Names(here, guarded)


def _class(module: ModuleType, name: str, methods: tuple[str, ...], advice: str) -> _Names:
    here = vars(module)
    return _Names(here, {name: _guarded_class(name, here[name], methods, advice)})


def _builtins(module: ModuleType) -> list[str]:
    names = vars(module).items()
    return [name for name, value in names if inspect.isbuiltin(value) and name[0] != "_"]


@cache
def _sources() -> list[_Names]:
    """Return the guarded names of the modules that read clocks or surroundings or draw entropy."""
    drawing = ("getrandom", "urandom")
    asking = set(_builtins(os)) - _PURE_OS - set(drawing)
    numbers = [name for name in random.__all__ if inspect.isroutine(vars(random)[name])]
    system = _functions(os, drawing, _RANDOMNESS)
    return [
        _functions(time, _builtins(time), _CLOCK),
        _class(dt, "datetime", ("now", "today", "utcnow"), _CLOCK),
        _class(dt, "date", ("today",), _CLOCK),
        system,
        _Names(random.__dict__, {"_urandom": system.guarded["urandom"]}),
        _functions(random, numbers, _RANDOMNESS),
        _class(random, "Random", ("__new__",), _RANDOMNESS),
        _functions(secrets, ("randbits", "token_bytes", "token_hex", "token_urlsafe"), _RANDOMNESS),
        _functions(uuid, ("getnode", "uuid1", "uuid4", "uuid6", "uuid7"), _RANDOMNESS),
        _functions(os, asking, _SURROUNDINGS),
        _Names(os.__dict__, {"environ": _Environment(os.environ)}),
        _class(zoneinfo, "ZoneInfo", ("__new__",), _SURROUNDINGS),
        _functions(importlib, ("import_module",), _IMPORT),
        _functions(threading, ("_start_new_thread", "_start_joinable_thread"), _EFFECT),
        _functions(wire, ("SctpEndpoint", "forbid_entropy", "suci_conceal"), _RANDOMNESS),
    ]


@lru_cache(maxsize=1)
def _guarded_names(modules: int) -> list[_Names]:
    """Return the sources, and the names by which modules have imported from them.

    `modules` is the number of loaded modules: the result is kept until it changes.
    """
    del modules
    found = list(_sources())
    guards = {id(names.namespace[n]): g for names in found for n, g in names.guarded.items()}
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name == __name__ or name.partition(".")[0] in {*sys.stdlib_module_names, "wire"}:
            continue
        held = {n: guards[id(v)] for n, v in vars(module).items() if id(v) in guards}
        if held:
            found.append(_Names(vars(module), held))
    return found


class _Switch:
    """Replaces the names while at least one thread decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deciding = 0
        self._before: list[tuple[_Names, dict[str, Any]]] = []

    def on(self) -> None:
        """Replace the names, unless another thread has."""
        with self._lock:
            self._deciding += 1
            if self._deciding == 1:
                found = _guarded_names(len(sys.modules))
                self._before = [(names, names.replace()) for names in found]

    def off(self) -> None:
        """Restore the names, unless another thread decides."""
        with self._lock:
            self._deciding -= 1
            if not self._deciding:
                for names, before in self._before:
                    names.namespace.update(before)


_switch: Final = _Switch()


@contextmanager
def pure() -> Generator[None]:
    """Refuse every input but the arguments to the code in this context.

    The garbage collector does not run meanwhile: it would run finalizers of unrelated objects.

    Raises:
        ImpureError: the code tried to get one, even if it caught the refusal.
    """
    if _tried.texts is not None:
        yield
        return
    _listen()
    collects = gc.isenabled()
    gc.disable()
    _switch.on()
    entropy = wire.forbid_entropy(True)
    tried: list[str] = []
    _tried.texts = tried
    try:
        yield
    except ImpureError:
        raise
    except Exception as err:
        if tried:
            raise ImpureError(tried[0]) from err
        raise
    finally:
        _tried.texts = None
        wire.forbid_entropy(entropy)
        _switch.off()
        if collects:
            gc.enable()
    if tried:
        raise ImpureError(tried[0])
