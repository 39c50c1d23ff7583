"""Downlink data at the emulated UPF: delivered, buffered and reported, dropped."""

import asyncio
from typing import Any

import pytest

from loadgen.upf.downlink import Delivered
from loadgen.upf.ies import FTeid
from loadgen.upf.upf import Upf
from loadgen.upf.violation import PfcpKind
from tests.eventing.brokers import until
from tests.loadgen.test_upf_peer import (
    BUFFER,
    FORWARD,
    Cp,
    Ies,
    Tree,
    far_dl,
    far_ul,
    pdr_dl,
    pdr_ul,
    qer,
    session,
    value,
    world,
)

UE = "10.45.0.1"
GNB = FTeid(5, "192.0.2.1")
DROBU: Tree = {"PFCPSMReq-Flags": ["DROBU"]}


async def report(cp: Cp) -> Tree:
    return await asyncio.wait_for(cp.requests.get(), 2)


async def test_data_report_forward_delivers() -> None:
    gone: list[Delivered] = []
    async with world(on_delivered=gone.append) as (upf, cp):
        await cp.establish(session())
        first = upf.downlink_data(UE)
        assert (first.outcome, first.pdr, first.qfi, first.report) == ("buffered", 2, 9, True)
        request = await report(cp)
        assert (request["message"], request["seid"]) == ("SessionReportRequest", 1)
        assert value(request, "Report Type") == ["DLDR"]
        assert value(request, "Downlink Data Report") == [
            {"PDR ID": 2},
            {"Downlink Data Service Information": {"qfi": 9}},
        ]
        second = upf.downlink_data(UE, "internet")
        assert (second.outcome, second.report) == ("buffered", False)
        assert upf.sessions["internet", UE].buffered == 2
        await cp.modify(FORWARD)
        assert [(one.ue, one.target, one.packets) for one in gone] == [(UE, GNB, 2)]
        assert 0 <= gone[0].waited < 5
        third = upf.downlink_data(UE)
        assert (third.outcome, third.target) == ("delivered", GNB)
        assert cp.requests.empty()
        counts = upf.counts
        assert (counts.buffered, counts.delivered, counts.dropped, counts.reports) == (2, 3, 0, 1)
        assert upf.violations == []


async def test_each_time_the_far_changes_there_is_one_report() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        for _ in range(3):
            assert [upf.downlink_data(UE).report for _ in range(3)] == [True, False, False]
            await report(cp)
            await cp.modify(BUFFER)
        assert upf.sessions["internet", UE].buffered == 9
        await cp.modify({"Update QER": [{"QER ID": 1}, {"QFI": 8}]})
        assert upf.downlink_data(UE).report
        assert upf.counts.reports == 4


async def test_no_session() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        assert upf.downlink_data("10.45.0.2").outcome == "no-session"
        assert upf.downlink_data(UE, "ims").outcome == "no-session"
        assert not upf.error_indication("10.45.0.2")


async def test_buffering_without_notifying() -> None:
    async with world() as (upf, cp):
        rules: Ies = [pdr_ul(), pdr_dl(), far_ul(), far_dl(action=["BUFF"]), qer()]
        await cp.establish(session(rules=rules))
        assert not upf.downlink_data(UE).report
        await cp.nothing()
        assert cp.requests.empty()


@pytest.mark.parametrize(
    "rules",
    [
        [pdr_ul(), pdr_dl(), far_ul(), far_dl(action=["DROP"]), qer()],
        [
            *(pdr_ul(), pdr_dl(), far_ul(), far_dl()),
            qer(gate=[{"Gate Status": {"uplink": "OPEN", "downlink": "CLOSED"}}]),
        ],
    ],
)
async def test_dropped(rules: Ies) -> None:
    async with world() as (upf, cp):
        await cp.establish(session(rules=rules))
        assert upf.downlink_data(UE).outcome == "dropped"
        assert upf.counts.dropped == 1


async def test_a_buffer_is_bounded() -> None:
    async with world(buffer=3) as (upf, cp):
        await cp.establish(session())
        found = [upf.downlink_data(UE).outcome for _ in range(5)]
        assert found == ["buffered"] * 3 + ["dropped"] * 2
        assert upf.sessions["internet", UE].buffered == 3


