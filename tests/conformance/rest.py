"""The state at rest: all timers have expired, and the UE has registered and deregistered again."""

from collections.abc import Iterator
from typing import Final

from schemas.aggregates import UNIDENTIFIED
from schemas.identity import index_ngap
from schemas.stranger import STRANGER
from schemas.ue.state import Ue, connections
from tests.conformance.answers import answers
from tests.conformance.bench import NODES, SUPI, Bench
from tests.conformance.messages import deregistration
from tests.conformance.messages import registration as request

QUIET: Final = frozenset({"mobile-reachable", "implicit-deregistration"})
"""Timers of a UE at rest."""

EXPIRIES: Final = 120
"""Most wake-ups until a UE must be at rest."""

ANSWERS: Final = 16
"""Most answers of a registration."""

LEFT: Final = ("ngap", "gnb", "seid", "upf", "address")
"""Index entries that a UE removes at its deregistration."""


_REGISTER: Final = request("initial-registration", "suci")
_SWITCH_OFF: Final = deregistration(switch_off=True)


def come_to_rest(bench: Bench) -> None:
    """Advance the time until no timer runs. The UE and the gNBs send nothing.

    NGAP has no timer for the answers of a gNB, so a session or a context may stay pending.
    """
    core = bench.core
    bench.silent = False
    bench.serve()
    for _ in range(EXPIRIES):
        due = [core.wakes[name][0] for name, ue in _ues(bench) if not ue.timers.keys() <= QUIET]
        if not due:
            break
        core.advance(max(0, min(due) - core.now) / 1000)
        bench.serve()
    for name, ue in _ues(bench):
        assert_rest(name, ue)


def _ues(bench: Bench) -> Iterator[tuple[str, Ue]]:
    for name, state in tuple(bench.core.states.items()):
        if isinstance(state, Ue):
            yield name, state


def assert_rest(name: str, ue: Ue) -> None:
    """Assert that there is no timer, no procedure and no unproved connection."""
    assert ue.timers.keys() <= QUIET, (name, ue.timers)
    assert not ue.stale, (name, ue.stale)
    assert not ue.parked, (name, ue.parked)
    assert ue.target is None, (name, ue.target)
    assert ue.handover is None, (name, ue.handover)
    assert ue.indication is None, (name, ue.indication)
    assert ue.paging is None or ue.paging.failed, (name, ue.paging)
    if name.startswith(UNIDENTIFIED):
        assert ue.connection is None or ue.successor, (name, ue.connection)
        return
    for connection in connections(ue):
        assert ue.registered, (name, connection)
        assert connection.secured, (name, connection)
        assert not connection.releasing, (name, connection)
    assert ue.registration is None, (name, ue.registration)
    assert ue.challenge is None, (name, ue.challenge)
    assert ue.pending is None, (name, ue.pending)
    assert not ue.deregistering, name
    for session in ue.sessions:
        assert ue.registered, (name, session)
        waits = session.stage == "establishing" and session.user_plane in ("requested", "pending")
        assert session.stage == "active" or waits, (name, session)
        assert session.n4.sent is None, (name, session)


def again(bench: Bench) -> None:
    """Register and deregister the UE, and assert that no state is left.

    If the gNB has lost its association, it sets the interface up first.
    """
    core = bench.core
    bench.node = NODES[0]
    subscriber = core.subscribers[SUPI]
    if core.states[f"gnb/{bench.node.gnb}"].association != bench.node.association:
        bench.set_up(bench.node)
    core.downlink.clear()
    bench.send(bench.nas(_REGISTER(bench), "plain", initial=True))
    for _ in range(ANSWERS):
        place = bench.place()
        assert place is not None, "the connection of a registration was released"
        found = answers(bench)
        if not found:
            break
        bench.send(found[0].make())
    ue = bench.ue
    assert ue.registered, (ue, subscriber)
    assert ue.registration is None, ue
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == bench.ran_id
    assert ue.timers.keys() <= QUIET, ue.timers
    bench.send(bench.nas(_SWITCH_OFF(bench)))
    for answer in answers(bench, ue=False):
        bench.send(answer.make())
    come_to_rest(bench)
    ue = bench.ue
    assert not ue.registered
    assert ue.sessions == ()
    assert ue.connection is None
    remembered = {("ngap", index_ngap(number)) for _, one in _ues(bench) for number in one.released}
    owners = [one for one in core.owners if one not in remembered and one[0] != STRANGER]
    left = [entry for entry in owners if entry[0] in LEFT]
    assert not left, left
    of_nodes = [e for e in owners if e[0] == "tai" or "/upf/" in e[1] or "/gnb/" in e[1]]
    assert len(owners) - len(of_nodes) <= 2, owners
    assert not bench.upf.sessions, bench.upf.sessions
    assert not core.pfcp
