"""Domain events of gNBs and UPFs, from the events of their logs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from functions.announcer.ue_facts import Fact
from schemas import domain, ran, upf
from schemas.domain import DomainType, GnbTrackingArea
from schemas.identity import SNssai, Tai
from schemas.ran import Gnb
from schemas.upf import Upf


def of_gnb(node: str, before: Gnb, event: Any, after: Gnb) -> Iterator[Fact]:
    """Yield the domain events for an event of a gNB."""
    match event:
        case ran.NgSetUp():
            yield DomainType.GNB_CONNECTED, _connected(node, after)
        case ran.RanConfigurationUpdated():
            yield DomainType.GNB_UPDATED, _connected(node, after)
        case ran.NgSetupFailed(_, cause):
            yield DomainType.GNB_REJECTED, domain.NodeFailedData(node, cause)
        case ran.NgReset(cause, connections):
            yield DomainType.GNB_RESET, domain.GnbResetData(node, cause, connections)
        case ran.AssociationEnded(association, reason) if before.association == association:
            yield DomainType.GNB_LOST, domain.NodeFailedData(node, reason)
        case _:
            pass


def _connected(node: str, state: Gnb) -> domain.GnbConnectedData:
    areas: dict[Tai, tuple[SNssai, ...]] = {}
    for supported in state.supported:
        for broadcast in supported.broadcast:
            areas[Tai(broadcast.plmn, supported.tac)] = broadcast.slices
    told = tuple(GnbTrackingArea(tai, slices) for tai, slices in areas.items())
    return domain.GnbConnectedData(node, told, state.name)


def of_upf(node: str, before: Upf, event: Any, after: Upf) -> Iterator[Fact]:
    """Yield the domain events for an event of a UPF."""
    match event:
        case upf.UpfAssociated():
            yield DomainType.UPF_ASSOCIATED, domain.UpfAssociatedData(node, after.features)
        case upf.UpfNotAssociated(cause):
            yield DomainType.UPF_NOT_ASSOCIATED, domain.NodeFailedData(node, cause)
        case upf.UpfReleased(reason) if before.associated:
            yield DomainType.UPF_RELEASED, domain.NodeFailedData(node, reason)
        case upf.UpfRestarted():
            yield DomainType.UPF_RESTARTED, domain.NodeData(node)
        case upf.UpfReachable(reachable) if reachable != before.reachable:
            kind = DomainType.UPF_REACHABLE if reachable else DomainType.UPF_UNREACHABLE
            yield kind, domain.NodeData(node)
        case upf.UpfOverloaded(reduction, until):
            when = datetime.fromtimestamp(until / 1000, UTC)
            yield DomainType.UPF_OVERLOADED, domain.UpfOverloadedData(node, reduction, when)
        case _:
            pass
