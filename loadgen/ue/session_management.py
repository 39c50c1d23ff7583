"""5GSM: the requests of a UE, and the messages of the network (TS 24.501 clause 6)."""

from loadgen.session_model import Session
from loadgen.trees import Tree, items, number, part
from loadgen.ue import messages
from loadgen.ue.base import UeBase
from loadgen.ue.checks import check_session_accept
from loadgen.ue.model import NO_SESSION, NOT_REGISTERED, Connection, Procedure
from loadgen.ue.nas_security import Received
from loadgen.ue.service_request import ServiceRequest
from loadgen.violation import Kind

_MAX_EXPIRIES = 5
_NO_MORE = "no-psi-free"
_BACK_OFF = "T3396"
_INSUFFICIENT_RESOURCES = "insufficient-resources"
_ANSWERS = frozenset(
    {
        "pdu-session-establishment-accept",
        "pdu-session-establishment-reject",
        "pdu-session-release-reject",
    }
)


class _SessionProcedure(ServiceRequest):
    """A 5GSM request; an idle UE sends a service request for signalling first."""

    timer: str
    psi = 0
    pti = 0
    expiries = 0

    def start(self, now: float) -> None:
        """Send the request, after a service request if the UE is idle."""
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
            elif not ue.running("T3346"):
                self.connect()

    def served(self, now: float) -> None:
        """Send the request: the UE is connected."""
        self.pti = self._ue.sessions.request(self.psi)
        self._send()

    def user_plane_changed(self, now: float) -> None:
        """Do nothing: the 5GSM answer ends the procedure, not the resources."""

    def released(self, why: str, now: float) -> None:
        """Fail: the request ends with its connection."""
        self._ue.stop(self.timer)
        self._ue.sessions.pending = None
        super().released(why, now)

    def not_forwarded(self, cause: str, now: float) -> None:
        """Fail: the AMF has no SMF for the request, or the SMF does not take it (5.4.5.3.3)."""
        self.end(f"not-forwarded-{cause}", now)

    def expired(self, timer: str, now: float) -> None:
        """Handle T3580 and T3582: repeat four times, then fail (6.4.1.6, 6.4.3.6)."""
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
        """End the request, with this cause if it failed."""
        self._ue.stop(self.timer)
        self._ue.sessions.pending = None
        self._ue.finish(cause, now)

    def refused(self, message: Tree, plain: bytes, now: float) -> None:
        """Handle a reject or 5GSM STATUS."""
        kind = str(message["message-type"]).rpartition("-")[2]
        cause = f"{messages.gsm_cause_of(plain)}-{message.get('5gsm-cause')}"
        if kind == "reject":
            cause = self._ue.rejected(message, plain)
            seconds = number(message, "back-off-timer-value")
            if seconds and message.get("5gsm-cause") == _INSUFFICIENT_RESOURCES:
                self._ue.start(_BACK_OFF, float(seconds))  # 6.4.1.4.2
        self.end(f"{kind}-{cause}", now)

    def mismatched(self, message: Tree) -> None:
        """Report an answer to another kind of request, with the identities of this one."""
        text = f"{message['message-type']} to a request of another kind"
        self._ue.violate(Kind.SM_UNEXPECTED, text)

    def _send(self) -> None:
        ue = self._ue
        ue.send(self._request())
        ue.start(self.timer, getattr(ue.values, self.timer.lower()))

    def _choose(self) -> int | None:
        raise NotImplementedError

    def _request(self) -> bytes:
        raise NotImplementedError

    def _give_up(self) -> None:
        """Clean up after a request that the network never answered."""


class Establishment(_SessionProcedure):
    """UE-requested PDU session establishment (6.4.1)."""

    name = Procedure.SESSION
    timer = "T3580"

    def start(self, now: float) -> None:
        """Send the request when T3396 does not run. All sessions of a UE have the same DNN."""
        if not self._ue.running(_BACK_OFF):
            super().start(now)

    def released(self, why: str, now: float) -> None:
        """Fail, unless the request was not sent because T3396 runs."""
        if not self._ue.running(_BACK_OFF):
            super().released(why, now)

    def expired(self, timer: str, now: float) -> None:
        """Handle T3396: send the request now."""
        if timer == _BACK_OFF:
            self.start(now)
        else:
            super().expired(timer, now)

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """Handle the accept or the reject."""
        ue = self._ue
        if message["message-type"] == "pdu-session-establishment-accept":
            session = check_session_accept(ue, self.psi, ue.session_request, message)
            session.answered = hash(plain)
            self._add(session)
            self.end(None, now)
        elif message["message-type"] == "pdu-session-release-reject":
            self.mismatched(message)
        else:
            self.refused(message, plain, now)

    def _add(self, session: Session) -> None:
        ue = self._ue
        other = ue.sessions.add(session, ue.now)
        if other is not None and other.is_misled:
            ue.tolerate(Kind.SESSION_ADDRESS)
        elif other is not None:
            text = f"{session.address} of {session.dnn}, which {other.supi} has"
            ue.violate(Kind.SESSION_ADDRESS, text)

    def _choose(self) -> int | None:
        return self._ue.sessions.free_psi()

    def _request(self) -> bytes:
        asked = self._ue.session_request
        message = messages.establishment_request(self.psi, self.pti, asked.session_type)
        return messages.ul_nas_transport(self.psi, message, asked)


