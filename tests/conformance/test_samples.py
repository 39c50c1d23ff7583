"""The tables of messages are complete, and each message that the core accepts has a sample."""

import wire
from schemas.procedures import NAS_MESSAGES, NGAP_MESSAGES
from tests.conformance import ngap
from tests.conformance.bench import Bench
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES
from tests.conformance.nas_table import BOTH, GMM, GSM, UP
from tests.conformance.ngap_table import MESSAGES
from tests.conformance.states import STATES
from tests.functions.octets import PROCEDURES, pdu

LATER = (
    "PrivateMessage",
    "TimingSynchronisationStatus",
    "MTCommunicationHandling",
    "RANPagingRequest",
    "BroadcastSessionTransport",
    "NGRemoval",
    "Inventory",
    "Command",
    "AIOTSession",
)
"""Prefixes of messages that Release 17 does not have, and of the private message."""


def test_every_message_of_a_ue_has_a_sample() -> None:
    for messages, samples in ((GMM, GMM_SAMPLES), (GSM, GSM_SAMPLES)):
        sent = {sample.type for sample in samples}
        assert {m.type for m in messages if m.direction in (UP, BOTH)} <= sent
    assert NAS_MESSAGES.keys() - {0x67} <= {sample.type for sample in GMM_SAMPLES}


def test_samples_of_nas_are_without_fault() -> None:
    bench = Bench()
    for sample in (*GMM_SAMPLES, *GSM_SAMPLES):
        plain = sample.make(bench)
        assert wire.nas_answer(plain) is None, sample
        if sample in GSM_SAMPLES:
            size = int.from_bytes(plain[4:6], "big")
            faulty = wire.nas_answer(plain[6 : 6 + size]) is not None
            assert faulty == (sample.variant == "no mandatory IE") or sample.type == 0xC2, sample
        assert plain[2] == (sample.type if sample in GMM_SAMPLES else 0x67)


def test_every_message_of_ngap_is_in_the_table() -> None:
    known = {wire.ngap_peek(pdu(code, way, 0, [])).message for code, way in PROCEDURES}
    assert MESSAGES.keys() <= known
    missing = {name for name in known - MESSAGES.keys() if not name.startswith(LATER)}
    assert missing == set()


def test_each_ngap_message_that_the_core_accepts_has_a_correct_sample() -> None:
    bench = STATES["active"].build()
    by_message = {sample.message: sample for sample in ngap.samples()}
    for message in NGAP_MESSAGES:
        made = by_message[message].event(bench.fork())
        assert wire.ngap_check(made.data) is None, message


def test_states_have_unique_names_and_their_timers() -> None:
    names = [state.name for state in STATES.values()]
    assert len(names) == len(set(names))
    described = {state.name: state.build().ue.timers.keys() for state in STATES.values()}
    assert "T3522" in described["deregistered-by-network"]
    assert "T3555" in described["configuring"]
    assert "T3513" in described["paging"]
