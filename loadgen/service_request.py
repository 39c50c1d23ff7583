"""Service request for signalling, the UE's side (TS 24.501 5.6.1)."""

from typing import TYPE_CHECKING

from loadgen import nas_ue
from loadgen.nas_security import Received
from loadgen.ue_model import NOT_REGISTERED, SKIPPED, Connection, Procedure, State

if TYPE_CHECKING:
    from loadgen.ue import Ue

_DEREGISTERED = frozenset({3, 6, 7, 9, 10, 11, 12, 13, 15, 27, 73})
"""Causes after which the UE is not registered any more; #10 keeps its keys (5.6.1.5)."""
_IMPLICITLY_DEREGISTERED = 10


class ServiceRequest:
    """One service request, out of idle."""

    name = Procedure.SERVICE
    entire: bytes | None = None

    def __init__(self, ue: "Ue") -> None:
        self._ue = ue

    def start(self, now: float) -> None:
        """Ask for a connection, with the 5G-S-TMSI."""
        ue = self._ue
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.finish(SKIPPED, now)
        else:
            ue.connect(ue.guti.s_tmsi, context=True)

    def initial(self, now: float) -> bytes:  # noqa: ARG002
        """SERVICE REQUEST."""
        ue = self._ue
        context, guti = ue.channel.current, ue.guti
        ue.state = State.SERVICE_REQUEST_INITIATED
        ue.request(Procedure.SERVICE)
        ue.start("T3517", ue.values.t3517)
        identity = b"\x00" if guti is None else guti.s_tmsi_identity()
        ngksi = nas_ue.NO_KEY if context is None else context.ngksi
        return ue.channel.protect_initial(nas_ue.service_request(ngksi, identity))

    def challenged(self, *, failed: bool) -> None:
        """T3517 stops at a failed challenge, until one is good (5.4.1.3.7)."""
        if failed:
            self._ue.stop("T3517")
        elif not self._ue.running("T3517"):
            self._ue.start("T3517", self._ue.values.t3517)

    def answered(self, message: str, received: Received, now: float) -> None:
        """Accepted or rejected."""
        ue = self._ue
        ue.stop("T3517")
        ue.state = State.REGISTERED
        if message == "service-accept":
            ue.finish(None, now)
            return
        if message == "authentication-reject":
            ue.forget()
            ue.usim_invalid = True
            ue.state = State.DEREGISTERED
            ue.finish(message, now, await_release=True)
            return
        cause = received.plain[3]
        if cause in _DEREGISTERED:
            ue.state = State.DEREGISTERED
            if cause != _IMPLICITLY_DEREGISTERED:
                ue.forget()
        name = f"reject-{cause}-{received.tree.get('5gmm-cause')}"
        ue.finish(name, now, await_release=True)

    def expired(self, timer: str, now: float) -> None:
        """T3517: the attempt is over, and the connection released locally (5.6.1.7)."""
        if timer != "T3517":
            return
        self._ue.repeat(timer)
        self._ue.leave()
        self.released("t3517-expired", now)

    def released(self, why: str, now: float) -> None:
        """Lower layer failure before the answer: still registered, and idle."""
        self._ue.stop("T3517")
        self._ue.state = State.REGISTERED
        self._ue.finish(why, now)