@pytest.mark.parametrize(
    "changes",
    [
        [DROBU],
        [DROBU, FORWARD],
        [{"Update FAR": [{"FAR ID": 2}, {"Apply Action": ["DROP"]}]}],
    ],
)
async def test_what_is_buffered_is_dropped(changes: Ies) -> None:
    gone: list[Delivered] = []
    async with world(on_delivered=gone.append) as (upf, cp):
        await cp.establish(session())
        upf.downlink_data(UE)
        await cp.modify(*changes)
        assert (gone, upf.counts.dropped) == ([], 1)
        assert upf.sessions["internet", UE].buffered == 0


async def test_the_session_goes_with_what_is_buffered() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        upf.downlink_data(UE)
        await cp.delete()
        assert (upf.counts.dropped, upf.downlink_data(UE).outcome) == (1, "no-session")


async def test_the_answer_to_a_report_drops() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        cp.reply = lambda request: answer_to(cp, request, {"PFCPSRRsp-Flags": ["DROBU"]})
        upf.downlink_data(UE)
        await until(lambda: upf.counts.dropped == 1)
        assert upf.downlink_data(UE).report


def answer_to(cp: Cp, request: Tree, *more: Tree, **changed: Any) -> Tree:
    answer = cp.agree(request)
    assert answer is not None
    return answer | {"ies": [*answer["ies"], *more]} | changed


async def test_a_report_that_is_not_answered_is_made_again_with_the_next_packet() -> None:
    async with world(t1=0.02, n1=2) as (upf, cp):
        await cp.establish(session())
        cp.reply = lambda _: None
        upf.downlink_data(UE)
        await until(lambda: upf.counts.unanswered == 1)
        assert upf.downlink_data(UE).report


@pytest.mark.parametrize(
    ("seid", "cause", "violations"),
    [
        (0, "Session context not found", []),
        (99, "Request accepted", [PfcpKind.SEID]),
    ],
)
async def test_wrong_answers_to_a_report(seid: int, cause: str, violations: list[Any]) -> None:
    events: list[str] = []
    async with world(on_event=lambda name, _: events.append(name)) as (upf, cp):
        await cp.establish(session())
        cp.reply = lambda request: answer_to(cp, request, seid=seid, ies=[{"Cause": cause}])
        upf.downlink_data(UE)
        await until(lambda: len(upf.endpoint.requests) == 0)
        assert [one.kind for one in upf.violations] == violations
        assert ("report-refused" in events) == (seid == 0)


async def test_an_answer_of_another_kind_is_a_violation() -> None:
    async with world(t1=0.02, n1=2) as (upf, cp):
        await cp.establish(session())
        cp.reply = lambda request: {
            "message": "HeartbeatResponse",
            "sequence": request["sequence"],
            "ies": [{"Recovery Time Stamp": 1}],
        }
        upf.downlink_data(UE)
        await until(lambda: upf.counts.unanswered == 1)
        assert {one.kind for one in upf.violations} == {PfcpKind.UNEXPECTED}


async def test_an_error_indication_is_reported() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        assert not upf.error_indication(UE)
        await cp.modify(FORWARD)
        assert upf.error_indication(UE)
        request = await report(cp)
        assert value(request, "Report Type") == ["ERIR"]
        assert value(request, "Error Indication Report") == [
            {"F-TEID": {"teid": 5, "ipv4": "192.0.2.1"}}
        ]


async def test_the_rule_of_the_lowest_precedence_value_matches() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        more = pdr_dl(id=4, rest=[{"FAR ID": 3}, {"QER ID": 1}])
        more["Create PDR"][1] = {"Precedence": 1}
        await cp.modify(more, far_dl(id=3, action=["DROP"]))
        found = upf.downlink_data(UE)
        assert (found.outcome, found.pdr) == ("dropped", 4)


async def test_reports_go_where_they_are_configured_to() -> None:
    other = Cp()
    await other.open()
    async with world(cp_port=other.address[1]) as (upf, cp):
        await cp.establish(session())
        upf.downlink_data(UE)
        assert (await report(other))["seid"] == 1
    assert isinstance(upf, Upf)
    assert other.transport is not None
    other.transport.close()
