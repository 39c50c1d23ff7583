"""The messages that count as a reject of a UE's request (TS 24.501 clause 8)."""

import pytest

import wire
from functions.decision.ue_decision import is_reject
from functions.messages.nas import gsm
from schemas.causes import GsmCause

REQUEST = {"pdu-session-identity": 5, "procedure-transaction-identity": 9}
CAUSE = GsmCause.NETWORK_FAILURE


@pytest.mark.parametrize(
    "message",
    [
        {"message-type": "registration-reject", "5gmm-cause": 9},
        {"message-type": "service-reject", "5gmm-cause": 22},
        {"message-type": "authentication-reject"},
        gsm.transport(gsm.reject(5, 9, CAUSE), 5),
        gsm.transport(
            gsm.refusal({**REQUEST, "message-type": "pdu-session-release-request"}, CAUSE), 5
        ),
        gsm.transport(
            gsm.refusal({**REQUEST, "message-type": "pdu-session-modification-request"}, CAUSE), 5
        ),
    ],
)
def test_rejects(message: dict[str, object]) -> None:
    assert is_reject(wire.nas_encode(message))


@pytest.mark.parametrize(
    "message",
    [
        {"message-type": "service-accept"},
        gsm.transport(gsm.status(5, 9, CAUSE), 5),
        {"message-type": "5gmm-status", "5gmm-cause": 111},
    ],
)
def test_others(message: dict[str, object]) -> None:
    assert not is_reject(wire.nas_encode(message))
