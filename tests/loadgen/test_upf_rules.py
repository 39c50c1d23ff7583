"""The validation of each rule: a correct session, and the UPF's answers to incorrect ones."""

from random import Random
from typing import Any

import pytest

from loadgen.upf.sessions import PfcpSessions
from loadgen.upf.violation import PFCP_CLAUSES, PfcpKind
from tests.loadgen.test_upf_peer import (
    ACCEPTED,
    CP,
    FORWARD,
    GNB,
    Ies,
    Tree,
    cause_of,
    far_dl,
    far_ul,
    pdr_dl,
    pdr_ul,
    qer,
    session,
    to_gnb,
    value,
    world,
)

FAILED = "Rule creation/modification Failure"
MISSING, CONDITIONAL = "Mandatory IE missing", "Conditional IE missing"
OPTION, SERVICE = "Invalid F-TEID allocation option", "Service not supported"
ACCESS, CORE = {"Source Interface": "Access"}, {"Source Interface": "Core"}
CHOOSE: Tree = {"F-TEID": {"choose": ["V4"], "choose_id": 1}}
NETWORK: Tree = {"Network Instance": "\x08internet"}
UE: Tree = {"UE IP Address": {"ipv4": "10.45.0.1", "destination": True}}
BAR: Tree = {"Create BAR": [{"BAR ID": 1}]}
URR: Tree = {
    "Create URR": [{"URR ID": 1}, {"Measurement Method": ["VOLUM"]}, {"Reporting Triggers": []}]
}


def test_without_ftup_the_cp_function_allocates_f_teids() -> None:
    sessions = PfcpSessions("127.0.0.1", None, Random(1), ftup=False)
    given = [ACCESS, {"F-TEID": {"teid": 7, "ipv4": "127.0.0.1"}}]
    cp: Tree = {"F-SEID": {"seid": 1, "ipv4": "10.0.0.1"}}
    good = [cp, *replacing(pdr_ul(pdi=given))]
    assert sessions.establish(good, b"1", "cp", "one").faults == ()
    chosen = sessions.establish(
        [cp | {"F-SEID": {"seid": 2, "ipv4": "10.0.0.1"}}, *replacing(pdr_ul())], b"2", "cp", "two"
    )
    assert [fault.kind for fault in chosen.faults][:1] == [PfcpKind.F_TEID_OPTION]
    taken = sessions.establish(
        [{"F-SEID": {"seid": 3, "ipv4": "10.0.0.1"}}, *good[1:]], b"3", "cp", "three"
    )
    assert PfcpKind.F_TEID_IN_USE in [fault.kind for fault in taken.faults]


def removing(description: str) -> Ies:
    return [{"Outer Header Removal": {"description": description}}]


def refers(far: int | None = 1, *more: Tree) -> Ies:
    return [*([] if far is None else [{"FAR ID": far}]), *(more or ({"QER ID": 1},))]


def replacing(rule: Tree, *more: Tree) -> Ies:
    """Return a correct set of rules with one rule replaced by another of the same name and ID."""
    rules: Ies = [pdr_ul(), pdr_dl(), far_ul(), far_dl(), qer(), *more]
    name, members = next(iter(rule.items()))
    return [rule if name in one and one[name][0] == members[0] else one for one in rules]


