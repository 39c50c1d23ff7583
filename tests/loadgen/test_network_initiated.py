"""Procedures that the network starts outside of the UEs' programmes."""

import pytest

import wire
from loadgen.gnb.context import CampedUe
from loadgen.identity import SNssai
from loadgen.ue.model import Connection, Procedure, State
from loadgen.violation import Kind
from tests.loadgen.amf import PLMN, Tree
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    PAGE,
    REGISTER,
    SERVICE,
    SESSION,
    connection,
    registered,
)
from tests.loadgen.world import World

PERIODIC = Procedure.PERIODIC_UPDATE
MOBILITY = Procedure.MOBILITY_UPDATE


def _no_accept(_: object) -> None:
    """Do nothing: the UE is already registered."""


def command(world: World, ue: CampedUe, **ies: object) -> None:
    """Send CONFIGURATION UPDATE COMMAND."""
    tree: Tree = {"message-type": "configuration-update-command", **ies}
    world.amf.down(connection(world, ue), tree)
    world.settle()


def deregister(world: World, ue: CampedUe, *, again: bool) -> None:
    """Send DEREGISTRATION REQUEST of the network, and release the UE."""
    to = connection(world, ue)
    kind = {"switch-off": False, "re-registration-required": again, "access-type": "3gpp-access"}
    name = "deregistration-request-ue-terminated"
    world.amf.down(to, {"message-type": name, "de-registration-type": kind})
    world.settle()
    for psi in list(world.amf.smf.of(ue.ue.profile.supi)):
        del world.amf.smf.sessions[ue.ue.profile.supi, psi]
    world.amf.release(to, {"nas": "deregister"})
    world.settle()


def test_a_new_configuration_is_taken_and_acknowledged() -> None:
    world, ue = registered()
    guti: Tree = {"plmn": PLMN, "amf-region-id": 2, "amf-set-id": 3, "amf-pointer": 4, "tmsi": 77}
    world.amf.by_tmsi[77] = world.amf.by_supi[ue.ue.profile.supi]
    world.amf.by_supi[ue.ue.profile.supi].tmsi = 77
    command(
        world,
        ue,
        **{
            "configuration-update-indication": {"ack": True, "red": False},
            "5g-guti": {"guti": guti},
            "tai-list": [{"one-plmn-non-consecutive": {"plmn": PLMN, "tacs": [1, 7]}}],
            "allowed-nssai": [{"sst": 2}],
        },
    )
    assert world.amf.received[-1] == "configuration-update-complete"
    assert ue.ue.guti is not None
    assert ue.ue.guti.tmsi == 77
    assert ue.ue.areas == {(PLMN, 1), (PLMN, 7)}
    assert ue.ue.allowed_nssai == {SNssai(2)}
    assert ue.ue.record.configured == 1
    assert world.run(ue, SESSION, IDLE, PAGE).cause is None
    assert world.violations == []


def test_a_configuration_that_crosses_a_deregistration_is_ignored() -> None:
    """TS 24.501 5.5.2.2.6, the collision with a 5GMM common procedure."""
    world, ue = registered()
    ue.ue.state = State.DEREGISTERED_INITIATED
    before, guti = list(world.amf.received), ue.ue.guti
    command(world, ue, **{"configuration-update-indication": {"ack": True, "red": False}})
    assert (world.amf.received, ue.ue.guti) == (before, guti)
    assert world.violations == []


@pytest.mark.parametrize("update", [PERIODIC, MOBILITY])
def test_a_configuration_that_crosses_an_update_is_ignored(update: Procedure) -> None:
    """TS 24.501 5.4.4.6 d: the network ends it when it gets the request."""
    world, ue = registered()
    world.amf.trees["registration-accept"] = lambda _: None
    world.begin(ue, update)
    world.settle()
    assert ue.ue.state is State.REGISTERED_INITIATED
    before = list(world.amf.received)
    command(world, ue, **{"configuration-update-indication": {"ack": True, "red": False}})
    assert world.amf.received == before
    assert world.violations == []


def test_a_configuration_without_acknowledgement_is_not_answered() -> None:
    world, ue = registered()
    before = len(world.sent)
    command(world, ue)
    assert len(world.sent) == before
    assert ue.ue.record.configured == 1


def test_an_area_that_the_ue_is_not_in_is_a_violation() -> None:
    world, ue = registered()
    tacs: Tree = {"one-plmn-non-consecutive": {"plmn": PLMN, "tacs": [9]}}
    command(world, ue, **{"tai-list": [tacs]})
    assert world.kinds() == [Kind.ACCEPT_TAI_LIST]


