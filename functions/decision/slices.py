"""The allowed NSSAI and the registration area (TS 23.501 5.15.4.1.1, 5.15.5.2.1, 5.3.2.3)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from functions.messages.nas import gmm
from functions.messages.trees import Tree
from schemas.identity import Plmn, SNssai, Tai
from schemas.network import Network, TrackingArea
from schemas.subscriber import Subscriber

MAX_TAIS = 16
"""TAIs of a TAI list (TS 24.501 9.11.3.9)."""
MAX_ALLOWED = 8
"""S-NSSAIs of an allowed NSSAI (TS 24.501 9.11.3.37)."""


class Nssai(NamedTuple):
    """The allowed and the rejected S-NSSAIs of a request."""

    allowed: tuple[SNssai, ...]
    rejected_in_plmn: tuple[SNssai, ...]
    """Not in the subscription, or in no tracking area of the PLMN."""
    rejected_in_area: tuple[SNssai, ...]
    """Available to the UE in the PLMN, but in no tracking area of the registration area."""


def requested_of(request: Mapping[str, Any]) -> tuple[SNssai, ...]:
    """Return the requested NSSAI of a REGISTRATION REQUEST."""
    items: Sequence[Mapping[str, Any]] = request.get("requested-nssai", ())
    return tuple(dict.fromkeys(gmm.read_s_nssai(item) for item in items))


def allow(
    network: Network,
    requested: Sequence[SNssai],
    subscriber: Subscriber,
    area: TrackingArea,
    lacking: Sequence[SNssai] = (),
) -> Nssai:
    """Return the allowed NSSAI in a tracking area, of which the gNB is `lacking` some slices.

    If no requested S-NSSAI is allowed, the default S-NSSAIs of the subscription are used.
    """
    subscribed = [slice_.nssai for slice_ in subscriber.slices]
    here = set(area.slices).difference(lacking)
    allowed = [s for s in requested if s in subscribed and s in here]
    refused = [s for s in requested if s not in allowed] if len(allowed) < len(requested) else []
    if not allowed:
        allowed = [s.nssai for s in subscriber.slices if s.default and s.nssai in here]
    return with_rejected(network, area.plmn, subscriber, allowed[:MAX_ALLOWED], refused)


def with_rejected(
    network: Network,
    plmn: Plmn,
    subscriber: Subscriber | None,
    allowed: Sequence[SNssai],
    refused: Sequence[SNssai],
) -> Nssai:
    """Return the NSSAIs of a UE with `refused` S-NSSAIs, which are not allowed: each is rejected
    for the PLMN or for the registration area."""
    there: set[SNssai] = set()
    if refused and subscriber is not None:
        subscribed = (one.nssai for one in subscriber.slices)
        there = set(subscribed).intersection(network.slices(plmn))
    return Nssai(
        tuple(allowed),
        tuple(one for one in refused if one not in there),
        tuple(one for one in refused if one in there),
    )


def rejected_nssai(nssai: Nssai) -> Tree:
    """Return the rejected NSSAI as a part of a NAS tree, empty for none (TS 24.501 9.11.3.46)."""
    items = [
        {"s-nssai": gmm.s_nssai(s), "cause": cause}
        for group, cause in (
            (nssai.rejected_in_plmn, "not-available-in-plmn-or-snpn"),
            (nssai.rejected_in_area, "not-available-in-registration-area"),
        )
        for s in group
    ]
    return {"rejected-nssai": items} if items else {}


def registration_area(
    network: Network, subscriber: Subscriber, tai: Tai, nssai: Nssai
) -> tuple[Tai, ...]:
    """Return the tracking areas of the PLMN with all of the allowed NSSAI and without any S-NSSAI
    that is rejected for the registration area. The current tracking area is the first.

    All have the same support of IMS voice over PS sessions (TS 23.501 5.16.3.2). A UE that moves
    to another PLMN, even an equivalent one, registers there: its 5G-GUTI and its keys are those of
    one PLMN.
    """
    allowed, rejected = set(nssai.allowed), nssai.rejected_in_area
    here = network.area(tai)
    voice = here is None or here.ims_vops
    found = [tai]
    for area in network.tracking_areas:
        forbidden = area.tac in subscriber.forbidden_tacs or area.ims_vops is not voice
        if area.plmn != tai.plmn or area.tac == tai.tac or forbidden:
            continue
        if allowed.issubset(area.slices) and not any(one in area.slices for one in rejected):
            found.append(area.tai)
    return tuple(found[:MAX_TAIS])


def tai_list(area: Sequence[Tai]) -> list[Tree]:
    """Return a 5GS tracking area identity list as a NAS tree (TS 24.501 9.11.3.9)."""
    by_plmn: dict[str, list[int]] = {}
    for tai in area:
        by_plmn.setdefault(tai.plmn, []).append(tai.tac)
    return [
        {"one-plmn-non-consecutive": {"plmn": plmn, "tacs": tacs}} for plmn, tacs in by_plmn.items()
    ]
