"""UPFs that forward packets only with certain interface types or Network Instances."""

from typing import Any

import pytest

from tests.loadgen.test_upf_peer import (
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

UE = "10.45.0.1"
N3: Tree = {"3GPP Interface Type": "N3 3GPP Access"}
N6: Tree = {"3GPP Interface Type": "N6"}


def rules(
    uplink: Ies, to_core: Ies, downlink: Ies, to_access: Ies, *, instance: str = "internet"
) -> Ies:
    """Return the rules of a connected UE, with these IEs in its two PDIs and two FARs."""
    name = {"Network Instance": chr(len(instance)) + instance}
    address = {"ipv4": UE, "destination": True}
    header = {"description": ["GTP-U/UDP/IPv4"], "teid": 5, "ipv4": "192.0.2.1"}
    up = [{"Source Interface": "Access"}, {"F-TEID": {"choose": ["V4"]}}, name, *uplink]
    down = [
        {"Source Interface": "Core"},
        {"Network Instance": "\x08internet"},
        {"UE IP Address": address},
        *downlink,
    ]
    core = [{"Destination Interface": "Core"}, *to_core]
    access = [{"Destination Interface": "Access"}, name, {"Outer Header Creation": header}]
    return [
        pdr_ul(pdi=up),
        pdr_dl(pdi=down),
        far_ul(rest=[{"Forwarding Parameters": core}]),
        far_dl(action=["FORW"], rest=[{"Forwarding Parameters": [*access, *to_access]}]),
        qer(),
    ]


async def passing(given: Ies, **switches: Any) -> tuple[bool, str]:
    async with world(**switches) as (upf, cp):
        await cp.establish(session(rules=given))
        return upf.uplink_data(UE), upf.downlink_data(UE).outcome


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        (rules([N3], [N6], [N6], [N3]), (True, "delivered")),
        (rules([], [], [], []), (False, "dropped")),
        (rules([N3], [], [N6], [N3]), (False, "delivered")),
        (rules([], [N6], [N6], [N3]), (False, "delivered")),
        (rules([N3], [N6], [], [N3]), (True, "dropped")),
        (rules([N6], [N3], [N3], [N6]), (False, "dropped")),
    ],
)
async def test_needs_interface_types(given: Ies, passes: tuple[bool, str]) -> None:
    assert await passing(given, needs_interface_type=True) == passes
    assert await passing(given) == (True, "delivered")


async def test_needs_the_instance_of_n3() -> None:
    named = rules([], [], [], [], instance="n3")
    assert await passing(named, n3_instance="n3") == (True, "delivered")
    assert await passing(rules([], [], [], []), n3_instance="n3") == (False, "dropped")


async def test_no_session_and_a_closed_gate() -> None:
    async with world() as (upf, cp):
        assert not upf.uplink_data(UE)
        await cp.establish(session())
        assert upf.uplink_data(UE)
        closed = {"Gate Status": {"uplink": "CLOSED", "downlink": "OPEN"}}
        await cp.modify({"Update QER": [{"QER ID": 1}, closed]})
        assert not upf.uplink_data(UE)
