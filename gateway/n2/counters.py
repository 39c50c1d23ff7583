"""What an N2 gateway counts."""

from msgspec import Struct


class N2Counters(Struct):
    """Counts since the start of the gateway."""

    uplink: int = 0
    downlink: int = 0
    malformed: int = 0
    wrong_ppid: int = 0
    undeliverable: int = 0
    """Downlink PDUs dropped because the association is full or lost. Unless it is PAGING, a full
    association ends."""
    repeated: int = 0
    """Downlink PDUs, or messages with several, dropped because they were sent before."""
    refused: int = 0
    """Messages from the bus that were not sealed for their association with the key of this core.
    """
    put_off: int = 0
    """Requests (INITIAL UE MESSAGE) that were not published when they came, because their gNB had
    too many under way. They wait, for up to 10 s."""
    given_up: int = 0
    """Of them, those that were dropped."""
    excess: int = 0
    """Other messages that were dropped because their gNB, or their UE, sent too many."""
    overloads: int = 0