GOOD: dict[str, Ies] = {
    "idle": replacing(pdr_ul()),
    "connected": replacing(far_dl(action=["FORW"], rest=to_gnb())),
    "over IPv6": replacing(
        far_dl(
            action=["FORW"],
            rest=[
                {
                    "Forwarding Parameters": [
                        {"Destination Interface": "Access"},
                        {
                            "Outer Header Creation": {
                                "description": ["GTP-U/UDP/IPv6"],
                                "teid": 5,
                                "ipv6": "2001:db8::1",
                            }
                        },
                    ]
                }
            ],
        )
    ),
    "dropping": replacing(far_dl(action=["DROP"])),
    "buffering silently": replacing(far_dl(action=["BUFF"])),
    "with a BAR": replacing(far_dl(rest=[{"BAR ID": 1}]), BAR),
    "with a URR": replacing(pdr_ul(rest=refers(1, {"QER ID": 1}, {"URR ID": 1})), URR),
    "with QERs for flow and session": replacing(
        pdr_dl(rest=refers(2, {"QER ID": 1}, {"QER ID": 2})), qer(2, 0, mbr=[])
    )[:-1]
    + [qer(2, 5, mbr=[])],
    "without an F-TEID id": replacing(
        pdr_ul(pdi=[ACCESS, {"F-TEID": {"choose": ["V4"]}}, NETWORK])
    ),
    "any outer header": replacing(pdr_ul(removal=removing("GTP-U/UDP/IP"))),
    "uplink from the UE's address": replacing(
        pdr_ul(pdi=[ACCESS, CHOOSE, NETWORK, {"UE IP Address": {"ipv4": "10.45.0.1"}}])
    ),
    "from N6": replacing(pdr_dl(pdi=[{"Source Interface": "SGi-LAN/N6-LAN"}, NETWORK, UE])),
    "duplicating": replacing(
        far_ul(
            action=["FORW", "DUPL"],
            rest=[
                {"Forwarding Parameters": [{"Destination Interface": "Core"}]},
                {"Duplicating Parameters": [{"Destination Interface": "LI Function"}]},
            ],
        )
    ),
    "from the CP function": replacing(
        pdr_ul(
            id=3,
            pdi=[{"Source Interface": "CP-function"}, {"F-TEID": {"choose": ["V4"]}}],
            removal=removing("GTP-U/UDP/IPv4"),
        ),
        pdr_ul(
            id=3,
            pdi=[{"Source Interface": "CP-function"}, {"F-TEID": {"choose": ["V4"]}}],
            removal=removing("GTP-U/UDP/IPv4"),
        ),
    ),
}


@pytest.mark.parametrize("name", GOOD)
async def test_a_good_set_of_rules(name: str) -> None:
    async with world() as (upf, cp):
        answer = await cp.establish(session(rules=GOOD[name]))
        assert [one.text for one in upf.violations] == []
        assert cause_of(answer) == ACCEPTED
        assert upf.rules_left == len([one for one in GOOD[name] if "Create BAR" not in one])


Bad = tuple[Ies, PfcpKind, Any, tuple[str, int] | None, str]
F_DL = ("FAR", 2)
P_UL, P_DL = ("PDR", 1), ("PDR", 2)