class SessionRelease(_SessionProcedure):
    """UE-requested release of the PDU session that was established last (6.4.3)."""

    name = Procedure.RELEASE_SESSION
    timer = "T3582"

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """Handle the command, after the UE sent its completion, or the reject."""
        name = message["message-type"]
        if name == "pdu-session-release-command":
            self.end(None, now)
        elif str(name).startswith("pdu-session-establishment"):
            self.mismatched(message)
        else:
            self.refused(message, plain, now)

    def _choose(self) -> int | None:
        return next(reversed(self._ue.sessions.live), None)

    def _request(self) -> bytes:
        self._ue.sessions.give_back(self.psi)
        request = messages.release_request(self.psi, self.pti)
        return messages.ul_nas_transport(self.psi, request)

    def _give_up(self) -> None:
        """Release the session locally (6.4.3.6 a)."""
        self._ue.sessions.remove(self.psi)


class SessionMessages:
    """Handles the 5GSM messages of the network, whether a request is running or not."""

    __slots__ = ("_ue",)

    def __init__(self, ue: UeBase) -> None:
        self._ue = ue

    def receive(self, received: Received, now: float) -> None:
        """Handle DL NAS TRANSPORT (5.4.5.3.3)."""
        ue, tree = self._ue, received.tree
        kind = tree.get("payload-container-type")
        if kind != "n1-sm-information":
            ue.violate(Kind.SM_UNEXPECTED, f"DL NAS TRANSPORT of {kind}")
            return
        message, psi = part(tree, "payload-container"), number(tree, "pdu-session-id")
        if "5gmm-cause" in tree:
            self._not_forwarded(str(tree["5gmm-cause"]), psi, now)
            return
        own = number(message, "pdu-session-identity")
        if "message-type" not in message:
            ue.violate(Kind.NAS_MALFORMED, f"a 5GSM message that does not decode: {message}")
            self._send_status(psi or 0, 0, messages.INVALID_MANDATORY)
        elif psi is None or psi != own:
            text = f"{message['message-type']} of PDU session {own}, in a transport of {psi}"
            ue.violate(Kind.SM_IDENTITY, text)
        else:
            self._dispatch(str(message["message-type"]), psi, message, received.plain, now)

    def _dispatch(self, name: str, psi: int, message: Tree, plain: bytes, now: float) -> None:
        pti = number(message, "procedure-transaction-identity") or 0
        if "unknown-ies" in message:
            self._ue.violate(Kind.NAS_MALFORMED, f"{name} with octets that are not its IEs")
        if name in _ANSWERS:
            self._answer(name, psi, pti, message, plain, now)
        elif name == "pdu-session-release-command":
            self._released(psi, pti, message, plain, now)
        elif name == "pdu-session-modification-command":
            self._modified(psi, pti, message, plain)
        elif name == "5gsm-status":
            self._status_received(psi, pti, message, plain, now)
        else:
            self._ue.violate(Kind.SM_UNEXPECTED, f"{name}, which a UE does not receive")
            self._send_status(psi, pti, messages.TYPE_NON_EXISTENT)

    def _answer(
        self, name: str, psi: int, pti: int, message: Tree, plain: bytes, now: float
    ) -> None:
        ue, sessions = self._ue, self._ue.sessions
        session = sessions.live.get(psi)
        if session is not None and session.answered == hash(plain):
            # T3580 repeated the request, and the repetition crossed the first answer.
            ue.repeat("T3580")
        elif sessions.pending is None:
            ue.violate(Kind.SM_UNEXPECTED, f"{name} for PDU session {psi}, without a request")
            self._send_status(psi, pti, messages.PTI_MISMATCH)
        elif sessions.pending != (psi, pti):
            own = f"PSI {sessions.pending[0]} PTI {sessions.pending[1]}"
            ue.violate(Kind.SM_IDENTITY, f"{name} with PSI {psi} PTI {pti}; the request has {own}")
            self._send_status(psi, pti, messages.PTI_MISMATCH)
        elif ue.running_procedure is not None:
            ue.running_procedure.session_answered(message, plain, now)

    def _not_forwarded(self, cause: str, psi: int | None, now: float) -> None:
        ue, pending = self._ue, self._ue.sessions.pending
        if pending is None or pending[0] != psi or ue.running_procedure is None:
            text = f"a message of PDU session {psi} returned unforwarded: {cause}"
            ue.violate(Kind.SM_UNEXPECTED, text)
        else:
            ue.running_procedure.not_forwarded(cause, now)

    def _status_received(self, psi: int, pti: int, message: Tree, plain: bytes, now: float) -> None:
        """Handle 5GSM STATUS (6.5.3): end the request that it names."""
        ue = self._ue
        text = f"5GSM STATUS with {message.get('5gsm-cause')}"
        ue.count_status(text)
        ue.violate(Kind.SM_STATUS, text)
        if ue.sessions.pending == (psi, pti) and ue.running_procedure is not None:
            ue.running_procedure.session_answered(message, plain, now)

    def _released(self, psi: int, pti: int, message: Tree, plain: bytes, now: float) -> None:
        """Handle PDU SESSION RELEASE COMMAND (6.3.3.3): release the session."""
        ue, sessions = self._ue, self._ue.sessions
        if psi not in sessions.live:
            if sessions.released == (psi, hash(plain)):
                ue.repeat("T3592")
            else:
                ue.violate(
                    Kind.SM_UNEXPECTED, f"release of PDU session {psi}, which does not exist"
                )
            self._send_status(psi, pti, messages.INVALID_IDENTITY)
            return
        if not self._addressed("release", psi, pti):
            return
        if psi in ue.user_plane:
            text = f"PDU session {psi} is released, but not its resources in the gNB"
            ue.violate(Kind.RESOURCE_SESSION, text)
        asked = sessions.pending is not None and sessions.pending[0] == psi
        ue.record.sessions_released += not asked
        sessions.remove(psi)
        sessions.released = psi, hash(plain)
        ue.send(messages.ul_nas_transport(psi, messages.release_complete(psi, pti)))
        running = ue.running_procedure
        if running is not None:
            if asked:
                running.session_answered(message, plain, now)
            else:
                running.user_plane_changed(now)

    def _modified(self, psi: int, pti: int, message: Tree, plain: bytes) -> None:
        """Handle PDU SESSION MODIFICATION COMMAND (6.3.2.3)."""
        ue = self._ue
        session = ue.sessions.live.get(psi)
        if session is None:
            text = f"modification of PDU session {psi}, which does not exist"
            ue.violate(Kind.SM_UNEXPECTED, text)
            self._send_status(psi, pti, messages.INVALID_IDENTITY)
            return
        if session.answered == hash(plain):
            ue.repeat("T3591")
        elif not self._addressed("modification", psi, pti):
            return
        session.answered = hash(plain)
        ambr = part(message, "session-ambr")
        if ambr:
            session.ambr = number(ambr, "dl-kbps") or 0, number(ambr, "ul-kbps") or 0
        _modify_rules(session, message)
        ue.send(messages.ul_nas_transport(psi, messages.modification_complete(psi, pti)))

    def _addressed(self, what: str, psi: int, pti: int) -> bool:
        """Whether a command has no PTI, or that of the request in progress (7.3.1)."""
        if pti == 0 or self._ue.sessions.pending == (psi, pti):
            return True
        text = f"{what} of PDU session {psi} with the PTI {pti}, which no request has"
        self._ue.violate(Kind.SM_IDENTITY, text)
        self._send_status(psi, pti, messages.PTI_MISMATCH)
        return False

    def _send_status(self, psi: int, pti: int, cause: int) -> None:
        status = messages.gsm_status(psi, pti, cause)
        self._ue.send(messages.ul_nas_transport(psi, status))


def _modify_rules(session: Session, message: Tree) -> None:
    """Add the QFIs of created or changed rules; the default rule's QFI stays first."""
    qfis = dict.fromkeys(session.qfis)
    for rule in items(message, "authorized-qos-rules"):
        qfi = number(rule, "qfi")
        if qfi is None or rule.get("op-code") == "delete":
            continue
        if rule.get("dqr") is True:
            qfis = dict.fromkeys((qfi, *qfis))
        qfis[qfi] = None
    session.qfis = tuple(qfis)
