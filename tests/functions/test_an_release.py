"""AN release and lost connections (TS 23.502 4.2.6, TS 38.413 8.3)."""

import pytest
from msgspec.structs import replace

import wire
from functions.decision.env import Env
from functions.ue.dispatch import Procedures
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.events import ConnectionReleased
from schemas.gmm.events import RegistrationAborted
from schemas.procedures import Procedure
from schemas.step import Wake
from schemas.ue.events import TimerStopped
from schemas.ue.state import Timer
from tests.functions.gnb import ng_setup, reset
from tests.functions.phone import Phone
from tests.functions.states import SlowWorld
from tests.functions.world import ASSOCIATION, GNB, World

MESSAGE = "message-type"


@pytest.fixture
def phone() -> Phone:
    world = World()
    ng_setup(world)
    found = Phone(world)
    found.register()
    return found


def test_inactivity_leads_to_cm_idle(phone: Phone) -> None:
    phone.idle()
    ue = phone.world.ue()
    assert ue.connection is None
    assert ue.registered
    assert phone.world.timers() == set()
    assert {kind for kind, _ in phone.world.owners} == {"tmsi", "tai", "wake", "ngap"}
    phone.world.verify()


def test_the_command_carries_the_cause_of_the_request(phone: Phone) -> None:
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "radio-connection-with-ue-lost"})
    assert phone.hear()[-1]["Cause"] == {"radioNetwork": "radio-connection-with-ue-lost"}


def test_a_command_without_an_answer_is_repeated_and_then_believed(phone: Phone) -> None:
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.world.advance(60)
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"] * 5
    ue = phone.world.ue()
    assert ue.connection is None
    assert phone.world.timers() == set()
    phone.world.verify()


def test_a_release_during_a_registration_aborts_it() -> None:
    phone = Phone(World())
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert ue.registration is None
    assert ue.challenge is None
    assert phone.world.timers() == set()
    steps = phone.world.steps[f"ue/{phone.supi}"]
    assert any(isinstance(e, RegistrationAborted) for s in steps for e in s.events)
    phone.world.verify()


def test_a_lost_association_releases_its_ues(phone: Phone) -> None:
    phone.world.lose()
    assert phone.world.ue().connection is None
    assert {kind for kind, _ in phone.world.owners} == {"tmsi", "wake", "ngap"}
    assert phone.world.states[f"gnb/{GNB}"].association == ""
    phone.world.verify()


def test_a_new_ng_setup_releases_the_ues_of_the_one_before(phone: Phone) -> None:
    ng_setup(phone.world, association="a2")
    assert phone.world.ue().connection is None
    events = phone.world.steps[f"ue/{phone.supi}"][-1].events
    released = next(e for e in events if isinstance(e, ConnectionReleased))
    assert released.reason == "NG SETUP"


@pytest.mark.parametrize("part", [False, True])
def test_ng_reset_releases_and_is_acknowledged(phone: Phone, *, part: bool) -> None:
    connection = {"aMF-UE-NGAP-ID": phone.amf_id, "rAN-UE-NGAP-ID": phone.ran_id}
    phone.world.downlink.clear()
    phone.world.uplink(reset([connection] if part else None))
    acknowledge = phone.world.sent()[0]
    assert acknowledge["message"] == "NGResetAcknowledge"
    listed = [{"UE-associatedLogicalNG-connectionList": [connection]}] if part else []
    assert acknowledge["ies"] == listed
    assert phone.world.ue().connection is None
    phone.world.verify()


def test_ng_reset_of_others_leaves_this_one(phone: Phone) -> None:
    phone.world.uplink(reset([{"rAN-UE-NGAP-ID": 4711}]))
    assert phone.world.ue().connection is not None


def test_an_unknown_amf_ue_ngap_id_is_an_error_indication(phone: Phone) -> None:
    phone.world.downlink.clear()
    phone.amf_id = (phone.amf_id or 0) ^ 1
    phone.uplink(b"\x7e\x00\x64\x6f")
    sent = phone.world.sent()[0]
    assert sent["message"] == "ErrorIndication"
    assert {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}} in sent["ies"]


@pytest.mark.parametrize("how", ["ran", "association"])
def test_an_inconsistent_pair_of_ids_is_an_error_indication(phone: Phone, how: str) -> None:
    world = phone.world
    world.downlink.clear()
    ran_id = phone.ran_id + 1 if how == "ran" else phone.ran_id
    association = "a9" if how == "association" else ASSOCIATION
    ies = [
        {"AMF-UE-NGAP-ID": phone.amf_id},
        {"RAN-UE-NGAP-ID": ran_id},
        {"NAS-PDU": "7e00646f"},
        {"UserLocationInformation": phone.location()},
    ]
    world.uplink({"message": "UplinkNASTransport", "ies": ies}, association=association)
    sent = world.sent()[0]
    assert {"Cause": {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}} in sent["ies"]
    assert world.ue().connection is not None


