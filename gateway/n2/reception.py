"""Admits associations and their NG SETUPs, and ends associations that stay without one."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

import wire
from eventing import subjects
from eventing.process import is_logged
from gateway.n2.admission import Admission, Places, comes_from, host_of, sources_of
from gateway.n2.identities import IDENTITIES, Identities
from gateway.n2.peer import GnbPeer
from transport import TransportError

log = logging.getLogger(__name__)

PERIOD: Final = 1.0
"""Seconds between two looks for overdue associations."""

NOT_NOW: Final = wire.ngap_encode(
    {
        "message": "NGSetupFailure",
        "ies": [{"Cause": {"misc": "unspecified"}}, {"TimeToWait": "v20s"}],
    }
)
"""The answer to a node with the identity of another one (TS 38.413 8.7.1.3). SCTP proves within the
Time to Wait, or soon after, that the other association is dead."""


class ReceptionCounters(Struct):
    """Counts since the start of the gateway."""

    admitted: int = 0
    refused: int = 0
    """Associations without a place."""
    displaced: int = 0
    """Associations that ended for one of an address with an NG SETUP before."""
    overdue: int = 0
    """Associations that ended because NG SETUP was not completed in time."""
    too_many_setups: int = 0
    """Associations that ended because of too many NG SETUP REQUESTs."""
    taken: int = 0
    """NG SETUPs refused because of the address: another one has the identity, or is configured."""


class Reception:
    """The associations of a gateway, and what each may do before NG SETUP is complete."""

    def __init__(self, places: Places, clock: Callable[[], float] = time.monotonic) -> None:
        self._admission = Admission(places)
        self._identities = Identities(places.max_per_address)
        self._sources = {
            subjects.token(gnb): sources_of(texts) for gnb, texts in places.gnbs.items() if texts
        }
        self._refused: set[str] = set()
        """Associations with an NG SETUP FAILURE of the core. They hold no identity."""
        self._peers: dict[str, GnbPeer] = {}
        self._clock = clock
        self._period = min(PERIOD, places.setup_within / 4)
        self.counters = ReceptionCounters()

    def enter(self, peer: GnbPeer) -> bool:
        """Give a new association a place, or abort it. Return whether it has one."""
        refusal, leaves = self._admission.admit(peer.id, peer.address, self._clock())
        if refusal:
            self.counters.refused += 1
            _warn(self.counters.refused, "association refused", refusal)
            peer.association.abort()
            return False
        self._peers[peer.id] = peer
        self.counters.admitted += 1
        if leaves:
            self.counters.displaced += 1
            reason = f"its place is for {peer.address}, which had NG SETUP before"
            self._end(leaves, self.counters.displaced, reason)
        return True

    def leave(self, peer: GnbPeer) -> None:
        """Free the place of an association that ended."""
        self._admission.left(peer.id)
        self._refused.discard(peer.id)
        self._peers.pop(peer.id, None)

    def claims(self, peer: GnbPeer, gnb: str) -> bool:
        """Check an NG SETUP REQUEST. Return false if it must not reach the core.

        Its association is then aborted, or has its answer.
        """
        now = self._clock()
        reason = self._identities.too_many(gnb, host_of(peer.address), now)
        if gnb != peer.gnb or not peer.named:
            peer.identities += 1
            if peer.identities > IDENTITIES:
                reason = f"it claims more than {IDENTITIES} identities"
        if reason:
            self.counters.too_many_setups += 1
            self._end(peer.id, self.counters.too_many_setups, reason)
            return False
        if reason := self._taken(peer, gnb):
            self.counters.taken += 1
            _warn(self.counters.taken, "NG SETUP refused", reason)
            self._admission.refused(peer.id, now)
            try:
                peer.association.send(0, NOT_NOW)
            except TransportError as err:
                log.info("association %s: NG SETUP FAILURE is not sent: %s", peer.id, err)
            return False
        self._admission.asked(peer.id, now)
        self._refused.discard(peer.id)
        return True

    def _taken(self, peer: GnbPeer, gnb: str) -> str:
        """Return why `peer` may not have an identity now; an empty string if it may."""
        sources = self._sources.get(gnb)
        if sources and not comes_from(peer.address, sources):
            return f"{peer.address} is none of the configured addresses of {gnb}"
        for other in self._peers.values():
            if other is peer or other.gnb != gnb or not other.named or other.id in self._refused:
                continue
            if not self._identities.may_replace(gnb, peer.address, other.address):
                return f"{peer.address} claims {gnb}, which is up from {other.address}"
        return ""

    def answered(self, peer: GnbPeer, message: str) -> None:
        """Note an NG SETUP RESPONSE or NG SETUP FAILURE of the core."""
        if message == "NGSetupResponse":
            self._admission.accepted(peer.id)
            self._identities.owned(peer.gnb, peer.address)
        elif message == "NGSetupFailure":
            self._admission.refused(peer.id, self._clock())
            self._refused.add(peer.id)

    async def watch(self, paused: Callable[[], bool]) -> None:
        """End overdue associations, except while nothing is read from gNBs."""
        while True:
            await asyncio.sleep(self._period)
            if paused():
                self._admission.postpone(self._period)
                continue
            for name in self._admission.overdue(self._clock()):
                self.counters.overdue += 1
                self._end(name, self.counters.overdue, "NG SETUP was not completed in time")

    def _end(self, association: str, count: int, reason: str) -> None:
        peer = self._peers.get(association)
        if peer is not None:
            _warn(count, f"association {association} with {peer.association.peer} ends", reason)
            peer.association.abort()


def _warn(count: int, what: str, reason: str) -> None:
    """Log the first, second, fourth, eighth... occurrence."""
    if is_logged(count):
        log.warning("%s: %s (%d so far)", what, reason, count)
