"""UE-requested PDU session establishment and release (TS 24.501 6.4.1, 6.4.3)."""

from loadgen.trees import Tree
from loadgen.ue import messages
from loadgen.ue.checks import check_session_accept
from loadgen.ue.model import NO_SESSION, NOT_REGISTERED, Connection, Procedure
from loadgen.ue.service_request import ServiceRequest

_MAX_EXPIRIES = 5
_NO_MORE = "no-psi-free"


class _SessionProcedure(ServiceRequest):
    """A request of 5GSM, behind a service request for signalling where the UE is idle."""

    timer: str
    psi = 0
    pti = 0
    expiries = 0

    def start(self, now: float) -> None:
        """Send the request; first of all, become connected."""
        ue = self._ue
        psi = self._choose()
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif psi is None:
            ue.finish(_NO_MORE if self.name is Procedure.SESSION else NO_SESSION, now)
        else:
            self.psi = psi
            if ue.connection is Connection.CONNECTED:
                self.served(now)
            else:
                self.connect()

    def served(self, now: float) -> None:  # noqa: ARG002
        """The UE is connected: begin."""
        self.pti = self._ue.sessions.request(self.psi)
        self._send()

    def user_plane_changed(self, now: float) -> None:
        """The answer of 5GSM ends it, not the resources."""

    def released(self, why: str, now: float) -> None:
        """The request is over with its connection."""
        self._ue.stop(self.timer)
        self._ue.sessions.pending = None
        super().released(why, now)

    def not_forwarded(self, cause: str, now: float) -> None:
        """The AMF has no SMF for it, or none that takes it (5.4.5.3.3)."""
        self.end(f"not-forwarded-{cause}", now)

    def expired(self, timer: str, now: float) -> None:
        """T3580 and T3582: four times again, then the request is given up (6.4.1.6, 6.4.3.6)."""
        if timer != self.timer:
            super().expired(timer, now)
            return
        self._ue.repeat(timer)
        self.expiries += 1
        if self.expiries < _MAX_EXPIRIES:
            self._send()
        else:
            self._give_up()
            self.end(f"{timer.lower()}-expired", now)

    def end(self, cause: str | None, now: float) -> None:
        """The request has its end."""
        self._ue.stop(self.timer)
        self._ue.sessions.pending = None
        self._ue.finish(cause, now)

    def refused(self, message: Tree, plain: bytes, now: float) -> None:
        """A reject, or 5GSM STATUS."""
        kind = str(message["message-type"]).rpartition("-")[2]
        cause = message.get("5gsm-cause")
        self.end(f"{kind}-{messages.gsm_cause_of(plain)}-{cause}", now)

    def _send(self) -> None:
        ue = self._ue
        ue.send(self._request())
        ue.start(self.timer, getattr(ue.values, self.timer.lower()))

    def _choose(self) -> int | None:
        raise NotImplementedError

    def _request(self) -> bytes:
        raise NotImplementedError

    def _give_up(self) -> None:
        """What the UE does when the network never answers."""


class Establishment(_SessionProcedure):
    """PDU session establishment."""

    name = Procedure.SESSION
    timer = "T3580"

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """Accepted or rejected."""
        ue = self._ue
        if message["message-type"] == "pdu-session-establishment-accept":
            session = check_session_accept(ue, self.psi, ue.session_request, message)
            session.answered = hash(plain)
            ue.sessions.add(session)
            self.end(None, now)
        elif message["message-type"] == "pdu-session-release-reject":
            ue.sessions.mismatched(message)
        else:
            self.refused(message, plain, now)

    def _choose(self) -> int | None:
        return self._ue.sessions.free_psi()

    def _request(self) -> bytes:
        asked = self._ue.session_request
        message = messages.establishment_request(self.psi, self.pti, asked.session_type)
        return messages.ul_nas_transport(self.psi, message, asked)


class SessionRelease(_SessionProcedure):
    """PDU session release, of the session that was established last."""

    name = Procedure.RELEASE_SESSION
    timer = "T3582"

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """The command ends it; the UE's completion was sent already."""
        name = message["message-type"]
        if name == "pdu-session-release-command":
            self.end(None, now)
        elif str(name).startswith("pdu-session-establishment"):
            self._ue.sessions.mismatched(message)
        else:
            self.refused(message, plain, now)

    def _choose(self) -> int | None:
        return next(reversed(self._ue.sessions.live), None)

    def _request(self) -> bytes:
        self._ue.sessions.give_back(self.psi)
        return messages.ul_nas_transport(self.psi, messages.release_request(self.psi, self.pti))

    def _give_up(self) -> None:
        """The session is released locally (6.4.3.6 a)."""
        self._ue.sessions.remove(self.psi)
