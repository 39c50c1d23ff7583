"""The emulators' messages, decoded by pycrate, which shares no code with `wire`."""

from typing import Any

import pytest

import wire
from loadgen.load.subscribers import MIXED_ALGORITHMS
from loadgen.ue.model import HANDOVERS, Procedure
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    OFF,
    PAGE,
    REGISTER,
    RELEASE_SESSION,
    SERVICE,
    SERVICE_REQUEST,
    SESSION,
    connection,
    lose,
)
from tests.loadgen.test_sessions import modification
from tests.loadgen.world import World, population

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning"),
]


def traffic() -> World:
    """Run a world with almost every message that a gNB and a UE can send."""
    people = population(
        6, schemes=("null", "A", "B"), algorithms=MIXED_ALGORITHMS[3:5], sqn_ahead=4
    )
    world = World(people, gnbs=3)
    ues = [world.ue(index) for index in range(6)]
    for ue in ues:
        world.run(ue, REGISTER, IDLE, SERVICE, IDLE, DEREGISTER, REGISTER, SESSION)
        flows = {"QosFlowAddOrModifyRequestList": [{"qosFlowIdentifier": 9}]}
        command = modification()
        world.amf.smf.modify(connection(world, ue), 1, [flows], command)
        world.settle()
        world.run(ue, IDLE, SERVICE_REQUEST, IDLE, PAGE, RELEASE_SESSION, SESSION, OFF)
    for ue in ues[:2]:
        world.run(ue, Procedure.REGISTER, SESSION, SESSION)
        for kind in sorted(HANDOVERS):
            world.run(ue, kind)
        world.run(ue, Procedure.PERIODIC_UPDATE, IDLE, Procedure.MOBILITY_UPDATE)
    ue = ues[0]
    world.amf.by_tmsi.clear()
    lose("authentication-request")(world.amf)
    world.begin(ue, Procedure.REGISTER)
    world.pass_time(30)
    assert ue.context is not None
    world.gnb.receive(9, b"\xff", world.now)
    world.gnb.reset([(ue.context.amf_ue_ngap_id, ue.context.ran_ue_ngap_id)], world.now)
    world.gnb.update_configuration(world.gnb.config, world.now)
    world.settle()
    assert len({wire.ngap_peek(pdu).message for pdu in world.sent}) >= 13
    return world


@pytest.fixture(scope="module")
def world() -> World:
    return traffic()


def test_ngap_decodes_and_encodes_to_the_same_octets(world: World) -> None:
    from pycrate_asn1dir import NGAP  # pyright: ignore[reportMissingTypeStubs]

    pdu: Any = NGAP.NGAP_PDU_Descriptions.NGAP_PDU  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for octets in {*world.sent, *world.heard}:
        pdu.from_aper(octets)
        assert pdu.to_aper() == octets


def test_nas_decodes(world: World) -> None:
    from pycrate_mobile.NAS5G import (  # pyright: ignore[reportMissingTypeStubs]
        parse_NAS5G,  # pyright: ignore[reportUnknownVariableType]
    )

    names: set[str] = set()
    plain = [wire.nas_encode(tree) for tree in world.amf.uplink]
    sent = [wire.ngap_peek(pdu).nas_pdu for pdu in world.sent]
    for octets in [*plain, *(nas for nas in sent if nas is not None)]:
        message: Any
        message, error = parse_NAS5G(octets, inner=False)
        assert error == 0
        assert message.to_bytes() == octets
        names.add(message._name)
    assert {
        "5GMMRegistrationRequest",
        "5GMMAuthenticationResponse",
        "5GMMAuthenticationFailure",
        "5GMMSecurityModeComplete",
        "5GMMRegistrationComplete",
        "5GMMIdentityResponse",
        "5GMMServiceRequest",
        "5GMMULNASTransport",
        "5GMMMODeregistrationRequest",
        "5GMMSecProtNASMessage",
    } <= names
