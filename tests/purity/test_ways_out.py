"""Procedures that decide right, and depend on more than their arguments: each is found.

Each procedure does one forbidden thing, ignores the result, and then decides as evcore does. So it
differs in nothing, and only the guard of replay can find it.
"""

import asyncio
import gc
import os
import random
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

import wire
from functions.runtime import variants
from functions.runtime.pure import ImpureError, pure
from functions.runtime.replay import Redecided
from functions.runtime.variants import Variant
from schemas.procedures import Procedure
from tests.histories import history, record
from tests.histories.again import redecided
from tests.variants import folder, wrapped

HISTORY = "deregistration"
DEREGISTRATION = "gmm/deregistration/procedure"
DECIDE = """
def before(d, received):
    way_out()
"""


class WayOut(NamedTuple):
    """The text of `way_out`, and the call that the error names."""

    text: str
    named: str


WAYS_OUT = {
    "a subprocess": WayOut(
        """
        import subprocess
        def way_out(): subprocess.run(["/bin/true"])
        """,
        "subprocess.Popen(/bin/true)",
    ),
    "a shell": WayOut(
        """
        import os
        def way_out(): os.system("true")
        """,
        "os.system()",
    ),
    "a file": WayOut(
        """
        from pathlib import Path
        def way_out(): Path("/etc/hostname").read_text()
        """,
        "open(/etc/hostname)",
    ),
    "whether a file exists": WayOut(
        """
        from pathlib import Path
        def way_out(): Path("/etc/hostname").exists()
        """,
        "os.stat()",
    ),
    "a file, with the refusal caught": WayOut(
        """
        def way_out():
            try:
                open("/etc/hostname")
            except Exception:
                pass
        """,
        "open(/etc/hostname)",
    ),
    "a socket": WayOut(
        """
        import socket
        def way_out(): socket.socket().close()
        """,
        "socket.__new__()",
    ),
    "a thread": WayOut(
        """
        from threading import Thread
        def way_out(): Thread(target=len, args=("",)).start()
        """,
        "thread",
    ),
    "an import": WayOut(
        """
        def way_out(): import this
        """,
        "import(this)",
    ),
    "importlib": WayOut(
        """
        import importlib
        def way_out(): importlib.import_module("json")
        """,
        "importlib.import_module()",
    ),
    "zoneinfo": WayOut(
        """
        from zoneinfo import ZoneInfo
        def way_out(): ZoneInfo("Europe/Berlin")
        """,
        "ZoneInfo",
    ),
    "time.time": WayOut(
        """
        import time
        def way_out(): time.time()
        """,
        "time.time()",
    ),
    "time.time by its own name": WayOut(
        """
        from time import time as now
        def way_out(): now()
        """,
        "time.time()",
    ),
    "time.monotonic": WayOut(
        """
        import time
        def way_out(): time.monotonic_ns()
        """,
        "time.monotonic_ns()",
    ),
    "datetime.now": WayOut(
        """
        from datetime import UTC, datetime
        def way_out(): datetime.now(UTC)
        """,
        "datetime.now()",
    ),
    "random": WayOut(
        """
        import random
        def way_out(): random.random()
        """,
        "random.random()",
    ),
    "a generator of random numbers": WayOut(
        """
        import random
        def way_out(): random.Random()
        """,
        "Random",
    ),
    "os.urandom": WayOut(
        """
        import os
        def way_out(): os.urandom(16)
        """,
        "os.urandom()",
    ),
    "secrets": WayOut(
        """
        import secrets
        def way_out(): secrets.token_bytes(16)
        """,
        "secrets.token_bytes()",
    ),
    "uuid": WayOut(
        """
        import uuid
        def way_out(): uuid.uuid4()
        """,
        "uuid.uuid4()",
    ),
    "the environment": WayOut(
        """
        from os import environ
        def way_out(): environ.get("HOME")
        """,
        "os.environ",
    ),
    "the address of an object": WayOut(
        """
        def way_out(): id([])
        """,
        "builtins.id()",
    ),
    "entropy through wire": WayOut(
        """
        import wire
        def way_out(): wire.suci_conceal("001", "01", "0000000001")
        """,
        "wire.suci_conceal()",
    ),
    "entropy through an endpoint of wire": WayOut(
        """
        import wire
        def way_out(): wire.SctpEndpoint(38412)
        """,
        "wire.SctpEndpoint()",
    ),
}


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[str], Variant]:
    """Load a variant of the deregistration, as `evcore replay --with` does."""

    def load(text: str) -> Variant:
        module = wrapped(DEREGISTRATION, textwrap.dedent(text) + DECIDE)
        return variants.load(folder(tmp_path, {DEREGISTRATION: module}))

    return load


