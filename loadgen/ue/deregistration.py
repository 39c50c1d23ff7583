"""Leaving: UE-initiated deregistration (TS 24.501 5.5.2.2), and going idle."""

from typing import TYPE_CHECKING

from loadgen.ue import messages
from loadgen.ue.model import (
    NOT_REGISTERED,
    SKIPPED,
    Connection,
    Inactive,
    Procedure,
    Running,
    State,
)
from loadgen.ue.nas_security import Received

if TYPE_CHECKING:
    from loadgen.ue.ue import Ue

_MAX_EXPIRIES = 5


class Deregistration(Running):
    """A deregistration, normal or at switch-off."""

    def __init__(self, ue: "Ue", name: Procedure) -> None:
        super().__init__(ue)
        self.name = name
        self._expiries = 0

    def start(self, now: float) -> None:
        """Send DEREGISTRATION REQUEST, on a new connection where there is none."""
        ue = self._ue
        if not ue.registered:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.send(self._request())
            self._requested(now)
        else:
            ue.connect(None if ue.guti is None else ue.guti.s_tmsi, context=False)

    def initial(self, now: float) -> bytes:
        """DEREGISTRATION REQUEST as an initial NAS message."""
        pdu = self._ue.channel.protect_initial(self._request())
        self._requested(now)
        return pdu

    def challenged(self, *, failed: bool) -> None:
        """T3521 stops at a failed challenge, until one is good (5.4.1.3.7)."""
        if failed:
            self._ue.stop("T3521")
        elif self.name is Procedure.DEREGISTER and not self._ue.running("T3521"):
            self._ue.start("T3521", self._ue.values.t3521)

    def answered(self, message: str, received: Received, now: float) -> None:  # noqa: ARG002
        """DEREGISTRATION ACCEPT, or the UE is refused."""
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
        """T3521: four times again, then the UE deregisters locally (5.5.2.2.6)."""
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
        """Lower layer failure before the accept: deregistered locally (5.5.2.2.6)."""
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
        ue.downlink.requested(Procedure.DEREGISTER)
        if self.name is Procedure.SWITCH_OFF:
            # No accept will come; the UE stays for its release (5.5.2.2.1).
            ue.state = State.DEREGISTERED
            ue.finish(None, now, await_release=True)
        else:
            ue.state = State.DEREGISTERED_INITIATED
            ue.start("T3521", ue.values.t3521)


class Idle(Running):
    """Waiting for the release that the gNB asks for."""

    name = Procedure.IDLE

    def start(self, now: float) -> None:
        """Nothing to send: the gNB acts."""
        if self._ue.connection is Connection.CONNECTED:
            self._ue.out.append(Inactive())
        else:
            self._ue.finish(SKIPPED, now)

    def released(self, why: str, now: float) -> None:
        """Released, as it should be; or lost."""
        self._ue.finish(None if why == "connection-released" else why, now)
