"""Deregistration by the UE and by the network (TS 24.501 5.5.2), and the release to idle."""

from loadgen.trees import part
from loadgen.ue import messages
from loadgen.ue.base import Running, UeBase
from loadgen.ue.model import (
    NOT_REGISTERED,
    SKIPPED,
    Connection,
    Inactive,
    Procedure,
    State,
)
from loadgen.ue.nas_security import Received

_MAX_EXPIRIES = 5
_FORGET = frozenset(
    {
        "illegal-ue",
        "illegal-me",
        "5gs-services-not-allowed",
        "plmn-not-allowed",
        "tracking-area-not-allowed",
        "roaming-not-allowed-in-this-tracking-area",
        "no-suitable-cells-in-tracking-area",
        "n1-mode-not-allowed",
    }
)
"""Causes that delete the 5G-GUTI and the ngKSI (5.5.2.3.2)."""


class Deregistration(Running):
    """A UE-initiated deregistration (5.5.2.2), normal or at switch-off."""

    def __init__(self, ue: UeBase, name: Procedure) -> None:
        super().__init__(ue)
        self.name = name
        self._expiries = 0

    def start(self, now: float) -> None:
        """Send DEREGISTRATION REQUEST, on a new connection if the UE is idle."""
        ue = self._ue
        if not ue.registered:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.send(self._request())
            self._requested(now)
        else:
            ue.connect(None if ue.guti is None else ue.guti.s_tmsi, context=False)

    def initial(self, now: float) -> bytes:
        """Return DEREGISTRATION REQUEST as an initial NAS message."""
        plain = self._ue.nas.message(self._request())
        pdu = self._ue.channel.protect_initial(plain)
        self._requested(now)
        return pdu

    def challenged(self, *, failed: bool) -> None:
        """Stop T3521 at a failed challenge; restart it at a good one (5.4.1.3.7)."""
        if failed:
            self._ue.stop("T3521")
        elif self.name is Procedure.DEREGISTER and not self._ue.running("T3521"):
            self._ue.start("T3521", self._ue.values.t3521)

    def answered(self, message: str, received: Received, now: float) -> None:
        """Handle DEREGISTRATION ACCEPT or AUTHENTICATION REJECT."""
        ue = self._ue
        ue.stop("T3521")
        ue.state = State.DEREGISTERED
        if message == "authentication-reject":
            ue.forget()
            ue.usim_invalid = True
            ue.finish(message, now, await_release=True)
        else:
            ue.finish(None, now, await_release=True)

    def expired(self, timer: str, now: float) -> None:
        """Handle T3521: repeat four times, then deregister locally (5.5.2.2.6)."""
        if timer != "T3521":
            return
        ue = self._ue
        ue.repeat(timer)
        self._expiries += 1
        if self._expiries < _MAX_EXPIRIES:
            ue.send(self._request())
            ue.start(timer, ue.values.t3521)
            return
        ue.state = State.DEREGISTERED
        ue.leave()
        ue.finish("t3521-expired", now)

    def released(self, why: str, now: float) -> None:
        """Deregister locally: a lower layer failure before the accept (5.5.2.2.6)."""
        self._ue.stop("T3521")
        self._ue.state = State.DEREGISTERED
        self._ue.finish(why, now)

    def _request(self) -> bytes:
        ue = self._ue
        context = ue.channel.current
        ngksi = messages.NO_KEY if context is None else context.ngksi
        identity = ue.suci() if ue.guti is None else ue.guti.identity()
        off = self.name is Procedure.SWITCH_OFF
        return messages.deregistration_request(ngksi, identity, switch_off=off)

    def _requested(self, now: float) -> None:
        ue = self._ue
        ue.requested(Procedure.DEREGISTER)
        if self.name is Procedure.SWITCH_OFF:
            # The network sends no accept; the UE waits for its release (5.5.2.2.1).
            ue.state = State.DEREGISTERED
            ue.finish(None, now, await_release=True)
        else:
            ue.state = State.DEREGISTERED_INITIATED
            ue.start("T3521", ue.values.t3521)


def deregistered(ue: UeBase, received: Received, now: float) -> None:
    """Handle a deregistration by the network (5.5.2.3.2). It also answers the UE's own request."""
    if ue.state not in (
        State.REGISTERED,
        State.DEREGISTERED_INITIATED,
        State.SERVICE_REQUEST_INITIATED,
    ):
        ue.unexpected("deregistration-request-ue-terminated")
        return
    ue.send(messages.DEREGISTRATION_ACCEPT)
    ue.record.deregistered += 1
    ue.state = State.DEREGISTERED
    ue.stop("T3521", "T3517")
    if received.tree.get("5gmm-cause") in _FORGET:
        ue.forget()
    kind = part(received.tree, "de-registration-type")
    running = ue.running_procedure
    if kind.get("re-registration-required") is True and (
        running is None or running.name is not Procedure.DEREGISTER
    ):
        ue.pending_procedure = Procedure.REGISTER
    if running is None:
        return
    if running.name is Procedure.DEREGISTER:
        ue.finish(None, now, await_release=True)
    elif running.name is not Procedure.IDLE:
        ue.finish("deregistered", now, await_release=ue.connection is Connection.CONNECTED)


class Idle(Running):
    """Wait for the release that the gNB requests."""

    name = Procedure.IDLE

    def start(self, now: float) -> None:
        """Make the gNB request the release."""
        if self._ue.connection is Connection.CONNECTED:
            self._ue.out.append(Inactive())
        else:
            self._ue.finish(SKIPPED, now)

    def released(self, why: str, now: float) -> None:
        """Succeed if the connection was released, fail if it was lost."""
        self._ue.finish(None if why == "connection-released" else why, now)
