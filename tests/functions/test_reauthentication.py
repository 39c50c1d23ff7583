"""Authentication of a registered UE (TS 24.501 4.4.3.5), and its key at the gNB."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.gmm.authentication.reauthentication import FEWEST
from schemas.connection.events import ContextModificationFailed
from schemas.network import SecurityPolicy
from schemas.subscriber import Ambr
from tests.functions.checked import CheckedWorld
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK, NETWORK

MESSAGE = "message-type"
MOBILITY = "mobility-registration-updating"
LIMIT = 6
MODIFICATION = "UEContextModificationRequest"
POLICY = SecurityPolicy(reauthenticate_after=LIMIT)


def status(phone: Phone) -> None:
    """Send a message that changes nothing and uses a NAS COUNT."""
    phone.say({MESSAGE: "5gmm-status", "5gmm-cause": 111})


@pytest.fixture
def phone() -> Phone:
    """Return a UE that must be authenticated at its next message."""
    found = Phone(CheckedWorld(network=replace(NETWORK, security=POLICY)))
    found.register()
    found.hear()
    security = found.world.ue().security
    assert security is not None
    while security is not None and security.uplink < LIMIT - 1:
        status(found)
        security = found.world.ue().security
    assert found.hear() == []
    return found


def taken_over(phone: Phone) -> dict[str, Any]:
    """Complete the authentication and the security mode, and return the last message."""
    challenge = phone.hear()[-1]
    assert (challenge[MESSAGE], challenge["security"]) == ("authentication-request", 2)
    phone.say(phone.answer(challenge))
    command = phone.hear()[-1]
    assert (command[MESSAGE], command["security"]) == ("security-mode-command", 3)
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    heard = phone.hear()
    return heard[-1] if heard else {}


def key_of(phone: Phone, count: int = 0) -> str:
    return wire.kgnb(phone.kamf, count).hex()


def test_a_ue_that_is_due_gets_another_key_and_so_does_its_gnb(phone: Phone) -> None:
    before = phone.kamf
    first = phone.ngksi
    status(phone)
    modification = taken_over(phone)
    assert phone.kamf != before
    assert phone.ngksi != first
    assert modification[MESSAGE] == MODIFICATION
    assert modification["SecurityKey"] == key_of(phone)
    ue = phone.world.ue()
    assert ue.security is not None
    assert (ue.security.kamf, ue.security.uplink) == (phone.kamf, 1)
    assert ue.connection is not None
    assert (ue.connection.rekeyed, ue.connection.modifying) == (True, "key")
    phone.ngap("UEContextModificationResponse")
    here = phone.world.ue().connection
    assert here is not None
    assert (here.rekeyed, here.modifying, here.nh, here.ncc) == (False, "", b"", 0)
    status(phone)
    assert phone.hear() == []
    assert phone.world.ue().timers == {}
    phone.world.verify()


@pytest.mark.parametrize("after", [1, 2])
def test_it_ends_however_few_messages_are_configured(after: int) -> None:
    policy = SecurityPolicy(reauthenticate_after=after)
    found = Phone(CheckedWorld(network=replace(NETWORK, security=policy)))
    found.register()
    found.hear()
    for _ in range(FEWEST):
        if found.world.ue().challenge is None:
            status(found)
    assert taken_over(found)[MESSAGE] == MODIFICATION
    found.ngap("UEContextModificationResponse")
    ue = found.world.ue()
    assert (ue.registered, ue.challenge, ue.pending) == (True, None, None)


def test_a_gnb_that_does_not_take_the_key_loses_the_connection(phone: Phone) -> None:
    status(phone)
    taken_over(phone)
    cause = {"radioNetwork": "unspecified"}
    phone.ngap("UEContextModificationFailure", Cause=cause)
    assert phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"
    phone.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert (ue.connection, ue.registered) == (None, True)
    phone.open_again(phone.request(MOBILITY))
    assert phone.finish()["ngap"] == "InitialContextSetupRequest"
    phone.world.verify()


@pytest.mark.parametrize(
    "answer", ["UEContextModificationResponse", "UEContextModificationFailure"]
)
def test_an_answer_that_was_not_asked_for(phone: Phone, answer: str) -> None:
    cause: dict[str, Any] = {"Cause": {"radioNetwork": "unspecified"}}
    phone.ngap(answer, **(cause if answer.endswith("Failure") else {}))
    assert phone.hear() == []
    assert phone.world.ue().connection is not None
    phone.world.verify()


def test_a_registration_that_gives_another_key_in_connected_mode() -> None:
    """A gNB with a context gets the key at once; the accept does not wait for its response."""
    phone = Phone(CheckedWorld())
    phone.register()
    phone.hear()
    request = phone.request(MOBILITY, ngksi="no-key")
    phone.say(request)
    phone.authenticate(2)
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    accept, modification = phone.hear()
    assert accept[MESSAGE] == "registration-accept"
    assert (modification[MESSAGE], modification["SecurityKey"]) == (MODIFICATION, key_of(phone))
    phone.world.verify()


def test_a_key_that_is_another_again_before_the_gnb_has_answered() -> None:
    phone = Phone(CheckedWorld())
    phone.register()
    heard = phone.hear()
    for _ in range(2):
        request = phone.request(MOBILITY, ngksi="no-key")
        phone.say(request)
        phone.authenticate(2)
        phone.hear()
        phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
        heard = phone.hear()
        phone.say({MESSAGE: "registration-complete"})
    assert [m[MESSAGE] for m in heard] == ["registration-accept"], "one request at a time"
    phone.ngap("UEContextModificationResponse")
    (modification,) = phone.hear()
    assert (modification[MESSAGE], modification["SecurityKey"]) == (MODIFICATION, key_of(phone))
    phone.ngap("UEContextModificationResponse")
    assert phone.hear() == []
    phone.world.verify()


def test_one_that_is_due_when_it_is_idle_is_challenged_by_its_next_request(phone: Phone) -> None:
    phone.idle()
    phone.open_again(phone.request(MOBILITY))
    assert phone.hear()[-1][MESSAGE] == "authentication-request"
    assert phone.world.ue().challenge is not None
    phone.world.verify()


# Collisions


def test_the_ue_deregisters_meanwhile(phone: Phone) -> None:
    status(phone)
    phone.hear()
    phone.say(phone.deregistration())
    assert phone.hear()[0][MESSAGE] == "deregistration-accept-ue-originating"
    ue = phone.world.ue()
    assert (ue.registered, ue.challenge) == (False, None)
    assert ue.timers.keys() == {"ng-release"}
    phone.world.verify()


def test_the_ue_registers_meanwhile(phone: Phone) -> None:
    """Its request starts another procedure with another challenge."""
    status(phone)
    first = phone.hear()[-1]
    request = phone.request(MOBILITY)
    phone.say(request)
    second = phone.hear()[-1]
    rand = "authentication-parameter-rand"
    assert second[rand] != first[rand]
    phone.say(phone.answer(second))
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    assert phone.hear()[0][MESSAGE] == "registration-accept"
    phone.world.verify()


def test_the_connection_goes_meanwhile(phone: Phone) -> None:
    status(phone)
    phone.hear()
    phone.idle()
    ue = phone.world.ue()
    assert (ue.challenge, ue.registered) == (None, True)
    assert ue.timers.keys() <= {"mobile-reachable"}
    phone.world.verify()


def test_no_answer_gives_the_connection_up_and_the_ue_stays_registered(phone: Phone) -> None:
    status(phone)
    phone.world.advance(31)
    heard = [m[MESSAGE] for m in phone.hear()]
    assert heard == ["authentication-request"] * 5 + ["UEContextReleaseCommand"]
    ue = phone.world.ue()
    assert (ue.registered, ue.challenge) == (True, None)
    phone.world.verify()


def test_a_wrong_answer_deregisters_the_ue(phone: Phone) -> None:
    """5.4.1.3.5: only the UE itself can have protected it."""
    status(phone)
    phone.hear()
    wrong = {"octets": "00" * 16}
    answer = {MESSAGE: "authentication-response", "authentication-response-parameter": wrong}
    phone.say(answer)
    reject, release = phone.hear()
    assert (reject[MESSAGE], reject["security"]) == ("authentication-reject", 2)
    assert release[MESSAGE] == "UEContextReleaseCommand"
    assert not phone.world.ue().registered
    phone.world.verify()


def test_a_security_mode_that_is_rejected_keeps_the_key(phone: Phone) -> None:
    status(phone)
    before = phone.world.ue().security
    phone.say(phone.answer(phone.hear()[-1]))
    security = phone.security
    phone.hear()
    phone.security = security
    phone.say({MESSAGE: "security-mode-reject", "5gmm-cause": 24})
    ue = phone.world.ue()
    assert before is not None
    assert ue.security is not None
    assert (ue.security.kamf, ue.pending) == (before.kamf, None)
    phone.world.verify()


# Sessions meanwhile, and the UE AMBR


def due_site() -> Site:
    site = Site()
    site.establish()
    site.world.network = replace(N4_NETWORK, security=SecurityPolicy(reauthenticate_after=2))
    return site


def test_a_session_that_is_asked_for_meanwhile_waits_for_the_new_key() -> None:
    site = due_site()
    phone = site.phone
    status(phone)
    phone.say(phone.answer(phone.hear()[-1]))
    pending = phone.world.downlink.copy()
    site.ask(2)
    assert [wire.ngap_decode(pdu)["message"] for _, _, pdu in phone.world.downlink] == [
        wire.ngap_decode(pdu)["message"] for _, _, pdu in pending
    ]
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    heard = [m[MESSAGE] for m in site.hear()]
    assert {"PDUSessionResourceSetupRequest", MODIFICATION} <= set(heard)


@pytest.mark.parametrize("taken", [False, True])
def test_another_ambr_of_the_ue_goes_to_its_gnb(*, taken: bool) -> None:
    site = Site()
    site.establish()
    site.phone.hear()
    another = Ambr(5_000_000, 6_000_000)
    old = site.world.subscribers[site.phone.supi]
    site.world.subscribers[site.phone.supi] = replace(old, ambr=another)
    status(site.phone)
    (modification,) = site.phone.hear()
    assert modification[MESSAGE] == MODIFICATION
    assert modification["UEAggregateMaximumBitRate"] == {
        "uEAggregateMaximumBitRateDL": 6_000_000,
        "uEAggregateMaximumBitRateUL": 5_000_000,
    }
    assert "SecurityKey" not in modification
    if taken:
        site.phone.ngap("UEContextModificationResponse")
    else:
        cause = {"radioNetwork": "unspecified"}
        site.phone.ngap("UEContextModificationFailure", Cause=cause)
    status(site.phone)
    assert site.phone.hear() == []
    here = site.world.ue().connection
    assert here is not None
    assert (here.modifying, here.releasing) == ("", "")
    steps = site.world.steps[f"ue/{site.phone.supi}"]
    failed = [e for s in steps for e in s.events if isinstance(e, ContextModificationFailed)]
    assert len(failed) == (0 if taken else 1)


# INITIAL CONTEXT SETUP FAILURE


def fails(phone: Phone) -> None:
    phone.ngap("InitialContextSetupFailure", Cause={"radioNetwork": "unspecified"})
    assert phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"
    ue = phone.world.ue()
    assert ue.connection is not None
    assert ue.connection.context == "none"
    assert (ue.registration, ue.challenge, ue.pending) == (None, None, None)
    phone.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert (ue.connection, ue.stale, ue.registered) == (None, (), True)
    assert ue.timers.keys() <= {"mobile-reachable", "n4"}
    phone.world.verify()


def test_a_context_that_fails_in_a_registration() -> None:
    phone = Phone(CheckedWorld())
    phone.register()
    phone.idle()
    phone.open_again(phone.request(MOBILITY))
    assert phone.hear()[-1]["ngap"] == "InitialContextSetupRequest"
    fails(phone)


def test_a_context_that_fails_in_a_service_request() -> None:
    site = Site()
    site.establish()
    site.idle()
    site.service_request(**{"uplink-data-status": [1]})
    fails(site.phone)
    site.upfs.serve()
    assert [s.user_plane for s in site.world.ue().sessions] == ["off"]


def test_a_context_that_fails_while_a_session_is_made() -> None:
    """A gNB without a context is requested to set one up for the session (TS 38.413 8.3.1)."""
    site = Site()
    site.phone.idle()
    site.phone.ran_id = 9
    security = site.phone.security
    assert security is not None
    request = site.phone.request(MOBILITY)
    site.phone.initial(security.protect_initial(wire.nas_encode(request)), UEContextRequest=None)
    assert site.phone.finish()["ngap"] == "DownlinkNASTransport"
    site.ask()
    assert site.hear()[-1][MESSAGE] == "InitialContextSetupRequest"
    fails(site.phone)
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0


def test_a_service_request_aborts_the_security_mode_control(phone: Phone) -> None:
    """5.4.2.7 c. The UE sent it before it got the command, and discards the command."""
    status(phone)
    security = phone.security
    phone.say(phone.answer(phone.hear()[-1]))
    assert phone.world.ue().pending is not None
    phone.world.sent()  # the SECURITY MODE COMMAND, which the UE does not process
    phone.security = security
    phone.say(phone.service_request())
    accept, challenge = phone.hear()
    assert (accept[MESSAGE], accept["security"]) == ("service-accept", 2)
    assert phone.world.ue().pending is None
    assert "T3560" in phone.world.timers(), "the UE is still due, and is challenged again"
    phone.say(phone.answer(challenge))
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    ue = phone.world.ue()
    assert ue.security is not None
    assert ue.security.kamf == phone.kamf
    phone.world.verify()
