"""INITIAL CONTEXT SETUP FAILURE and ERROR INDICATION about a UE context, asked for or not.

TS 38.413 8.3.1.3 (the procedure has failed: the gNB has no UE context), 10.3.4.1A and 10.4.
"""

from typing import Any

import pytest

import wire
from tests.functions.gnb import ng_setup
from tests.functions.handover_site import Mobile
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import World

MESSAGE = "message-type"
LOST = {"radioNetwork": "radio-connection-with-ue-lost"}
WRONG_STATE = {"protocol": "message-not-compatible-with-receiver-state"}
COMMAND = "UEContextReleaseCommand"


def asked_for_context() -> Phone:
    """Return a UE that registers; its gNB has an INITIAL CONTEXT SETUP REQUEST."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert "InitialContextSetupRequest" in [m.get("ngap", m[MESSAGE]) for m in phone.hear()]
    return phone


def messages(phone: Phone) -> list[dict[str, Any]]:
    return [m for m in phone.hear() if m[MESSAGE] != "dl-nas-transport"]


def test_the_gnb_loses_the_ue_after_its_response() -> None:
    """The UE is in CM-IDLE afterwards, registered, and can be paged for its session."""
    site = Site()
    site.establish()
    site.phone.hear()
    site.phone.ngap("InitialContextSetupFailure", Cause=LOST)
    (command,) = messages(site.phone)
    assert (command[MESSAGE], command["Cause"]) == (COMMAND, LOST)
    site.phone.ngap("UEContextReleaseComplete")
    site.upfs.serve()
    ue = site.world.ue()
    assert ue.connection is None
    assert ue.registered
    assert site.session().user_plane == "off"
    assert site.session().n4.downlink is None
    site.world.verify()


def test_the_gnb_loses_the_ue_before_any_request() -> None:
    """A registration before the security mode control ends with its connection."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.ngap("InitialContextSetupFailure", Cause=LOST)
    (command,) = messages(phone)
    assert (command[MESSAGE], command["Cause"]) == (COMMAND, LOST)
    phone.ngap("UEContextReleaseComplete")
    assert world.ue().connection is None
    assert world.timers() == set()
    world.verify()


def test_a_second_failure_has_no_second_release() -> None:
    phone = asked_for_context()
    phone.ngap("InitialContextSetupFailure", Cause=LOST)
    phone.ngap("InitialContextSetupFailure", Cause=LOST)
    assert [m[MESSAGE] for m in messages(phone)] == [COMMAND]
    phone.ngap("UEContextReleaseComplete")
    assert phone.world.ue().connection is None
    phone.world.verify()


def test_the_refusal_of_a_copy_of_the_request_ends_nothing() -> None:
    """10.4: the gNB has had the request twice. Its first response says that it has a context."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    phone.hear()
    phone.ngap("InitialContextSetupFailure", Cause=WRONG_STATE)
    assert messages(phone) == []
    here = world.ue().connection
    assert here is not None
    assert (here.context, here.releasing) == ("set-up", "")
    world.verify()


def test_a_failure_of_the_gnb_that_the_ue_has_left_by_xn_ends_nothing() -> None:
    """The response of the first gNB comes after the PATH SWITCH REQUEST of the second."""
    site = Mobile()
    phone = site.phone
    gnb, association, ran_id = phone.gnb, phone.association, phone.ran_id
    site.path_switch_request(2, 21)
    site.upfs.serve()
    site.one("a2", "PathSwitchRequestAcknowledge")
    assert (gnb, association) == (phone.gnb, phone.association)
    phone.ran_id = ran_id
    phone.ngap("InitialContextSetupFailure", Cause=LOST)
    assert site.heard() == []
    here = site.world.ue().connection
    assert here is not None
    assert here.releasing == ""


def test_the_target_of_a_handover_loses_the_ue() -> None:
    """Only the target is released, and the UE stays with its gNB."""
    site = Mobile()
    amf_id = site.command()
    site.from_target(amf_id, "InitialContextSetupFailure", Cause=LOST)
    found = site.heard()
    assert [(a, m) for a, m, _ in found] == [("a2", COMMAND)]
    ue = site.world.ue()
    assert ue.handover is None
    assert ue.connection is not None
    assert ue.connection.releasing == ""


def indication(code: int) -> dict[str, Any]:
    return {
        "Cause": {"protocol": "abstract-syntax-error-reject"},
        "CriticalityDiagnostics": {
            "procedureCode": code,
            "triggeringMessage": "initiating-message",
            "procedureCriticality": "reject",
        },
    }


def test_an_error_indication_ends_the_context_setup() -> None:
    """10.3.4.1A: the procedure that it names is unsuccessfully terminated."""
    phone = asked_for_context()
    phone.ngap("ErrorIndication", **indication(14))
    assert [m[MESSAGE] for m in messages(phone)] == [COMMAND]
    phone.ngap("UEContextReleaseComplete")
    assert phone.world.ue().connection is None
    phone.world.verify()


@pytest.mark.parametrize("code", [14, 40, 4])
def test_an_error_indication_about_nothing_pending_ends_nothing(code: int) -> None:
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    phone.hear()
    phone.ngap("ErrorIndication", **indication(code))
    assert messages(phone) == []
    assert world.ue().connection is not None
    world.verify()
