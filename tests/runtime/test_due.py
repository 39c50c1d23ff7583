"""What of a step is still due: what later steps say of it, and what they do not."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.runtime.due import due, is_due
from functions.runtime.unsent import unsent
from schemas.aggregates import kind_of
from schemas.cloudevents import CloudEvent, EventType
from schemas.event import Noted
from schemas.gmm.events import SecurityModeCompleted
from schemas.step import Page, SendNgap, Step
from schemas.ue.events import WakeScheduled
from tests.functions import operator
from tests.functions.gnb import ng_setup, reset, update
from tests.functions.handover_site import Mobile
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import GNB, World, subscriber
from tests.histories.scenarios import SCENARIOS

UE = "ue/imsi-001010000000001"
NODE = f"gnb/{GNB}"


def states(name: str, steps: Sequence[Step[Any]]) -> list[Any]:
    """Return the state of an aggregate after each of its steps."""
    kind = kind_of(name)
    state, found = kind.new(), list[Any]()
    for step in steps:
        for event in step.events:
            state = kind.evolve(state, event)
        found.append(state)
    return found


def message(output: SendNgap | Page) -> str:
    return wire.ngap_peek(output.pdu).message


def foreign(steps: Sequence[Step[Any]], number: int) -> Step[Any]:
    """Return a step that is about something else: a wake-up, a PFCP response or an operator's
    event."""
    kind = (EventType.TIMER, EventType.PFCP_UPLINK, EventType.SUBSCRIPTION_CHANGED)[number % 3]
    trigger = CloudEvent(f"foreign-{number}", "/n4/10.9.0.1", kind, "seid-1")
    last = steps[-1]
    events: tuple[Any, ...] = (Noted("something else"),)
    if last.trigger.partitionkey.startswith("ngap-"):
        events += (WakeScheduled(last.at + 1),)
    return replace(last, seq=last.seq + number, trigger=trigger, events=events, outputs=())


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_about_something_else_says_nothing(name: str) -> None:
    """Every message to a gNB of every recorded scenario is due after its step, and after steps that
    do not concern it."""
    world = SCENARIOS[name]()
    for aggregate, steps in world.steps.items():
        if aggregate.startswith("upf/"):
            continue
        for index, (step, state) in enumerate(zip(steps, states(aggregate, steps), strict=True)):
            later = [foreign(steps[: index + 1], number) for number in range(1, 4)]
            for output in step.outputs:
                if isinstance(output, SendNgap | Page):
                    assert is_due(output, step, later, state), (step.seq, message(output))


def left(world: World, aggregate: str = UE) -> list[tuple[int, str]]:
    """Return the sequence number and the name of each message that is due at the end."""
    steps = world.steps[aggregate]
    found: list[tuple[int, str]] = []
    for index, step in enumerate(steps):
        kept = due(step, steps[index + 1 :], world.states[aggregate])
        assert len(kept.outputs) == len(step.outputs)
        found += [(step.seq, message(o)) for o in kept.outputs if isinstance(o, SendNgap | Page)]
    return found


def sent(world: World, name: str, aggregate: str = UE) -> int:
    """Return the number of the last step with a message of a name."""
    steps = world.steps[aggregate]
    names = [[message(o) for o in s.outputs if isinstance(o, SendNgap | Page)] for s in steps]
    return max(step.seq for step, its in zip(steps, names, strict=True) if name in its)


# A registration


@pytest.fixture
def phone() -> Phone:
    world = World(subscriber(1))
    ng_setup(world)
    return Phone(world)


def test_an_answer_shows_that_a_nas_request_came(phone: Phone) -> None:
    world = phone.world
    phone.initial(wire.nas_encode(phone.request()))
    assert left(world) == [(1, "DownlinkNASTransport")]
    phone.authenticate()
    assert left(world) == [(2, "DownlinkNASTransport")]
    phone.secure(phone.request())
    assert left(world) == []


def test_a_repetition_takes_the_place_of_a_nas_request(phone: Phone) -> None:
    phone.initial(wire.nas_encode(phone.request()))
    phone.world.advance(6.1)
    assert left(phone.world) == [(2, "DownlinkNASTransport")]


def test_another_connection_with_timers_of_its_own_says_nothing(phone: Phone) -> None:
    """Somebody else claims to be the UE: T3560 of the first connection runs on."""
    phone.initial(wire.nas_encode(phone.request()))
    other = Phone(phone.world)
    other.ran_id = 77
    other.initial(wire.nas_encode(other.request()))
    assert left(phone.world) == [(1, "DownlinkNASTransport"), (2, "DownlinkNASTransport")]


def test_a_context_request_is_due_until_the_gnb_has_answered(phone: Phone) -> None:
    tree = phone.request()
    phone.initial(wire.nas_encode(tree))
    phone.authenticate()
    phone.hear()
    complete = {"message-type": "security-mode-complete", "nas-message-container": dict(tree)}
    phone.say(complete, header=4)
    assert left(phone.world) == [(3, "InitialContextSetupRequest")]
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="00")
    assert left(phone.world) == [(3, "InitialContextSetupRequest")]
    phone.ngap("InitialContextSetupResponse")
    assert left(phone.world) == []


def test_a_release_makes_a_context_request_wrong_and_ends_with_the_connection(
    phone: Phone,
) -> None:
    tree = phone.request()
    phone.initial(wire.nas_encode(tree))
    phone.authenticate()
    phone.hear()
    complete = {"message-type": "security-mode-complete", "nas-message-container": dict(tree)}
    phone.say(complete, header=4)
    phone.hear()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "radio-connection-with-ue-lost"})
    assert left(phone.world) == [(4, "UEContextReleaseCommand")]
    phone.world.advance(5.1)
    assert left(phone.world) == [(5, "UEContextReleaseCommand")], "the repetition"
    phone.ngap("UEContextReleaseComplete")
    assert left(phone.world) == []


def test_the_last_word_is_due_with_the_release(phone: Phone) -> None:
    phone.register()
    phone.hear()
    phone.say(phone.deregistration())
    seq = sent(phone.world, "UEContextReleaseCommand")
    assert left(phone.world) == [(seq, "DownlinkNASTransport"), (seq, "UEContextReleaseCommand")]
    phone.ngap("UEContextReleaseComplete")
    assert left(phone.world) == []


def test_a_message_under_the_security_context_of_before_is_wrong(phone: Phone) -> None:
    phone.register()
    phone.say({"message-type": "service-request", **UNKNOWN_SERVICE, "5g-s-tmsi": phone.s_tmsi()})
    steps = phone.world.steps[UE]
    step, state = steps[-1], phone.world.ue()
    (output,) = (o for o in step.outputs if isinstance(o, SendNgap))
    assert message(output) == "DownlinkNASTransport"
    other = foreign(steps, 1)
    assert is_due(output, step, [other], state)
    assert not is_due(output, step, [replace(other, events=(SecurityModeCompleted(1),))], state)


UNKNOWN_SERVICE = {"ngksi": {"native": 0}, "service-type": "emergency-services-fallback"}


# Sessions


def test_a_resource_request_is_due_until_it_is_answered() -> None:
    site = Site()
    site.ask()
    seq = sent(site.world, "PDUSessionResourceSetupRequest")
    site.phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="00")
    assert left(site.world) == [(seq, "PDUSessionResourceSetupRequest")]
    site.hear()
    site.set_up()
    assert left(site.world) == []


def test_a_setup_is_due_beside_the_release_of_its_session() -> None:
    """The gNB has to answer both, and the next setup waits for the two answers."""
    site = Site()
    site.ask()
    site.hear()
    setup = sent(site.world, "PDUSessionResourceSetupRequest")
    release = {
        "message-type": "pdu-session-release-request",
        "pdu-session-identity": 1,
        "procedure-transaction-identity": 2,
    }
    site.say(1, release)
    seq = sent(site.world, "PDUSessionResourceReleaseCommand")
    due = [(setup, "PDUSessionResourceSetupRequest"), (seq, "PDUSessionResourceReleaseCommand")]
    assert left(site.world) == due
    site.released()
    assert left(site.world) == due[:1]
    site.set_up()
    assert left(site.world) == []


def test_a_reject_is_due_as_long_as_its_connection() -> None:
    """It has no answer and no timer."""
    site = Site()
    site.ask(transport={"dnn": "nowhere"})
    seq = sent(site.world, "DownlinkNASTransport")
    site.ask(psi=2)
    assert (seq, "DownlinkNASTransport") in left(site.world)
    site.set_up("PDUSessionResourceSetup", 2)
    site.phone.hear()
    site.phone.idle()
    assert left(site.world) == []


def test_paging_is_due_until_it_ends_or_is_repeated() -> None:
    site = Site()
    site.ask()
    site.set_up()
    site.hear()
    site.phone.idle()
    site.upfs.serve()
    operator.deregister(site.world, site.phone.supi)
    seq = sent(site.world, "Paging")
    assert left(site.world) == [(seq, "Paging")]
    site.world.advance(site.world.network.timers.t3513 + 0.1)
    assert left(site.world) == [(sent(site.world, "Paging"), "Paging")]
    assert sent(site.world, "Paging") > seq
    site.phone.open_again(site.phone.service_request())
    assert "Paging" not in {name for _, name in left(site.world)}


# Handovers


@pytest.fixture
def mobile() -> Mobile:
    return Mobile()


def names(world: World) -> set[str]:
    return {name for _, name in left(world)}


def test_a_handover(mobile: Mobile) -> None:
    world = mobile.world
    mobile.handover_required()
    assert names(world) == {"HandoverRequest"}
    target = world.ue().target
    assert target is not None
    mobile.acknowledge(target.amf_ue_ngap_id)
    assert names(world) == {"HandoverCommand"}
    status = {"RANStatusTransfer-TransparentContainer": STATUS}
    mobile.phone.ngap("UplinkRANStatusTransfer", **status)
    assert names(world) == {"HandoverCommand", "DownlinkRANStatusTransfer"}
    mobile.phone.ngap("HandoverCancel", Cause={"radioNetwork": "handover-cancelled"})
    assert names(world) == {"HandoverCancelAcknowledge", "UEContextReleaseCommand"}


STATUS = {
    "dRBsSubjectToStatusTransferList": [
        {
            "dRB-ID": 1,
            "dRBStatusUL": {
                "dRBStatusUL18": {"uL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 0}}
            },
            "dRBStatusDL": {
                "dRBStatusDL18": {"dL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 0}}
            },
        }
    ]
}


def test_a_path_switch_makes_what_went_to_the_gnb_before_wrong(mobile: Mobile) -> None:
    operator.deregister(mobile.world, mobile.phone.supi)
    assert names(mobile.world) == {"DownlinkNASTransport"}
    mobile.path_switch_request()
    assert names(mobile.world) == set()


def test_the_request_that_a_gnb_repeats_has_its_own_answer(mobile: Mobile) -> None:
    mobile.path_switch_request(sessions=(9,))
    first = sent(mobile.world, "PathSwitchRequestFailure")
    mobile.path_switch_request(sessions=(9,))
    assert left(mobile.world) == [
        (sent(mobile.world, "PathSwitchRequestFailure"), "PathSwitchRequestFailure")
    ]
    assert sent(mobile.world, "PathSwitchRequestFailure") > first


# RAN nodes


def test_what_shows_that_the_response_to_a_setup_came() -> None:
    """A node sends nothing else before."""
    world = World()
    ng_setup(world)
    assert left(world, NODE) == [(1, "NGSetupResponse")]
    ng_setup(world)
    assert left(world, NODE) == [(2, "NGSetupResponse")]
    world.uplink(update())
    assert left(world, NODE) == [(3, "RANConfigurationUpdateAcknowledge")]
    world.uplink(update())
    assert left(world, NODE) == [(4, "RANConfigurationUpdateAcknowledge")]
    world.uplink(reset())
    assert left(world, NODE)[1:] == [(5, "NGResetAcknowledge")]
    world.lose()
    assert left(world, NODE) == []


def test_an_update_of_the_core_is_due_until_it_is_acknowledged() -> None:
    world = World()
    ng_setup(world)
    world.reconfigure(replace(world.network, name="another"))
    assert [name for _, name in left(world, NODE)] == ["NGSetupResponse", "AMFConfigurationUpdate"]
    world.uplink({"message": "AMFConfigurationUpdateAcknowledge", "ies": []})
    assert left(world, NODE) == []


# The last steps


def test_the_response_that_follows_a_fan_out_is_left_to_its_trigger() -> None:
    world = World()
    ng_setup(world)
    steps, state = world.steps[NODE], world.states[NODE]
    assert unsent(steps, [], state) == steps
    world.uplink(reset())
    assert [message(o) for o in steps[1].outputs if isinstance(o, SendNgap)] == [
        "NGResetAcknowledge"
    ]
    assert unsent(steps, [], world.states[NODE]) == []
