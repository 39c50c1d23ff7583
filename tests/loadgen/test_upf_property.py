"""Arbitrary messages of a CP function: no exception, and no rule without a session."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import wire
from loadgen.upf.rules import RuleSet
from loadgen.upf.sessions import PfcpSession, PfcpSessions
from tests.corpus import entries
from tests.loadgen.test_upf_peer import (
    BUFFER,
    FORWARD,
    Ies,
    Tree,
    far_dl,
    far_ul,
    pdr_dl,
    pdr_ul,
    qer,
    session,
    world,
)
from tests.wire.pfcp_messages import MESSAGES

UES = ["10.45.0.1", "10.45.0.2", "2001:db8:1::", "2001:db8:2::"]
NUMBERS = st.integers(0, 3)


def choose(choose_id: int | None) -> Tree:
    value: Tree = {"choose": ["V4"]}
    return {"F-TEID": value if choose_id is None else value | {"choose_id": choose_id}}


RULES: st.SearchStrategy[Tree] = st.one_of(
    st.builds(lambda n: pdr_ul(id=n), NUMBERS),
    st.builds(
        lambda n, c: pdr_ul(id=n, pdi=[{"Source Interface": "Access"}, choose(c)]),
        NUMBERS,
        st.none() | NUMBERS,
    ),
    st.builds(lambda n, ue: pdr_dl(ue, id=n), NUMBERS, st.sampled_from(UES)),
    st.builds(lambda n: far_ul(id=n), NUMBERS),
    st.builds(lambda n: far_dl(id=n), NUMBERS),
    st.builds(qer, NUMBERS, st.integers(0, 63)),
)
REMOVALS: st.SearchStrategy[Tree] = st.builds(
    lambda name, n: {f"Remove {name}": [{f"{name} ID": n}]},
    st.sampled_from(["PDR", "FAR", "QER", "URR"]),
    NUMBERS,
)
UPDATES: st.SearchStrategy[Tree] = st.one_of(
    st.sampled_from([FORWARD, BUFFER]),
    st.builds(
        lambda n, ue: {"Update PDR": [{"PDR ID": n}, pdr_dl(ue)["Create PDR"][2]]},
        NUMBERS,
        st.sampled_from(UES),
    ),
    st.builds(
        lambda n, far: {"Update PDR": [{"PDR ID": n}, {"FAR ID": far}]},
        NUMBERS,
        NUMBERS,
    ),
)


def good(ue: str) -> list[Tree]:
    return [pdr_ul(), pdr_dl(ue), far_ul(), far_dl(), qer()]


RULE_LISTS = st.sampled_from(UES).map(good) | st.lists(RULES, max_size=6)
STEPS: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("establish"), st.tuples(NUMBERS, RULE_LISTS, st.booleans())),
    st.tuples(
        st.just("modify"),
        st.tuples(NUMBERS, st.lists(REMOVALS | UPDATES | RULES, max_size=5)),
    ),
    st.tuples(st.just("delete"), NUMBERS),
    st.tuples(st.just("clear"), st.none()),
)


def consistent(sessions: PfcpSessions) -> None:
    """Check that all tables agree about the sessions."""
    there = list(sessions.by_seid.values())
    assert {id(one) for one in sessions.by_cp.values()} == {id(one) for one in there}
    assert sessions.rules == sum(one.rules.count for one in there)
    keys = {key: one for one in there for key in one.rules.keys}
    assert sessions.by_address == keys
    assert len(keys) == sum(len(one.rules.keys) for one in there)
    teids = {teid: one for one in there for teid in one.rules.teids}
    assert sessions.by_teid == teids
    assert len(teids) == sum(len(one.rules.teids) for one in there)
    for one in there:
        assert one.buffers.keys() <= one.rules.fars.keys()
        for pdr in one.rules.pdrs.values():
            assert pdr.far in one.rules.fars
            assert not pdr.pdi.choose


def any_session(sessions: PfcpSessions, number: int) -> PfcpSession | None:
    there = list(sessions.by_seid.values())
    return there[number % len(there)] if there else None


def refused_as_a_whole(sessions: PfcpSessions, one: PfcpSession, ies: Ies) -> None:
    before = (one.rules, one.rules.copy())
    outcome = sessions.modify(one, ies, 0.0)
    if outcome.faults or outcome.cause is not None:
        assert (one.rules, one.rules) == before


@given(st.lists(STEPS, max_size=25))
def test_no_rule_is_without_a_session(steps: list[tuple[str, Any]]) -> None:
    sessions = PfcpSessions("127.0.0.1", None, Random(1))
    for what, given_ in steps:
        match what:
            case "establish":
                number, rules, restoring = given_
                more: Ies = [{"PFCPSEReq-Flags": ["RESTI"]}] if restoring else []
                ies = session("", number, rules, *more)
                count = len(sessions.by_seid)
                outcome = sessions.establish(ies, repr(ies).encode(), "cp", f"ue {number}")
                if outcome.session is None:
                    assert outcome.faults or outcome.cause is not None
                    assert len(sessions.by_seid) == count
            case "modify":
                one = any_session(sessions, given_[0])
                if one is not None:
                    refused_as_a_whole(sessions, one, given_[1])
            case "delete":
                one = any_session(sessions, given_)
                if one is not None:
                    sessions.delete(one)
            case _:
                sessions.clear()
        consistent(sessions)
    for one in list(sessions.by_seid.values()):
        sessions.delete(one)
    consistent(sessions)
    assert (sessions.rules, sessions.by_address, sessions.by_teid) == (0, {}, {})


def octets() -> Iterator[st.SearchStrategy[bytes]]:
    for message in MESSAGES:
        if not message.name.endswith("Request"):
            continue

        def encoded(pair: tuple[Ies, Any], name: str = message.name) -> bytes:
            tree: Tree = {"message": name, "sequence": 1, "ies": pair[0]}
            if name.startswith("Session") and name != "SessionSetDeletionRequest":
                tree["seid"] = 0 if "Establishment" in name else 1
            return wire.pfcp_encode(tree)

        yield message.ies().map(encoded)


CORPUS = [entry.octets for entry in entries("pfcp")]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.one_of(*octets()),
            st.binary(max_size=60),
            st.tuples(st.sampled_from(CORPUS), st.integers(0, 400), st.integers(0, 255)).map(
                lambda drawn: drawn[0][: drawn[1]] + bytes([drawn[2]]) + drawn[0][drawn[1] + 1 :]
            ),
            st.sampled_from(CORPUS),
        ),
        max_size=12,
    )
)
async def test_no_octets_raise(messages: list[bytes]) -> None:
    async with world() as (upf, cp):
        # A session with SEID 1, and the node of the messages in the corpus.
        await cp.establish(session())
        one = next(iter(upf.table.by_seid.values()))
        del upf.table.by_seid[one.seid]
        one.seid = 1
        upf.table.by_seid[1] = one
        associations = upf.node.associations
        mine = associations["127.0.0.1"]
        associations["10.0.0.1"] = structs.replace(mine, node="10.0.0.1")
        for data in messages:
            upf.endpoint.datagram_received(data, cp.address)
            consistent(upf.table)
        upf.endpoint.error_received(OSError())
        cp.faults.clear()


def test_counting_rules() -> None:
    assert RuleSet.empty().count == 0


@pytest.mark.parametrize("name", [entry.name for entry in entries("pfcp")])
async def test_recorded_messages(name: str) -> None:
    data = next(entry.octets for entry in entries("pfcp") if entry.name == name)
    async with world() as (upf, cp):
        upf.endpoint.datagram_received(data, cp.address)
        consistent(upf.table)
