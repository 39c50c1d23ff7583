"""De-concealing a SUCI (TS 33.501 6.12.2): stateless, and the only part with the private keys.

What comes concealed goes on to `registration` under its SUPI, the event otherwise as it was.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import DecodeError, msgpack
from msgspec.structs import replace

import wire
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    CloudEvent,
    EventType,
    Identified,
    Unidentified,
)
from schemas.identity import slot_of
from schemas.procedures import Procedure
from schemas.step import encode

PROFILES: Final = {1: "A", 2: "B"}
"""The protection schemes of TS 33.501 annex C.3."""


class HomeNetworkKey(NamedTuple):
    """A private key of the home network."""

    profile: str
    private_key: bytes


def decide(trigger: CloudEvent, keys: Mapping[int, HomeNetworkKey]) -> CloudEvent:
    """The event to publish in place of `trigger`; `keys` by home network public key identifier."""
    try:
        suci = _suci(trigger)
        if suci is None:
            return _unidentified(trigger, "no SUCI in the message")
        supi = _deconceal(suci, keys)
    except (wire.WireError, DecodeError, _UnusableError) as err:
        return _unidentified(trigger, str(err))
    return replace(trigger, procedure=Procedure.REGISTRATION, partitionkey=supi, slot=slot_of(supi))


class _UnusableError(Exception):
    pass


def _suci(trigger: CloudEvent) -> bytes | None:
    if trigger.type == EventType.IDENTIFIED:
        return msgpack.decode(trigger.data, type=Identified).suci
    nas = wire.ngap_peek(trigger.data).nas
    return nas.suci if nas is not None else None


def _deconceal(suci: bytes, keys: Mapping[int, HomeNetworkKey]) -> str:
    scheme, key_id = wire.suci_scheme(suci)
    if scheme == 0:
        return wire.suci_deconceal(suci)
    profile = PROFILES.get(scheme)
    key = keys.get(key_id)
    if profile is None:
        raise _UnusableError(f"the SUCI has the unknown protection scheme {scheme}")
    if key is None or key.profile != profile:
        raise _UnusableError(f"there is no home network key {key_id} of profile {profile}")
    return wire.suci_deconceal(suci, profile, key.private_key)


def _unidentified(trigger: CloudEvent, reason: str) -> CloudEvent:
    lost = Unidentified(reason, trigger.type, trigger.source, trigger.data, trigger.sequence or 0)
    return replace(
        trigger,
        type=EventType.UNIDENTIFIED,
        procedure=Procedure.REGISTRATION,
        data=encode(lost),
        datacontenttype=MSGPACK_MEDIA_TYPE,
        sequence=None,
    )
