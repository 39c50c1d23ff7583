"""The table [emergency] of the configuration: where emergency PDU sessions are (TS 23.501
5.16.4.1)."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from schemas.config.n4 import LONGEST_DNN
from schemas.config.values import ConfigError, is_name, slice_of
from schemas.network import EmergencyServices, TrackingArea, UpfNode, is_same_dnn


class EmergencyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [emergency]. `amf.emergency` needs its `dnn`."""

    dnn: str = ""
    """The DNN of emergency PDU sessions."""
    slice: str = ""
    """Their slice, as ``"1-010203"`` or ``"1"``; the first of the first tracking area if empty."""
    five_qi: Annotated[int, Meta(ge=5, le=9)] = 5
    """Their 5QI, one without a guaranteed bit rate (TS 23.501 table 5.7.4-1). 5 is for IMS
    signalling."""
    arp_priority: Annotated[int, Meta(ge=1, le=15)] = 1
    """Their ARP priority level; 1 is the highest."""


def check(config: EmergencyConfig) -> None:
    """Check the values, whether emergency services are on or off.

    Raises:
        ConfigError: a value is not a DNN or not a slice.
    """
    if config.dnn and not is_name(config.dnn, LONGEST_DNN):
        raise ConfigError(f"emergency.dnn {config.dnn!r} is not a DNN")
    if config.slice:
        slice_of(config.slice)


def services_of(
    config: EmergencyConfig, areas: Sequence[TrackingArea], upfs: Sequence[UpfNode]
) -> EmergencyServices:
    """Return the emergency services of a network that has them. `check` has passed.

    Raises:
        ConfigError: there is no DNN or slice that serves a UE in every tracking area.
    """
    if not config.dnn:
        raise ConfigError("amf.emergency is true, but emergency.dnn is not set")
    nssai = slice_of(config.slice) if config.slice else areas[0].slices[0]
    for area in areas:
        if nssai not in area.slices:
            raise ConfigError(
                f"tracking area {area.tac} of {area.plmn} does not have {nssai}, the slice of "
                "[emergency]"
            )
    if not any(
        is_same_dnn(pool.dnn, config.dnn) and (not upf.slices or nssai in upf.slices)
        for upf in upfs
        for pool in upf.pools
    ):
        raise ConfigError(f"no upf has a dnn {config.dnn} in slice {nssai}, for [emergency]")
    return EmergencyServices(config.dnn, nssai, config.five_qi, config.arp_priority)
