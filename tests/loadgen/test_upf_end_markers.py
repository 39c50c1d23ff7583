"""Requested End Markers at the emulated UPF when a tunnel moves."""

from loadgen.upf.ies import FTeid
from loadgen.upf.violation import PfcpKind
from tests.loadgen.test_upf_peer import BUFFER, FORWARD, Tree, session, world

UE = "10.45.0.1"
FEATURES = ("BUCP", "FTUP", "MNOP", "EMPU")


def moved(*, header: bool = True) -> Tree:
    """Return an update that sends downlink packets to another gNB and an End Marker to the former
    one."""
    parameters: list[Tree] = [{"PFCPSMReq-Flags": ["SNDEM"]}]
    if header:
        to = {"description": ["GTP-U/UDP/IPv4"], "teid": 6, "ipv4": "192.0.2.2"}
        parameters.insert(0, {"Outer Header Creation": to})
    return {"Update FAR": [{"FAR ID": 2}, {"Update Forwarding Parameters": parameters}]}


async def test_a_tunnel_that_moves_gets_an_end_marker() -> None:
    async with world(features=FEATURES) as (upf, cp):
        await cp.establish(session())
        await cp.modify(FORWARD)
        assert upf.downlink_tunnel(UE) == FTeid(5, "192.0.2.1")
        await cp.modify(moved())
        assert upf.downlink_tunnel(UE) == FTeid(6, "192.0.2.2")
        assert upf.counts.end_markers == 1
        assert upf.violations == []
        await cp.modify(BUFFER)
        assert upf.downlink_tunnel(UE) is None
        assert upf.downlink_tunnel("10.45.9.9") is None


async def test_an_end_marker_needs_a_tunnel_before_and_another_after() -> None:
    async with world(features=FEATURES) as (upf, cp):
        await cp.establish(session())
        await cp.modify(moved())
        assert [one.kind for one in upf.violations] == [PfcpKind.FORWARDING]
        await cp.modify(moved(header=False))
        assert [one.kind for one in upf.violations] == [PfcpKind.FORWARDING] * 2
        assert upf.counts.end_markers == 0


async def test_a_upf_without_the_feature_is_not_to_be_asked() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        await cp.modify(FORWARD)
        await cp.modify(moved())
        assert [one.kind for one in upf.violations] == [PfcpKind.FEATURE]
