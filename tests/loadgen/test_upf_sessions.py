"""Sessions of the emulated UPF: SEIDs, F-TEIDs, addresses, repetitions and restorations."""

from random import Random
from typing import Any

import pytest

from loadgen.upf.ies import FTeid
from loadgen.upf.sessions import PfcpSessions
from loadgen.upf.violation import PfcpKind
from tests.loadgen.test_upf_peer import (
    ACCEPTED,
    BUFFER,
    FORWARD,
    Ies,
    Tree,
    cause_of,
    far_dl,
    far_ul,
    pdr_dl,
    pdr_ul,
    qer,
    session,
    value,
    world,
)

RESTI: Tree = {"PFCPSEReq-Flags": ["RESTI"]}


def created(answer: Tree) -> dict[int, Tree]:
    groups = [ie["Created PDR"] for ie in answer["ies"] if "Created PDR" in ie]
    return {group[0]["PDR ID"]: group[1]["F-TEID"] for group in groups}


async def test_a_session_from_establishment_to_deletion() -> None:
    events: list[str] = []
    async with world(on_event=lambda name, _: events.append(name)) as (upf, cp):
        answer = await cp.establish(session())
        assert answer["seid"] == 1
        assert value(answer, "Node ID") == {"fqdn": "upf1.example.org"}
        assert value(answer, "F-SEID")["ipv4"] == "127.0.0.1"
        teid = created(answer)[1]["teid"]
        view = upf.sessions["internet", "10.45.0.1"]
        assert view.uplink == FTeid(teid, "127.0.0.1")
        assert (view.cp_seid, view.up_seid, view.downlink) == (1, cp.up_seid, None)
        assert view.who == "imsi-001010000000001"
        assert upf.rules_left == view.rules == 5

        answer = await cp.modify(FORWARD)
        assert (cause_of(answer), answer["seid"], created(answer)) == (ACCEPTED, 1, {})
        assert upf.sessions["internet", "10.45.0.1"].downlink == FTeid(5, "192.0.2.1")
        await cp.modify(BUFFER)
        assert upf.sessions["internet", "10.45.0.1"].downlink is None

        answer = await cp.delete()
        assert (cause_of(answer), answer["seid"]) == (ACCEPTED, 1)
        assert (upf.sessions, upf.rules_left, upf.violations) == ({}, 0, [])
        answer = await cp.delete()
        assert (cause_of(answer), answer["seid"]) == ("Session context not found", 0)
        assert upf.counts.causes == {"SessionDeletionResponse 65": 1}
        assert events == ["associated", "established", "modified", "modified", "deleted"]


async def test_no_session_without_an_association() -> None:
    async with world(associated=False) as (upf, cp):
        answer = await cp.establish(session())
        assert (cause_of(answer), answer["seid"]) == ("No established PFCP Association", 1)
        assert (upf.session_count, upf.violations) == (0, [])


async def test_an_establishment_has_no_seid() -> None:
    async with world() as (upf, cp):
        answer = await cp.ask("SessionEstablishmentRequest", session(), 7)
        assert cause_of(answer) == ACCEPTED
        assert [one.kind for one in upf.violations] == [PfcpKind.SEID]


async def test_the_same_content_again_is_the_same_session() -> None:
    async with world() as (upf, cp):
        first = await cp.establish(session())
        await cp.modify(FORWARD)
        again = await cp.establish(session())
        assert again["sequence"] != first["sequence"]
        assert again["ies"] == first["ies"]
        assert (upf.session_count, upf.violations) == (1, [])
        assert upf.sessions["internet", "10.45.0.1"].downlink is not None


async def test_other_content_with_the_same_f_seid() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        answer = await cp.establish(session("10.45.0.2"))
        assert cause_of(answer) == "Rule creation/modification Failure"
        assert [one.kind for one in upf.violations] == [PfcpKind.F_SEID_IN_USE]
        assert [ue for _, ue in upf.sessions] == ["10.45.0.1"]