BAD: dict[str, Bad] = {
    "a FAR that is not there": (
        replacing(pdr_ul(rest=refers(7))),
        *(PfcpKind.RULE_REFERENCE, FAILED, P_UL, "FAR 7, which does not exist"),
    ),
    "a QER that is not there": (
        replacing(pdr_ul(rest=refers(1, {"QER ID": 1}, {"QER ID": 7}))),
        *(PfcpKind.RULE_REFERENCE, FAILED, P_UL, "QER 7, which does not exist"),
    ),
    "a URR that is not there": (
        replacing(pdr_ul(rest=refers(1, {"QER ID": 1}, {"URR ID": 7}))),
        *(PfcpKind.RULE_REFERENCE, FAILED, P_UL, "URR 7, which does not exist"),
    ),
    "a BAR that is not there": (
        replacing(far_dl(rest=[{"BAR ID": 7}])),
        *(PfcpKind.RULE_REFERENCE, FAILED, F_DL, "BAR 7, which does not exist"),
    ),
    "no FAR": (
        replacing(pdr_ul(rest=refers(None))),
        *(PfcpKind.RULE_REFERENCE, CONDITIONAL, P_UL, "refers to no FAR"),
    ),
    "a PDR twice": (
        [*replacing(pdr_ul()), pdr_ul()],
        *(PfcpKind.RULE_DUPLICATE, FAILED, P_UL, "Create PDR 1, which exists"),
    ),
    "a FAR twice": (
        [*replacing(pdr_ul()), far_ul()],
        *(PfcpKind.RULE_DUPLICATE, FAILED, ("FAR", 1), "Create FAR 1, which exists"),
    ),
    "a QER twice": (
        [*replacing(pdr_ul()), qer()],
        *(PfcpKind.RULE_DUPLICATE, FAILED, ("QER", 1), "Create QER 1, which exists"),
    ),
    "a URR twice": (
        [*replacing(pdr_ul()), URR, URR],
        *(PfcpKind.RULE_DUPLICATE, FAILED, ("URR", 1), "Create URR 1, which exists"),
    ),
    "uplink without an F-TEID": (
        replacing(pdr_ul(pdi=[ACCESS, NETWORK])),
        *(PfcpKind.F_TEID_MISSING, FAILED, P_UL, "has no local F-TEID"),
    ),
    "an F-TEID of the CP function": (
        replacing(pdr_ul(pdi=[ACCESS, {"F-TEID": {"teid": 9, "ipv4": "127.0.0.1"}}, NETWORK])),
        *(PfcpKind.F_TEID_OPTION, OPTION, P_UL, "which only the UP function assigns"),
    ),
    "uplink without header removal": (
        replacing(pdr_ul(removal=[])),
        *(PfcpKind.HEADER_REMOVAL, CONDITIONAL, P_UL, "removes no outer header"),
    ),
    "uplink with another header removal": (
        replacing(pdr_ul(removal=removing("UDP/IPv4"))),
        *(PfcpKind.HEADER_REMOVAL, FAILED, P_UL, "removes UDP/IPv4"),
    ),
    "uplink with a header removal of another family": (
        replacing(pdr_ul(removal=removing("GTP-U/UDP/IPv6"))),
        *(PfcpKind.HEADER_REMOVAL, FAILED, P_UL, "its F-TEID has another address"),
    ),
    "uplink to the UE": (
        replacing(pdr_ul(pdi=[ACCESS, CHOOSE, NETWORK, UE])),
        *(PfcpKind.UE_ADDRESS, FAILED, P_UL, "from Access to the UE's address"),
    ),
    "downlink without an address": (
        replacing(pdr_dl(pdi=[CORE, NETWORK])),
        *(PfcpKind.UE_ADDRESS, FAILED, P_DL, "has no UE IP Address"),
    ),
    "downlink from the UE": (
        replacing(pdr_dl(pdi=[CORE, NETWORK, {"UE IP Address": {"ipv4": "10.45.0.1"}}])),
        *(PfcpKind.UE_ADDRESS, FAILED, P_DL, "with the UE's address as source"),
    ),
    "downlink without a network instance": (
        replacing(pdr_dl(pdi=[CORE, UE])),
        *(PfcpKind.NETWORK_INSTANCE, FAILED, P_DL, "has no Network Instance"),
    ),
    "downlink with a network instance that is no DNN": (
        replacing(pdr_dl(pdi=[CORE, UE, {"Network Instance": "internet"}])),
        *(PfcpKind.NETWORK_INSTANCE, FAILED, P_DL, "'internet', which is not a DNN"),
    ),
    "downlink with header removal": (
        replacing(pdr_dl(removal=removing("GTP-U/UDP/IPv4"))),
        *(PfcpKind.HEADER_REMOVAL, FAILED, P_DL, "which have none"),
    ),
    "an address that the UPF is to choose": (
        replacing(
            pdr_dl(pdi=[CORE, NETWORK, {"UE IP Address": {"destination": True, "choose": ["V4"]}}])
        ),
        *(PfcpKind.FEATURE, SERVICE, P_DL, "does not support UEIP"),
    ),
    "a traffic endpoint": (
        [
            *replacing(pdr_ul(pdi=[ACCESS, NETWORK, {"Traffic Endpoint ID": 1}])),
            {"Create Traffic Endpoint": [{"Traffic Endpoint ID": 1}]},
        ],
        *(PfcpKind.FEATURE, SERVICE, None, "does not support PDIU"),
    ),
    "two actions": (
        replacing(far_dl(action=["DROP", "BUFF"])),
        *(PfcpKind.APPLY_ACTION, FAILED, F_DL, "BUFF, DROP: exactly one of DROP, FORW and BUFF"),
    ),
    "no action": (
        replacing(far_dl(action=[])),
        *(PfcpKind.APPLY_ACTION, FAILED, F_DL, "nothing: exactly one of DROP, FORW and BUFF"),
    ),
    "notifying without buffering": (
        replacing(far_dl(action=["DROP", "NOCP"])),
        *(PfcpKind.APPLY_ACTION, FAILED, F_DL, "NOCP needs BUFF"),
    ),
    "duplicating for redundancy without forwarding": (
        replacing(far_dl(action=["BUFF", "DFRT"])),
        *(PfcpKind.APPLY_ACTION, FAILED, F_DL, "DFRT needs FORW"),
    ),
    "forwarding to Access without a tunnel": (
        replacing(
            far_dl(
                action=["FORW"],
                rest=[{"Forwarding Parameters": [{"Destination Interface": "Access"}]}],
            )
        ),
        *(PfcpKind.HEADER_CREATION, CONDITIONAL, F_DL, "without an Outer Header Creation"),
    ),
    "forwarding to Access by UDP": (
        replacing(
            far_dl(
                action=["FORW"],
                rest=to_gnb(description=["GTP-U/UDP/IPv4", "UDP/IPv4"], port=2152),
            )
        ),
        *(PfcpKind.HEADER_CREATION, FAILED, F_DL, "GTP-U/UDP is required"),
    ),
    "forwarding to TEID 0": (
        replacing(far_dl(action=["FORW"], rest=to_gnb(teid=0))),
        *(PfcpKind.HEADER_CREATION, FAILED, F_DL, "TEID 0"),
    ),
    "forwarding to nowhere": (
        replacing(far_dl(action=["FORW"], rest=to_gnb(ipv4="0.0.0.0"))),  # noqa: S104 - no socket
        *(PfcpKind.HEADER_CREATION, FAILED, F_DL, "no address"),
    ),
    "uplink back to Access": (
        replacing(far_ul(rest=to_gnb())),
        *(PfcpKind.DIRECTION, FAILED, ("FAR", 1), "from Access, and FAR 1 forwards them to Access"),
    ),
    "downlink back to Core": (
        replacing(
            far_dl(
                action=["FORW"],
                rest=[{"Forwarding Parameters": [{"Destination Interface": "Core"}]}],
            )
        ),
        *(PfcpKind.DIRECTION, FAILED, F_DL, "from Core, and FAR 2 forwards them to Core"),
    ),
    "QFI 0": (
        replacing(qer(1, 0)),
        *(PfcpKind.QER_QFI, FAILED, ("QER", 1), "QFI 0, but a QFI is 1 to 63"),
    ),
    "no QFI": (
        replacing({"Create QER": qer()["Create QER"][:-1]}),
        *(PfcpKind.QER_QFI, FAILED, P_DL, "has a QFI to mark"),
    ),
    "no MBR": (
        replacing(qer(mbr=[])),
        *(PfcpKind.SESSION_AMBR, FAILED, P_UL, "the session AMBR"),
    ),
    # Refused by the syntax check, before the rules are checked (7.6).
    "no gate status": (
        replacing(qer(gate=[])),
        *(PfcpKind.SYNTAX, MISSING, None, "Gate Status"),
    ),
    "no source interface": (
        replacing(pdr_ul(pdi=[CHOOSE, NETWORK])),
        *(PfcpKind.SYNTAX, MISSING, None, "Source Interface"),
    ),
    "forwarding without parameters": (
        replacing(far_ul(rest=[])),
        *(PfcpKind.SYNTAX, CONDITIONAL, None, "Forwarding Parameters"),
    ),
    "forwarding without a destination": (
        replacing(far_ul(rest=[{"Forwarding Parameters": [NETWORK]}])),
        *(PfcpKind.SYNTAX, MISSING, None, "Destination Interface"),
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_set_of_rules(name: str) -> None:
    rules, kind, cause, rule, text = BAD[name]
    async with world() as (upf, cp):
        answer = await cp.establish(session(rules=rules))
        assert cause_of(answer) == cause
        assert answer["seid"] == 1
        failed = value(answer, "Failed Rule ID")
        assert failed == (None if rule is None else {"rule": rule[0], "id": rule[1]})
        assert kind in {one.kind for one in upf.violations}
        found = next(one for one in upf.violations if one.kind == kind)
        assert text in found.text
        assert found.clause == PFCP_CLAUSES[kind]
        assert (upf.session_count, upf.rules_left) == (0, 0)
        # The same CP function sends a correct request afterwards.
        assert cause_of(await cp.establish(session())) == ACCEPTED


@pytest.mark.parametrize(
    ("ies", "kind", "rule", "text"),
    [
        ([{"Update FAR": [{"FAR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("FAR", 7), "Update FAR 7"),
        ([{"Update PDR": [{"PDR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("PDR", 7), "Update PDR 7"),
        ([{"Update QER": [{"QER ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("QER", 7), "Update QER 7"),
        ([{"Update URR": [{"URR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("URR", 7), "Update URR 7"),
        ([{"Query URR": [{"URR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("URR", 7), "Query URR 7"),
        ([{"Remove PDR": [{"PDR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("PDR", 7), "Remove PDR 7"),
        ([{"Remove FAR": [{"FAR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("FAR", 7), "Remove FAR 7"),
        ([{"Remove URR": [{"URR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("URR", 7), "Remove URR 7"),
        ([{"Remove QER": [{"QER ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("QER", 7), "Remove QER 7"),
        ([{"Remove BAR": [{"BAR ID": 7}]}], PfcpKind.RULE_UNKNOWN, ("BAR", 7), "Remove BAR 7"),
        ([{"Remove FAR": [{"FAR ID": 1}]}], PfcpKind.RULE_REFERENCE, ("PDR", 1), "to FAR 1"),
        ([{"Remove QER": [{"QER ID": 1}]}], PfcpKind.RULE_REFERENCE, ("PDR", 1), "to QER 1"),
        ([far_ul()], PfcpKind.RULE_DUPLICATE, ("FAR", 1), "Create FAR 1, which exists"),
        (
            [{"Update FAR": [{"FAR ID": 2}, {"Apply Action": ["FORW"]}]}],
            PfcpKind.FORWARDING,
            ("FAR", 2),
            "no Forwarding Parameters",
        ),
        (
            [
                {
                    "Update FAR": [
                        {"FAR ID": 2},
                        {"Apply Action": ["FORW"]},
                        {"Update Forwarding Parameters": [{"Outer Header Creation": GNB}]},
                    ]
                }
            ],
            PfcpKind.FORWARDING,
            ("FAR", 2),
            "no Destination Interface",
        ),
        (
            [{"F-SEID": {"seid": 99, "ipv4": CP}}],
            PfcpKind.FEATURE,
            None,
            "another CP F-SEID",
        ),
    ],
)
async def test_a_bad_modification(ies: Ies, kind: PfcpKind, rule: Any, text: str) -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        answer = await cp.modify(*ies, qer(5))
        assert cause_of(answer) != ACCEPTED
        failed = value(answer, "Failed Rule ID")
        assert failed == (None if rule is None else {"rule": rule[0], "id": rule[1]})
        assert kind in {one.kind for one in upf.violations}
        assert any(text in one.text for one in upf.violations)
        assert upf.rules_left == 5
        assert upf.downlink_data("10.45.0.1").outcome == "buffered"
        assert cause_of(await cp.modify(FORWARD)) == ACCEPTED
        assert upf.downlink_data("10.45.0.1").outcome == "delivered"


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        (replacing(pdr_ul(pdi=[CHOOSE, NETWORK])), PfcpKind.PDI_SOURCE),
        (replacing(qer(gate=[])), PfcpKind.QER_GATE),
        (replacing(far_ul(rest=[])), PfcpKind.FORWARDING),
        ([{"Create PDR": [{"PDR ID": 1}]}], PfcpKind.SYNTAX),
        ([{"Create FAR": []}], PfcpKind.SYNTAX),
        ([], PfcpKind.SYNTAX),
    ],
)
def test_what_the_syntax_forbids_is_forbidden_here_too(rules: Ies, kind: PfcpKind) -> None:
    sessions = PfcpSessions("127.0.0.1", None, Random(1))
    outcome = sessions.establish(session(rules=rules), b"", "cp", "ue")
    assert kind in {fault.kind for fault in outcome.faults}
    assert sessions.establish([], b"", "cp", "ue").faults[0].kind == PfcpKind.SYNTAX
    assert sessions.rules == 0


def test_every_kind_has_a_clause() -> None:
    assert set(PFCP_CLAUSES) == set(PfcpKind)