def test_a_requested_registration_waits_for_the_release() -> None:
    world, ue = registered()
    command(world, ue, **{"configuration-update-indication": {"ack": True, "red": True}})
    assert world.amf.received[-1] == "configuration-update-complete"
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    assert world.amf.received[-1] == "registration-complete"
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause, end.unsolicited) == (MOBILITY, None, True)
    assert world.run(ue, SESSION).cause is None
    assert world.violations == []


def test_the_network_deregisters_a_ue() -> None:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    deregister(world, ue, again=False)
    assert "deregistration-accept-ue-terminated" in world.amf.received
    assert ue.ue.state is State.DEREGISTERED
    assert ue.ue.sessions.live == {}
    assert world.run(ue, REGISTER, SESSION).cause is None
    assert world.violations == []


def test_a_ue_registers_again_where_that_is_required() -> None:
    world, ue = registered()
    deregister(world, ue, again=True)
    assert ue.ue.registered
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause, end.unsolicited) == (REGISTER, None, True)
    assert world.run(ue, IDLE, SERVICE, DEREGISTER).cause is None
    assert world.violations == []


def test_authentication_while_connected_and_the_new_key_at_the_gnb() -> None:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    to = connection(world, ue)
    to.verified = True
    world.amf.accept = _no_accept  # pyright: ignore[reportAttributeAccessIssue]
    world.amf.challenge(to)
    world.settle()
    assert world.amf.received[-1] == "security-mode-complete"
    known = world.amf.by_supi[ue.ue.profile.supi]
    key = wire.kgnb(known.kamf, to.count)
    world.amf.send_ue(to, "UEContextModificationRequest", {"SecurityKey": key.hex()})
    world.settle()
    assert world.amf.received[-1] == "UEContextModificationResponse"
    assert ue.ue.keys is not None
    assert ue.ue.keys.key == key
    assert world.violations == []
    world.amf.send_ue(to, "UEContextModificationRequest", {"SecurityKey": "00" * 32})
    world.settle()
    assert world.kinds() == [Kind.CONTEXT_KEY]


def test_a_gnb_takes_over_what_the_amf_serves_from_now_on() -> None:
    world, ue = registered()
    other = {"pLMNIdentity": PLMN, "aMFRegionID": 2, "aMFSetID": 3, "aMFPointer": 5}
    world.amf.send("gnb-1", 0, "AMFConfigurationUpdate", {"ServedGUAMIList": [{"gUAMI": other}]})
    world.settle()
    assert world.amf.received[-1] == "AMFConfigurationUpdateAcknowledge"
    assert world.gnb.interface.counts.reconfigured == 1
    assert world.violations == []
    assert world.run(ue, IDLE, SERVICE).cause == "violation-context-guami"


def test_a_congested_network_has_the_ue_wait() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE).cause is None
    accept = {"message-type": "service-reject", "5gmm-cause": "congestion", "t3346-value": 30}
    world.amf.trees["service-accept"] = lambda _: accept
    world.begin(ue, SERVICE)
    world.settle()
    assert world.ended(ue) == []
    assert ue.ue.record.congested == 1
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    del world.amf.trees["service-accept"]
    world.pass_time(29)
    assert world.ended(ue) == []
    world.pass_time(2)
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause) == (SERVICE, None)
    assert world.violations == []


def test_periodic_and_mobility_updates_idle_and_connected() -> None:
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, SESSION, PERIODIC, MOBILITY).cause is None
    assert ue.ue.connection is Connection.CONNECTED
    assert ue.cell is world.gnb.cell
    assert world.run(ue, IDLE, PERIODIC, IDLE, MOBILITY).cause is None
    assert ue.cell is world.gnbs["gnb-2"].cell
    kinds = [
        one["5gs-registration-type"]["registration-type"]
        for one in world.amf.uplink
        if one.get("message-type") == "registration-request"
    ]
    periodic, mobility = "periodic-registration-updating", "mobility-registration-updating"
    assert kinds == ["initial-registration", periodic, mobility, periodic, mobility]
    assert world.run(ue, IDLE, PAGE).cause is None
    assert world.violations == []


def test_an_update_takes_what_the_network_has_no_more() -> None:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    world.amf.smf.sessions.clear()
    assert world.run(ue, PERIODIC).cause == "session-lost"
    assert ue.ue.sessions.live == {}
