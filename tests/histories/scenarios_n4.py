"""Recorded histories of UPFs: associations, and messages that others send with their address."""

from collections.abc import Callable
from typing import Any, Final

from schemas.aggregates import upf_aggregate
from schemas.cloudevents import UpfLoadReported
from schemas.identity import index_seid
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK, World
from tests.functions.world_n4 import OTHER_UPF, UPF

Scenario = Callable[[], World]
STAMP: Final = 3_900_000_000
NODE: Final[dict[str, Any]] = {"Node ID": {"ipv4": UPF}}
FTUP: Final[dict[str, Any]] = {"UP Function Features": ["FTUP"]}


def _says(world: World, message: str, *ies: dict[str, Any], upf: str = UPF) -> None:
    world.answer_pfcp({"message": message, "ies": [NODE, *ies], "sequence": 7}, upf)


def _stamp(seconds: int) -> dict[str, Any]:
    return {"Recovery Time Stamp": STAMP + seconds}


def _answers(world: World, name: str, *ies: dict[str, Any]) -> None:
    """Answer the last request of the core to the UPF, and forget the others."""
    upf, key, number, _ = [one for one in world.pfcp if one[2] is not None][-1]
    world.pfcp.clear()
    seid = {"seid": 0} if name.startswith("Session") else {}
    world.answer_pfcp({"message": name, "ies": list(ies), **seid}, upf, key, number)


def _accepts(world: World, seconds: int = 0, *ies: dict[str, Any]) -> None:
    accepted = {"Cause": "Request accepted"}
    _answers(world, "AssociationSetupResponse", NODE, accepted, _stamp(seconds), FTUP, *ies)


def _has_association(world: World, has: bool) -> None:
    cause = "Session context not found" if has else "No established PFCP Association"
    _answers(world, "SessionModificationResponse", {"Cause": cause})


def associations() -> World:
    """Refused, set up by the UPF, updated, restarted and released for good."""
    world = World(network=N4_NETWORK)
    _says(world, "HeartbeatRequest", _stamp(0))
    world.path("served")
    _answers(world, "AssociationSetupResponse", NODE, {"Cause": "System failure"}, _stamp(0))
    _says(world, "AssociationSetupRequest", _stamp(0), FTUP)
    _accepts(world)
    _says(world, "AssociationUpdateRequest", {"UP Function Features": ["FTUP", "EMPU"]})
    _says(world, "AssociationUpdateRequest", {"UP Function Features": ["EMPU"]})
    report = {"User Plane Path Failure Report": [{"Remote GTP-U Peer": {"ipv4": "10.3.0.9"}}]}
    _says(world, "NodeReportRequest", {"Node Report Type": ["UPFR"]}, report)
    world.told_load(UpfLoadReported(load=40))
    world.told_load(UpfLoadReported(reduction=50, period=20))
    world.path("down")
    world.path("up", recovery_time_stamp=STAMP)
    world.path("up", recovery_time_stamp=STAMP + 5)
    _accepts(world, 5)
    wish = {"PFCP Association Release Request": ["SARR"]}
    _says(world, "AssociationUpdateRequest", wish)
    world.advance(11)
    _accepts(world, 5)
    _says(world, "AssociationUpdateRequest", wish)
    return world


def claims() -> World:
    """Each message that says that the association has ended, true and false."""
    world = World(network=N4_NETWORK)
    world.associate(UPF)
    for has in (True, False):
        _says(world, "AssociationReleaseRequest")
        _says(world, "AssociationReleaseRequest")
        _has_association(world, has)
    world.path("unknown", recovery_time_stamp=STAMP)
    world.advance(11)
    _accepts(world)
    for has in (True, False):
        _says(world, "AssociationSetupRequest", _stamp(0), FTUP)
        _has_association(world, has)
    _accepts(world)
    for seconds in (0, 9):
        _says(world, "AssociationSetupRequest", _stamp(9), FTUP)
        _answers(world, "HeartbeatResponse", _stamp(seconds))
    _accepts(world, 9)
    _says(world, "AssociationSetupRequest", _stamp(9), FTUP)
    world.advance(2)
    _accepts(world, 9, {"PFCPASRsp-Flags": ["PSREI"]})
    _says(world, "AssociationReleaseRequest", upf=OTHER_UPF)
    return world


def of_another_upf() -> World:
    """A report and a response of a UPF that does not have the session, and a leftover session."""
    site = Site()
    site.establish()
    site.idle()
    session, world = site.session(), site.world
    mine, seid = session.n4.upf, session.n4.seid
    other = OTHER_UPF if mine == UPF else UPF
    reported = {"Report Type": ["DLDR"]}, {"Downlink Data Report": [{"PDR ID": 2}]}
    tree = {"message": "SessionReportRequest", "ies": [*reported], "seid": seid, "sequence": 7}
    for sender in (other, f"{other},{mine}"):
        world.answer_pfcp(tree, sender)
    f_seid = {"F-SEID": {"seid": 0x77, "ipv4": "10.9.0.1"}}
    ies = [{"Node ID": {"ipv4": UPF}}, {"Cause": "Request accepted"}, f_seid]
    late = {"message": "SessionEstablishmentResponse", "ies": ies, "seid": seid}
    for sender in (other, mine):
        world.answer_pfcp(late, sender, index_seid(seid))
    world.answer_pfcp(late, UPF, index_seid(seid + 1))
    world.pfcp.clear()
    world.advance(11)
    upf, key, number, _ = next(one for one in world.pfcp if one[1] == upf_aggregate(mine))
    done = {"message": "SessionDeletionResponse", "ies": [{"Cause": "Request accepted"}], "seid": 0}
    world.answer_pfcp(done, upf, key, number)
    return world


SCENARIOS: Final[dict[str, Scenario]] = {
    "upf-associations": associations,
    "upf-claims": claims,
    "upf-another": of_another_upf,
}
