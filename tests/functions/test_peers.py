"""Decisions on the messages of other gNBs, UEs and UPFs, as recorded in tests/corpus/peers.

Each message gets the answers that it got when it was recorded.
"""

from collections.abc import Iterable

import pytest

import wire
from tests import corpus
from tests.corpus import Recorded
from tests.functions.peers import UPF, Conversation

ALL = [(peer, one) for peer in corpus.peers() for one in corpus.recorded(peer)]

REGISTRATION = (
    "initial-ue-message-with-registration-request",
    "uplink-nas-transport-with-authentication-response",
    "uplink-nas-transport-with-security-mode-complete",
    "initial-context-setup-response",
    "uplink-nas-transport-with-registration-complete",
)


def play(here: Conversation, names: Iterable[str]) -> None:
    """Send recorded messages, and check the answers to each."""
    upf = {one.entry.name for peer, one in ALL if peer == "open5gs-upf"}
    for name in names:
        peer, send = ("open5gs-upf", here.upf) if name in upf else ("ueransim", here.gnb)
        assert send(name) == here.expected(peer, name), name


SESSIONS = (
    "uplink-nas-transport-with-ul-nas-transport",
    "uplink-nas-transport-with-ul-nas-transport-2",
    "session-establishment-response",
    "session-establishment-response-2",
    "pdu-session-resource-setup-response",
    "session-modification-response",
    "pdu-session-resource-setup-response-2",
    "session-modification-response-2",
)
IDLE = (
    "ue-context-release-request",
    "session-modification-response-3",
    "session-modification-response-3",
    "ue-context-release-complete",
)


def site(number: int = 1) -> Conversation:
    """Return a core with UERANSIM's gNB and Open5GS's UPF."""
    here = Conversation(number)
    play(here, ["ng-setup-request"])
    here.world.path("served", UPF)
    here.heard_nothing()
    play(here, ["association-setup-response"])
    assert here.world.upf(UPF).associated
    return here


def test_a_ue_registers_has_two_sessions_and_becomes_idle() -> None:
    here = site()
    play(here, [*REGISTRATION, *SESSIONS])
    assert [(s.id, s.user_plane) for s in here.world.ue().sessions] == [(1, "on"), (2, "on")]
    play(here, IDLE)
    ue = here.world.ue()
    assert ue.registered
    assert ue.connection is None
    assert [(s.id, s.user_plane) for s in ue.sessions] == [(1, "off"), (2, "off")]
    here.world.verify()


def test_an_uplink_report_while_the_user_plane_is_on_pages_nobody() -> None:
    here = site()
    play(here, [*REGISTRATION, *SESSIONS, "session-report-request", "session-report-request-2"])
    assert here.world.ue().paging is None


def test_a_ue_comes_back_with_uplink_data() -> None:
    here = site()
    play(here, [*REGISTRATION, *SESSIONS, *IDLE, "initial-ue-message-with-service-request"])
    assert here.heard[0]["pdu-session-status"] == [1, 2]
    assert here.heard[0]["pdu-session-reactivation-result"] == []
    here.world.verify()


def test_a_ue_is_paged_and_answers() -> None:
    here = site()
    play(here, [*REGISTRATION, *SESSIONS, *IDLE, "session-report-request-3"])
    assert here.world.ue().paging is not None
    play(here, ["initial-ue-message-with-service-request-2"])
    assert here.world.ue().paging is None
    assert {s.user_plane for s in here.world.ue().sessions} == {"requested"}
    here.world.verify()


def test_a_ue_deregisters_and_its_session_is_deleted() -> None:
    here = site(number=4)
    play(
        here,
        [
            *(f"{name}-3" for name in REGISTRATION),
            "uplink-nas-transport-with-ul-nas-transport",
            "session-establishment-response-3",
            "pdu-session-resource-setup-response-3",
            "session-modification-response",
            "uplink-nas-transport-with-deregistration-request-ue-originating",
            "session-deletion-response",
            "ue-context-release-complete-3",
        ],
    )
    ue = here.world.ue(4)
    assert not ue.registered
    assert (ue.connection, ue.sessions) == (None, ())
    here.world.verify()


def test_a_upf_that_restarted_is_associated_again() -> None:
    """It ignores heartbeats without an association, and requests of another CP function."""
    here = site()
    before = here.world.upf(UPF).recovery_time_stamp
    assert here.upf("association-setup-request") == ["AssociationSetupResponse", "HeartbeatRequest"]
    assert here.world.upf(UPF).recovery_time_stamp == before, "nothing proves it"
    here.world.pfcp.clear()
    here.world.advance(1)
    assert [wire.pfcp_peek(pdu).message for *_, pdu in here.world.pfcp] == [
        "AssociationSetupRequest"
    ]
    assert here.upf("association-setup-response-3") == []
    assert here.world.upf(UPF).recovery_time_stamp > before
    here.upf("association-setup-request-3")
    (*_, pdu) = here.world.pfcp[-1]
    assert wire.pfcp_peek(pdu).message == "SessionModificationRequest", "is it still associated?"
    here.world.verify()


def test_a_concealed_supi_is_recognized() -> None:
    """UERANSIM conceals with profile A; this core lacks the key of the recorded one."""
    (told,) = [o for _, o in ALL if o.entry.name == "registration-request-2"]
    peek = wire.nas_peek(told.entry.octets)
    assert (peek.suci_scheme, peek.supi) == (1, None)


@pytest.mark.parametrize("told", [one for _, one in ALL], ids=lambda one: one.entry.name)
def test_each_message_decodes_without_fault(told: Recorded) -> None:
    octets = told.entry.octets
    if "NGAP" in told.section:
        assert wire.ngap_check(octets) is None
        assert wire.ngap_encode(wire.ngap_decode(octets)) == octets
    elif "NAS" in told.section:
        assert wire.nas_encode(wire.nas_decode(octets)) == octets
    else:
        assert wire.pfcp_check(octets) is None
        assert wire.pfcp_encode(wire.pfcp_decode(octets)) == octets