def test_an_error_indication_of_the_gnb_ends_what_it_does_not_know(phone: Phone) -> None:
    phone.ngap("ErrorIndication", Cause={"radioNetwork": "unknown-local-UE-NGAP-ID"})
    assert phone.world.ue().connection is None


def test_a_missing_mandatory_ie_is_answered_with_diagnostics(phone: Phone) -> None:
    phone.world.downlink.clear()
    phone.ngap("UplinkNASTransport")
    sent = phone.world.sent()[0]
    ies = {k: v for item in sent["ies"] for k, v in item.items()}
    assert sent["message"] == "ErrorIndication"
    assert ies["Cause"] == {"protocol": "abstract-syntax-error-reject"}
    missing = ies["CriticalityDiagnostics"]["iEsCriticalityDiagnostics"]
    assert [(i["iE-ID"], i["typeOfError"]) for i in missing if i["iECriticality"] == "reject"] == [
        (38, "missing")
    ]


def test_the_number_of_unproved_connections_is_limited() -> None:
    """The authenticated connection stays, few are parked, and the others are released."""
    phone = Phone(World())
    phone.register()
    proved = phone.amf_id
    phone.guti, phone.ngksi = None, 7
    for ran_id in range(10, 40):
        phone.ran_id = ran_id
        phone.initial(wire.nas_encode(phone.request()))
        phone.world.advance(2)
    ue = phone.world.ue()
    assert ue.connection is not None
    assert ue.connection.amf_ue_ngap_id == proved
    assert len(ue.parked) <= 4
    assert all(c.releasing for c in ue.stale)
    assert len(ue.stale) < 20, "unanswered releases end although more follow"
    phone.world.advance(60)
    assert phone.world.ue().stale == ()
    phone.world.verify()


def test_an_event_that_cannot_be_decided_leaves_no_connection_behind() -> None:
    """5GMM cause #111, a release, and the timer of that release."""
    world = SlowWorld()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    world.poisoned = True
    phone.uplink(b"\x7e\x00\x57")
    world.poisoned = False
    status, release = phone.hear()
    assert (status[MESSAGE], release[MESSAGE]) == ("5gmm-status", "UEContextReleaseCommand")
    ue = phone.world.ue()
    assert (ue.registration, ue.challenge) == (None, None)
    assert ue.timers.keys() == {"ng-release"}
    assert ue.connection is not None
    assert ue.connection.sequence == 1, "later events do not wait for this event"
    phone.world.advance(60)
    assert phone.world.ue().connection is None
    phone.world.verify()


@pytest.mark.parametrize("part", [False, True])
def test_a_copy_of_an_ng_reset_spares_what_was_opened_after_it(phone: Phone, part: bool) -> None:
    """Its worker may have died before the acknowledgement; the gNB reuses its RAN-UE-NGAP-ID."""
    world = phone.world
    pair = {"rAN-UE-NGAP-ID": phone.ran_id}
    event = world.route(wire.ngap_encode(reset([pair] if part else None)))
    world.deliver(event)
    assert world.ue().connection is None
    phone.initial(wire.nas_encode(phone.request()))
    opened = world.ue().connection
    assert opened is not None
    assert opened.ran_ue_ngap_id == phone.ran_id
    world.deliver(event)
    assert world.ue().connection == opened


def test_timers_of_two_procedures_that_are_due_at_once(phone: Phone) -> None:
    """Each worker runs its own timers, whichever one the wake-up was for."""
    world = phone.world
    at = world.now - 1000
    timers = {"T3560": Timer(at, 0), "ng-release": Timer(at, 0)}
    ue = replace(world.ue(), timers=timers, wake_at=at)
    env = Env(world.now, b"", world.network, None)
    for mine, own, other in (
        (Procedure.REGISTRATION, "T3560", Procedure.AN_RELEASE),
        (Procedure.AN_RELEASE, "ng-release", Procedure.REGISTRATION),
    ):
        wake = CloudEvent("w", "/x", EventType.TIMER, f"ue/{phone.supi}", procedure=mine, slot=0)
        made = Procedures({mine}).decide(ue, wake, env)
        assert not made.forward
        assert made.procedure == mine
        stopped = [e.name for e in made.events if isinstance(e, TimerStopped)]
        assert stopped == [own]
        assert [o.procedure for o in made.outputs if isinstance(o, Wake)] == [other]
        assert made == Procedures().decide(ue, wake, env)
