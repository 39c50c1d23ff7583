"""Sequences that broke a rule once, shortened (`shorten` of sequences.py)."""

import pytest

from tests.conformance.playing import Sequence, play

SEQUENCES = (
    # A message that needs no MAC and answers nothing, in INITIAL UE MESSAGE: its connection stayed.
    Sequence("unknown", (("nas", "AUTHENTICATION RESPONSE: RES* right", "plain", True),)),
    Sequence("idle", (("nas", "SECURITY MODE REJECT", "plain", True),)),
    Sequence("connected", (("nas", "IDENTITY RESPONSE: SUCI", "plain", True),)),
    # The same with a MAC: two connections stayed, or that of a UE that is not registered.
    Sequence("connected", (("nas", "IDENTITY RESPONSE: SUCI", "protected", True),)),
    Sequence("deregistered", (("nas", "IDENTITY RESPONSE: SUCI", "protected", True),)),
    # A rejection on another connection than the UE's deregistered it: the UE's own stayed.
    Sequence("moved", (("nas", "REGISTRATION REQUEST: emergency, IMEI", "protected", False),)),
    Sequence("moved", (("nas", "AUTHENTICATION RESPONSE: RES* wrong", "protected", False),)),
    # HANDOVER NOTIFY of a target that has not told its RAN-UE-NGAP-ID: the decision raised.
    Sequence("handover-preparing", (("ngap", "HandoverNotify"),)),
    # A third connection before the second was served: the first stayed beside the second.
    Sequence(
        "reauthenticating",
        2 * (("nas", "REGISTRATION REQUEST: initial, SUCI", "protected", True),),
    ),
)


@pytest.mark.parametrize("sequence", SEQUENCES, ids=str)
def test_it_is_mended(sequence: Sequence) -> None:
    play(sequence, checked=True, replay=True)
