"""Handovers in the runtime: messages that arrive before their turn, and the associations and slices
of gNBs."""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from functions.decision.env import NotReadyError
from functions.runtime.lookups import KEPT_SLICES, DecisionLookups, WorkerLookups
from functions.runtime.turn import in_order, is_early
from schemas.aggregates import gnb_aggregate, upf_aggregate
from schemas.connection.state import NO_RAN_UE_NGAP_ID, Connection, Place
from schemas.identity import SNssai, Tai, index_ngap
from schemas.mobility.state import Handover
from schemas.network import TrackingArea
from schemas.position import Position
from schemas.ran import BroadcastPlmn, Gnb, SupportedTa, tai_index_prefix
from schemas.step import encode
from schemas.ue.state import Ue
from schemas.upf import Upf
from statestore.contract import Append, IndexKey
from statestore.log import Aggregate, EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.vault import Vault
from tests.eventing.brokers import event
from tests.functions.world import N4_NETWORK, UPF
from tests.runtime.deciders import job

VAULT = Vault(bytes(32))
TAI = Tai("001-01", 1)
AMF_ID, NEW_ID = 0x1234567890, 0x1234567891
BEFORE = Place("gnb-1", "a1", 7, 4, TAI)
HERE = Connection("gnb-2", "a2", 8, AMF_ID, 2, TAI, before=BEFORE)
TARGET = Connection("gnb-3", "a3", NO_RAN_UE_NGAP_ID, NEW_ID, -1, TAI)
SWITCHED = Ue(connection=HERE)
PREPARING = Ue(connection=HERE, handover=Handover("preparing", AMF_ID), target=TARGET)
UPLINK = event(1, partitionkey=index_ngap(AMF_ID), source="/n2/gnb-2/a2", sequence=3)


@pytest.mark.parametrize(
    ("changes", "state", "early"),
    [
        ({}, SWITCHED, False),
        ({"sequence": 4}, SWITCHED, True),
        # A late message of the source gNB does not wait. A PATH SWITCH REQUEST waits for them.
        ({"source": "/n2/gnb-1/a1", "sequence": 9}, SWITCHED, False),
        ({"source": "/n2/gnb-3/a3", "sequence": 0}, SWITCHED, True),
        ({"source": "/n2/gnb-2/a2", "sequence": 0}, SWITCHED, False),
        # A message after a request in flight waits.
        ({"source": "/n2/gnb-3/a3", "sequence": 1}, SWITCHED, True),
        ({"source": "/n2/gnb-3/a3", "sequence": 3}, SWITCHED, True),
        ({"source": "/n2/gnb-3/a3", "sequence": None}, SWITCHED, False),
        (
            {"partitionkey": index_ngap(NEW_ID), "source": "/n2/gnb-3/a3", "sequence": 0},
            PREPARING,
            False,
        ),
        (
            {"partitionkey": index_ngap(NEW_ID), "source": "/n2/gnb-3/a3", "sequence": 1},
            PREPARING,
            True,
        ),
        ({"sequence": 4}, PREPARING, True),
        # HANDOVER NOTIFY waits for the last messages of the source.
        (
            {"partitionkey": index_ngap(NEW_ID), "source": "/n2/gnb-3/a3", "sequence": 0},
            replace(PREPARING, handover=Handover("executing", AMF_ID)),
            True,
        ),
    ],
)
def test_what_has_to_wait(changes: dict[str, Any], state: Ue, early: bool) -> None:
    assert is_early(replace(UPLINK, **changes), state, 0) is early


def test_messages_of_two_gnbs_are_not_mixed() -> None:
    """The last messages of the source gNB stay before the PATH SWITCH REQUEST."""
    old = [
        replace(UPLINK, id=f"o-{n}", source="/n2/gnb-1/a1", sequence=n, position=Position(n, 0, 0))
        for n in (5, 4)
    ]
    new = [replace(UPLINK, id=f"n-{n}", sequence=n, position=Position(9, n, 0)) for n in (1, 0)]
    found = in_order([job(one) for one in (new[0], old[0], new[1], old[1])])
    assert [one.event.id for one in found] == ["o-4", "o-5", "n-0", "n-1"]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    opened = await SqliteEngine.open(tmp_path / "evcore.db")
    yield opened
    await opened.close()


async def answer(
    log: EventLog, worker: WorkerLookups, ask: Callable[[DecisionLookups], object]
) -> tuple[object, int]:
    """Return the answer and the number of lookups."""
    (aggregate,) = await log.load(["ue/imsi-1"])
    lookups, reads = worker.for_decision(aggregate, UPLINK), 0
    while True:
        try:
            return ask(lookups), reads
        except NotReadyError:
            reads += 1
            await lookups.ready()


async def test_who_serves_a_tracking_area(engine: SqliteEngine) -> None:
    keys = [f"{tai_index_prefix(TAI)}{gnb}/{a}" for gnb, a in (("gnb-1", "a1"), ("gnb-12", "a2"))]
    put = tuple(IndexKey("tai", key) for key in keys)
    await engine.append([Append("gnb/gnb-1", 1, "t-1", encode({}), put=put)])
    log = EventLog(engine, VAULT)
    worker = WorkerLookups(log, N4_NETWORK, 1)
    for area, gnb, association in (
        (TAI, "gnb-1", "a1"),
        (TAI, "gnb-12", "a2"),
        (TAI, "gnb-2", ""),
        (Tai("001-01", 2), "gnb-1", ""),
    ):
        found = await answer(log, worker, lambda asked: asked.association(area, gnb))  # noqa: B023 - called at once
        assert found == (association, 1)


async def test_features_of_a_upf(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(engine, VAULT)
    found = await log.load([upf_aggregate(UPF)])
    found[0].state = Upf(UPF, associated=True, reachable=True, features=("FTUP", "EMPU"))

    async def load(names: list[str]) -> list[Aggregate]:
        return found if names[0].startswith("upf/") else await EventLog.load(log, names)

    monkeypatch.setattr(log, "load", load)
    worker = WorkerLookups(log, N4_NETWORK, 1)
    read = await answer(log, worker, lambda asked: asked.upf_features(UPF))
    assert read == (("FTUP", "EMPU"), 1)
    read = await answer(log, worker, lambda asked: asked.upf_features("unknown"))
    assert read == ((), 0)


async def test_slices_of_a_gnb(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read once for an association, and again after ten seconds."""
    log = EventLog(engine, VAULT)
    found = await log.load([gnb_aggregate("gnb-1")])
    one, other = SNssai(1), SNssai(2)
    broadcast = (BroadcastPlmn("001-01", (one,)), BroadcastPlmn("310-410", (other,)))
    found[0].state = Gnb("gnb-1", association="a1", supported=(SupportedTa(1, broadcast),))

    async def load(names: list[str]) -> list[Aggregate]:
        return found if names == ["gnb/gnb-1"] else await EventLog.load(log, names)

    monkeypatch.setattr(log, "load", load)
    worker = WorkerLookups(log, N4_NETWORK, 1)

    async def lacking(plmn: str, tac: int = 1, association: str = "a1") -> tuple[Any, int]:
        area = TrackingArea(tac, plmn, (one, other))
        return await answer(log, worker, lambda d: d.lacking_slices(area, "gnb-1", association))

    assert await lacking("001-01") == ((other,), 1)
    assert await lacking("310-410") == ((one,), 0)
    assert await lacking("001-01", tac=2) == ((), 0), "a tracking area that it does not broadcast"
    assert await lacking("001-01", association="a2") == ((), 1), "its next association"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + KEPT_SLICES + 1)
    assert await lacking("001-01") == ((other,), 1)