async def replayed(variant: Variant) -> list[Redecided]:
    """Replay a history, and return the steps that the procedure decides."""
    read = history.read(record.folder() / f"{HISTORY}{history.SUFFIX}")
    found = await redecided(read, variant.decide)
    others = [again for again in found if again.recorded.procedure != Procedure.DEREGISTRATION]
    assert all(again.same for again in others)
    return [again for again in found if again not in others]


@pytest.mark.parametrize("way_out", WAYS_OUT.values(), ids=WAYS_OUT)
async def test_each_way_out_is_found(way_out: WayOut, loaded: Callable[[str], Variant]) -> None:
    found = await replayed(loaded(way_out.text))
    assert found
    for again in found:
        assert not again.same
        assert again.error.startswith("ImpureError: a decision must not call ")
        assert way_out.named in again.error


async def test_a_procedure_that_takes_no_way_out_is_the_same(
    loaded: Callable[[str], Variant],
) -> None:
    found = await replayed(loaded("def way_out(): pass"))
    assert found
    assert all(again.same for again in found)


async def test_entropy_that_a_procedure_holds_is_refused_by_wire(
    loaded: Callable[[str], Variant],
) -> None:
    """The guard replaces names of modules. Native code refuses the rest."""
    text = """
    import wire
    KEY = wire.suci_public_key("A", bytes(range(32)))
    class Held:
        conceal = staticmethod(wire.suci_conceal)
    def way_out(): Held.conceal("001", "01", "1", profile="A", public_key=KEY, key_id=1)
    """
    found = await replayed(loaded(text))
    assert found
    assert all(again.error.startswith("WireError: suci_conceal draws entropy") for again in found)


# The guard itself


def test_the_error_names_a_replacement() -> None:
    with pytest.raises(ImpureError) as clock, pure():
        time.time()
    assert str(clock.value) == "a decision must not call time.time(): use Env.now"
    with pytest.raises(ImpureError) as randomness, pure():
        os.urandom(1)
    assert str(randomness.value) == "a decision must not call os.urandom(): use Env.random"


def fail() -> None:
    raise ZeroDivisionError


def test_all_is_as_before_after_a_decision() -> None:
    before = (time.time, os.urandom, random.random, random.Random, os.environ, wire.suci_conceal)
    with pytest.raises(ZeroDivisionError), pure():
        fail()
    after = (time.time, os.urandom, random.random, random.Random, os.environ, wire.suci_conceal)
    assert all(a is b for a, b in zip(before, after, strict=True))
    assert gc.isenabled()
    assert not wire.forbid_entropy(False)
    Path("/etc/hostname").exists()


def test_a_class_with_a_clock_is_the_same_class_meanwhile() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with pure():
        assert isinstance(moment, datetime)
        assert datetime.fromtimestamp(0, UTC) == datetime(1970, 1, 1, tzinfo=UTC)


def test_a_name_that_was_replaced_before_stays_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pure():
        pass
    monkeypatch.setattr(time, "time", lambda: 1.0)
    with pure():
        pass
    assert time.time() == 1.0


def test_another_thread_may_do_anything() -> None:
    deciding, done = threading.Event(), threading.Event()
    found: list[object] = []

    def work() -> None:
        deciding.wait()
        found.extend((time.time(), os.urandom(4), Path("/").exists(), os.environ.get("PATH")))
        sys.modules.pop("this", None)
        found.append(open("/dev/null").close())  # noqa: PTH123 - one of the ways
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with pure():
        deciding.set()
        assert done.wait(10)
    thread.join()
    assert len(found) == 5


def test_two_threads_decide() -> None:
    barrier = threading.Barrier(2)
    caught: list[str] = []

    def decide() -> None:
        try:
            with pure():
                barrier.wait()
                time.time()
        except ImpureError as err:
            caught.append(str(err))

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caught) == 2
    assert time.time() > 1


def test_nothing_is_guarded_outside_of_decisions() -> None:
    with pytest.raises(ImpureError), pure():
        open("/etc/hostname")  # noqa: PTH123, SIM115 - one of the ways
    asyncio.run(asyncio.sleep(0))
    assert datetime.now(UTC) > datetime(2026, 1, 1, tzinfo=UTC)