async def test_a_restoration_replaces_the_session_and_keeps_its_f_teid() -> None:
    async with world() as (upf, cp):
        f_teid = created(await cp.establish(session()))[1]
        rules: Ies = [
            pdr_ul(pdi=[{"Source Interface": "Access"}, {"F-TEID": f_teid}]),
            *(pdr_dl(), far_ul(), far_dl(), qer()),
        ]
        for restart in (False, True):
            if restart:
                upf.restart()
                await cp.associate()
            answer = await cp.establish(session("10.45.0.1", 1, rules, RESTI))
            assert (cause_of(answer), created(answer)) == (ACCEPTED, {})
            assert (upf.session_count, upf.rules_left, upf.violations) == (1, 5, [])
            view = upf.sessions["internet", "10.45.0.1"]
            assert view.uplink == FTeid(f_teid["teid"], "127.0.0.1")
        await cp.delete()
        assert upf.rules_left == 0


@pytest.mark.parametrize("given", [{}, {"ipv4": "192.0.2.77"}])
async def test_a_restoration_of_an_f_teid_that_cannot_be_had(given: Tree) -> None:
    async with world() as (upf, cp):
        f_teid = created(await cp.establish(session()))[1] | given
        rules: Ies = [
            pdr_ul(pdi=[{"Source Interface": "Access"}, {"F-TEID": f_teid}]),
            *(pdr_dl("10.45.0.2"), far_ul(), far_dl(), qer()),
        ]
        if given:
            await cp.delete()
        answer = await cp.establish(session("10.45.0.2", 2, rules, RESTI))
        assert cause_of(answer).startswith("PFCP session restoration failure")
        assert [one.kind for one in upf.violations] == [PfcpKind.F_TEID_IN_USE]


async def test_an_address_is_given_once_in_a_network_instance() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        answer = await cp.establish(session("10.45.0.1", 2))
        assert cause_of(answer) == "Rule creation/modification Failure"
        assert value(answer, "Failed Rule ID") == {"rule": "PDR", "id": 2}
        assert [one.kind for one in upf.violations] == [PfcpKind.UE_ADDRESS_IN_USE]
        assert "imsi-001010000000001" in upf.violations[0].text
        other = pdr_dl(
            pdi=[
                {"Source Interface": "Core"},
                {"Network Instance": "\x03ims"},
                {"UE IP Address": {"ipv4": "10.45.0.1", "destination": True}},
            ]
        )
        answer = await cp.establish(
            session("", 2, [pdr_ul(), other, far_ul(), far_dl(), qer()]),
        )
        assert cause_of(answer) == ACCEPTED
        assert upf.downlink_data("10.45.0.1", "ims").outcome == "buffered"
        assert {key: view.buffered for key, view in upf.sessions.items()} == {
            ("internet", "10.45.0.1"): 0,
            ("ims", "10.45.0.1"): 1,
        }


async def test_an_address_is_free_again() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        await cp.delete()
        assert cause_of(await cp.establish(session("10.45.0.1", 2))) == ACCEPTED
        update: Tree = {
            "Update PDR": [{"PDR ID": 2}, {"PDI": pdr_dl("10.45.0.9")["Create PDR"][2]["PDI"]}]
        }
        assert cause_of(await cp.modify(update)) == ACCEPTED
        assert [ue for _, ue in upf.sessions] == ["10.45.0.9"]


async def test_a_prefix_has_one_session() -> None:
    async with world() as (upf, cp):
        await cp.establish(session("2001:db8:1:2::"))
        answer = await cp.establish(session("2001:db8:1:2::5", 2))
        assert cause_of(answer) == "Rule creation/modification Failure"
        assert upf.downlink_data("2001:db8:1:2:3:4:5:6").outcome == "buffered"
        assert upf.downlink_data("2001:db8:1:2::/64").outcome == "buffered"
        assert upf.downlink_data("2001:db8:1:3::1").outcome == "no-session"


def access(number: int, choose_id: int | None, far: int = 1) -> Tree:
    choose: Tree = {"choose": ["V4"]} | ({} if choose_id is None else {"choose_id": choose_id})
    pdi: Ies = [{"Source Interface": "Access"}, {"F-TEID": choose}]
    return pdr_ul(id=number, pdi=pdi, rest=[{"FAR ID": far}, {"QER ID": 1}])


