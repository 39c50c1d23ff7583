"""Shortened sequences that once broke a rule (`shorten` of sequences.py)."""

import pytest

from tests.conformance.playing import Sequence, play

SEQUENCES = (
    # A message without a MAC that answers no request, in INITIAL UE MESSAGE: the connection was not
    # released.
    Sequence("unknown", (("nas", "AUTHENTICATION RESPONSE: RES* right", "plain", True),)),
    Sequence("idle", (("nas", "SECURITY MODE REJECT", "plain", True),)),
    Sequence("connected", (("nas", "IDENTITY RESPONSE: SUCI", "plain", True),)),
    # The same with a MAC: two connections were not released, or the connection of a UE that is not
    # registered.
    Sequence("connected", (("nas", "IDENTITY RESPONSE: SUCI", "protected", True),)),
    Sequence("deregistered", (("nas", "IDENTITY RESPONSE: SUCI", "protected", True),)),
    # A rejection on a connection that is not the UE's deregistered the UE. The UE's own connection
    # was not released.
    Sequence("moved", (("nas", "REGISTRATION REQUEST: emergency, IMEI", "protected", False),)),
    Sequence("moved", (("nas", "AUTHENTICATION RESPONSE: RES* wrong", "protected", False),)),
    # HANDOVER NOTIFY of a target that has not sent its RAN-UE-NGAP-ID: the decision raised.
    Sequence("handover-preparing", (("ngap", "HandoverNotify"),)),
    # A third connection before the completion of the second: the first connection was not released.
    Sequence(
        "reauthenticating",
        2 * (("nas", "REGISTRATION REQUEST: initial, SUCI", "protected", True),),
    ),
)


@pytest.mark.parametrize("sequence", SEQUENCES, ids=str)
def test_sequence(sequence: Sequence) -> None:
    play(sequence, checked=True, replay=True)
