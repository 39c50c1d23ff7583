"""What foreign UPFs do, as switches of the emulated UPF."""

import asyncio
from typing import Any

import wire
from loadgen.upf.config import Misbehaviour
from loadgen.upf.violation import PfcpKind
from tests.eventing.brokers import until
from tests.loadgen.test_upf_peer import (
    ACCEPTED,
    CP,
    FORWARD,
    OCTETS,
    Cp,
    Tree,
    cause_of,
    session,
    value,
    world,
)

UNASSOCIATED = "No established PFCP Association"


def send(cp: Cp, message: str, **header: Any) -> None:
    """Send a request that is not answered."""
    ies = [{"Recovery Time Stamp": cp.recovery}] if message == "HeartbeatRequest" else []
    tree: Tree = {"message": message, "sequence": cp.next(), "ies": ies, **header}
    cp.send(wire.pfcp_encode(tree))


async def test_it_forgets_the_association() -> None:
    """Without a restart: its Recovery Time Stamp stays, its sessions are deleted."""
    events: list[str] = []
    async with world(on_event=lambda name, _: events.append(name)) as (upf, cp):
        await cp.establish(session())
        before = upf.recovery
        upf.forget()
        assert (upf.associations, upf.session_count) == ({}, 0)
        assert "forgotten" in events
        assert cause_of(await cp.establish(session(seid=2))) == UNASSOCIATED
        assert value(await cp.associate(), "Recovery Time Stamp") == before
        assert cause_of(await cp.establish(session())) == ACCEPTED


async def test_it_ignores_strangers_and_requests_without_association() -> None:
    quirks = frozenset({"ignores-strangers", "ignores-unassociated"})
    async with world(quirks=quirks) as (upf, cp):
        await cp.nothing()  # it answers the heartbeat of its CP function
        upf.forget()
        send(cp, "HeartbeatRequest")
        send(cp, "SessionModificationRequest", seid=9)
        cp.send(OCTETS["session-establishment-request"])
        answer = await cp.associate()
        assert answer["message"] == "AssociationSetupResponse", "nothing else was answered"
        assert cp.answers.empty()
        await cp.nothing()


async def test_it_keeps_its_sessions_and_refuses_to_restore_them() -> None:
    async with world(quirks=frozenset({"keeps-sessions"})) as (upf, cp):
        await cp.establish(session())
        (kept,) = upf.table.by_seid
        upf.forget()
        assert cause_of(await cp.modify(FORWARD)) == UNASSOCIATED
        await cp.associate()
        await cp.associate()
        assert list(upf.table.by_seid) == [kept]
        again = session()
        restored = [*again, {"PFCPSEReq-Flags": ["RESTI"]}]
        refused = await cp.establish(restored)
        assert cause_of(refused) == (
            "PFCP session restoration failure due to requested resource not available"
        )
        assert upf.violations == []
        assert cause_of(await cp.delete()) == ACCEPTED
        assert cause_of(await cp.establish(again)) == ACCEPTED
        assert upf.session_count == 1


async def test_it_gives_a_cp_function_up_that_does_not_answer() -> None:
    events: list[str] = []
    more: dict[str, Any] = {"heartbeat": 0.05, "t1": 0.02, "n1": 2}
    quirks = frozenset({"gives-up", "keeps-sessions"})
    on_event: Any = lambda name, _: events.append(name)  # noqa: E731
    async with world(quirks=quirks, on_event=on_event, **more) as (upf, cp):
        await cp.establish(session())
        cp.reply = lambda _: None
        await until(lambda: "forgotten" in events)
        assert (upf.associations, upf.session_count) == ({}, 1)
        assert upf.downlink_data("10.45.0.1").outcome == "buffered", "it has no CP function to tell"
        cp.reply = cp.agree
        await cp.nothing()


async def test_it_leaves_the_node_id_out() -> None:
    async with world(associated=False) as (upf, cp):
        wrong = Misbehaviour(kind="no-node-id", message="AssociationSetupRequest")
        upf.misbehave(wrong)
        answer = await cp.associate()
        assert (value(answer, "Node ID"), cause_of(answer)) == (None, ACCEPTED)
        upf.misbehave(Misbehaviour(kind="no-node-id"))
        answer = await cp.establish(session())
        assert (value(answer, "Node ID"), cause_of(answer)) == (None, ACCEPTED)
        assert cp.faults == ["Node ID: it is missing"] * 2
        cp.faults.clear()


async def test_its_requests_come_from_another_address() -> None:
    """Answers come from the address of the request, as behind NAT."""
    senders: dict[str, str] = {}
    async with world(source="127.0.0.9") as (upf, cp):
        received = cp.datagram_received

        def note(data: bytes, addr: tuple[Any, ...]) -> None:
            senders[wire.pfcp_peek(data).message] = addr[0]
            received(data, addr)

        cp.datagram_received = note
        await cp.establish(session())
        upf.downlink_data("10.45.0.1")
        report = await asyncio.wait_for(cp.requests.get(), 2)
        assert report["message"] == "SessionReportRequest"
        assert senders == {
            "SessionEstablishmentResponse": CP,
            "SessionReportRequest": "127.0.0.9",
        }


async def test_a_request_for_a_session_before_the_restart_is_a_violation() -> None:
    """Its SEID may be that of another session, once the CP function has set up an association."""
    async with world() as (upf, cp):
        await cp.establish(session())
        upf.restart()
        assert cause_of(await cp.modify(FORWARD)) == UNASSOCIATED
        assert upf.violations == [], "the CP function cannot know it yet"
        await cp.associate()
        assert cause_of(await cp.modify(FORWARD)) == "Session context not found"
        assert [one.kind for one in upf.violations] == [PfcpKind.FORMER_SESSION]