async def test_f_teids_are_the_same_for_the_same_choose_id() -> None:
    async with world() as (upf, cp):
        rules: Ies = [access(1, 5), access(3, 5), access(4, 6), access(5, None), access(6, None)]
        rules += [pdr_dl(), far_ul(), far_dl(), qer()]
        answer = await cp.establish(session(rules=rules))
        teids = {number: f_teid["teid"] for number, f_teid in created(answer).items()}
        assert teids[1] == teids[3]
        assert len(set(teids.values())) == 4
        # A CHOOSE ID is valid in one message.
        answer = await cp.modify(access(7, 5))
        assert created(answer)[7]["teid"] not in teids.values()
        # An assigned F-TEID may be repeated in the same session.
        same: Ies = [{"Source Interface": "Access"}, {"F-TEID": created(answer)[7]}]
        answer = await cp.modify(pdr_ul(id=8, pdi=same))
        assert (cause_of(answer), created(answer)) == (ACCEPTED, {})
        assert upf.violations == []


async def test_f_teids_are_unique() -> None:
    async with world() as (upf, cp):
        for number in range(1, 30):
            await cp.establish(session(f"10.45.0.{number}", number))
        teids = {view.uplink for view in upf.sessions.values()}
        assert len(teids) == 29


async def test_no_address_of_that_family() -> None:
    async with world() as (upf, cp):
        pdi: Ies = [{"Source Interface": "Access"}, {"F-TEID": {"choose": ["V6"]}}]
        removal: Ies = [{"Outer Header Removal": {"description": "GTP-U/UDP/IPv6"}}]
        rules: Ies = [pdr_ul(pdi=pdi, removal=removal), pdr_dl(), far_ul(), far_dl(), qer()]
        answer = await cp.establish(session(rules=rules))
        assert cause_of(answer) == "No resources available"
        assert (upf.session_count, upf.violations) == (0, [])
    async with world(gtpu_ipv6="2001:db8::9") as (upf, cp):
        answer = await cp.establish(session(rules=rules))
        assert created(answer)[1]["ipv6"] == "2001:db8::9"


async def test_rules_come_and_go() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        flow: Ies = [
            pdr_dl(id=4, rest=[{"FAR ID": 2}, {"QER ID": 2}]),
            qer(2, 7),
            {"Create BAR": [{"BAR ID": 1}]},
        ]
        assert cause_of(await cp.modify(*flow)) == ACCEPTED
        assert upf.rules_left == 7
        changes: Ies = [
            {"Update QER": [{"QER ID": 2}, {"QFI": 8}]},
            {"Update PDR": [{"PDR ID": 4}, {"Precedence": 1}]},
            {"Update BAR (Session Modification Request)": [{"BAR ID": 1}]},
        ]
        assert cause_of(await cp.modify(*changes)) == ACCEPTED
        assert upf.downlink_data("10.45.0.1").qfi == 8
        gone: Ies = [
            {"Remove PDR": [{"PDR ID": 4}]},
            {"Remove QER": [{"QER ID": 2}]},
            {"Remove BAR": [{"BAR ID": 1}]},
        ]
        assert cause_of(await cp.modify(*gone)) == ACCEPTED
        assert (upf.rules_left, upf.violations) == (5, [])
        assert upf.downlink_data("10.45.0.1").qfi == 9


def test_a_teid_that_was_restored_is_not_assigned() -> None:
    class Same(Random):
        def getrandbits(self, k: int, /) -> int:
            del k
            return 8

    sessions = PfcpSessions("127.0.0.1", None, Same())
    rules: list[Any] = [
        pdr_ul(pdi=[{"Source Interface": "Access"}, {"F-TEID": {"teid": 9, "ipv4": "127.0.0.1"}}]),
        *(access(3, None), pdr_dl(), far_ul(), far_dl(), qer()),
    ]
    outcome = sessions.establish(session("10.45.0.1", 1, rules, RESTI), b"", "cp", "ue")
    assert outcome.faults == ()
    assert outcome.created == ((3, FTeid(10, "127.0.0.1")),)
