"""Initial registration and registration updates, the UE's side (TS 24.501 5.5.1)."""

from loadgen.identity import Guti
from loadgen.trees import number
from loadgen.ue import messages
from loadgen.ue.base import Running, UeBase
from loadgen.ue.checks import check_registration_accept, check_status
from loadgen.ue.model import (
    MOBILE_TERMINATED,
    NOT_REGISTERED,
    Connection,
    Procedure,
    Reselect,
    State,
)
from loadgen.ue.nas_security import Received
from loadgen.violation import Kind

MAX_ATTEMPTS = 5
CONGESTION = 22
_USIM_INVALID = frozenset({3, 6, 7})
_FORGET = frozenset({3, 6, 7, 11, 12, 13, 15, 27, 31, 72, 73, 74, 75, 76, 77, 78})
"""Causes that delete the 5G-GUTI and the ngKSI (5.5.1.2.5)."""
_FINAL = _FORGET | {62, 79, 80, 81, 82, 93}
"""Causes that end the procedure. Other causes are abnormal cases: the UE tries again
(5.5.1.2.7)."""
_NO_MORE_ATTEMPTS = frozenset({95, 96, 97, 99, 111})
_T3346_UNPROTECTED = (900.0, 1800.0)
"""The default range of T3346 in seconds (TS 24.008 table 11.2b)."""


_NEXT_ATTEMPT = ("T3511", "T3502", "T3346")
"""Timers before the next attempt of a registration."""


def back_off(ue: UeBase, received: Received) -> bool:
    """Start T3346 with the value of a reject; with a random value if the reject is unprotected."""
    value = number(received.tree, "t3346-value")
    if not value:
        return False
    ue.repeat("T3346")
    ue.record.congested += 1
    seconds = float(value) if ue.channel.secure else ue.rng.uniform(*_T3346_UNPROTECTED)
    ue.start("T3346", seconds)
    return True


class Registration(Running):
    """One initial registration, with all its attempts."""

    name = Procedure.REGISTER

    def __init__(self, ue: UeBase) -> None:
        super().__init__(ue)
        self._presented: Guti | None = None

    def start(self, now: float) -> None:
        """Start the first attempt, or wait for T3502 or T3346."""
        ue = self._ue
        if ue.usim_invalid:
            ue.finish("usim-invalid", now)
            return
        if ue.connection is not Connection.IDLE:
            # A UE that lost its power registers without having released its connection.
            ue.leave()
        ue.state = State.DEREGISTERED
        if not (ue.running("T3502") or ue.running("T3346")):
            ue.connect(None, context=True)

    def initial(self, now: float) -> bytes:
        """Return REGISTRATION REQUEST with the 5G-GUTI if there is one, else with the SUCI.

        With a security context the message is protected and its container has the entire message.
        Without a context it has only its cleartext IEs (4.4.6).
        """
        ue = self._ue
        context, guti = ue.channel.current, ue.guti
        if context is not None and (guti is None or context.nas.uplink is None):
            ue.channel.forget()
            context = None
        ngksi = messages.NO_KEY if context is None else context.ngksi
        identity = ue.suci() if guti is None else guti.identity()
        self._presented = guti
        request = messages.registration_request(
            ue.profile, ngksi, identity, nssai=ue.requested_nssai()
        )
        self.entire, cleartext = ue.nas.request(*request)
        ue.state = State.REGISTERED_INITIATED
        ue.capability_reported = False
        ue.requested(Procedure.REGISTER)
        ue.start("T3510", ue.values.t3510)
        return cleartext if context is None else ue.channel.protect_initial(self.entire)

    def challenged(self, *, failed: bool) -> None:
        """Stop T3510 at a failed challenge; restart it at a good one (5.4.1.3.7)."""
        if failed:
            self._ue.stop("T3510")
        elif not self._ue.running("T3510"):
            self._ue.start("T3510", self._ue.values.t3510)

    def answered(self, message: str, received: Received, now: float) -> None:
        """Handle REGISTRATION ACCEPT, REGISTRATION REJECT or AUTHENTICATION REJECT (5.4.1.3.5)."""
        self._ue.stop("T3510", "T3516", "T3520")
        if message == "registration-accept":
            self._accepted(received, now)
        elif message == "registration-reject":
            self._rejected(received, now)
        else:
            self._ue.forget()
            self._ue.usim_invalid = True
            self._end(message, now)

    def expired(self, timer: str, now: float) -> None:
        """Handle T3510: the attempt failed. Handle T3511, T3502 and T3346: start the next
        attempt."""
        ue = self._ue
        if timer == "T3510":
            ue.repeat("T3510")
            ue.leave()
            self._failed_attempt("t3510-expired", now)
        elif timer in _NEXT_ATTEMPT and ue.connection is not Connection.WANTED:
            if timer == "T3502":
                ue.attempts = 0
            ue.leave()
            ue.connect(None, context=True)

    def released(self, why: str, now: float) -> None:
        """Handle a lower layer failure, or a release before the answer (5.5.1.2.7 b)."""
        self._ue.stop("T3510", "T3520")
        if self._ue.state is State.REGISTERED_INITIATED:
            self._failed_attempt(why, now)

    def _failed_attempt(self, why: str, now: float) -> None:
        """Try again after T3511, five times in all, then after T3502 (5.5.1.2.7)."""
        ue = self._ue
        ue.state = State.DEREGISTERED
        ue.authentication.delete_response()
        ue.attempts += 1
        if ue.attempts < MAX_ATTEMPTS:
            ue.start("T3511", ue.values.t3511)
            if why != "t3510-expired":
                ue.repeat("T3511")
            return
        ue.attempts = 0
        ue.forget()
        ue.start("T3502", ue.t3502)
        ue.finish(why, now, await_release=True)

    def _accepted(self, received: Received, now: float) -> None:
        ue, tree = self._ue, received.tree
        check_registration_accept(ue, tree, self._presented)
        guti = Guti.of_nas(tree.get("5g-guti"))
        ue.state = State.REGISTERED
        ue.accepted(tree)
        ue.attempts = 0
        ue.authentication.delete_response()
        ue.stop("T3502", "T3511", "T3346")
        t3502 = number(tree, "t3502-value")
        ue.t3502 = ue.values.t3502 if t3502 is None else float(t3502)
        if guti is not None:
            ue.discard_suci()
            ue.send(messages.REGISTRATION_COMPLETE)
        ue.finish(None, now)

    def _rejected(self, received: Received, now: float) -> None:
        ue = self._ue
        cause = received.plain[3]
        name = f"reject-{ue.rejected(received.tree, received.plain)}"
        t3502 = number(received.tree, "t3502-value")
        if t3502 is not None:
            ue.t3502 = float(t3502)
        if self._congested(received, cause, State.DEREGISTERED):
            return
        if cause in _FORGET:
            ue.forget()
        if cause in _FINAL:
            ue.usim_invalid = cause in _USIM_INVALID
            self._end(name, now)
            return
        if cause in _NO_MORE_ATTEMPTS:
            ue.attempts = MAX_ATTEMPTS - 1
        self._failed_attempt(name, now)

    def _congested(self, received: Received, cause: int, state: State) -> bool:
        """Start T3346 for a reject with the cause congestion. Return False for other causes
        (5.5.1.2.5)."""
        if cause != CONGESTION or not back_off(self._ue, received):
            return False
        self._ue.attempts = 0
        self._ue.state = state
        return True

    def _end(self, cause: str, now: float) -> None:
        self._ue.state = State.DEREGISTERED
        self._ue.attempts = 0
        self._ue.finish(cause, now, await_release=True)


_TYPE = {Procedure.MOBILITY_UPDATE: 2, Procedure.PERIODIC_UPDATE: 3}
"""5GS registration type (9.11.3.7)."""
DEREGISTERING = frozenset({3, 6, 7, 9, 10, 11, 12, 13, 15, 27, 73})
"""Causes that deregister the UE (5.5.1.3.5, 5.6.1.5); with #10 the UE keeps its keys."""
IMPLICITLY_DEREGISTERED = 10


class RegistrationUpdate(Registration):
    """A periodic or mobility update (5.5.1.3). Unlike an initial registration it is tried once."""

    reported = True

    def __init__(self, ue: UeBase, name: Procedure, *, unsolicited: bool = False) -> None:
        super().__init__(ue)
        self.name = name
        self.unsolicited = unsolicited
        self._status = False

    @property
    def family(self) -> Procedure:
        """The family of the messages that answer it: REGISTRATION ACCEPT and REGISTRATION
        REJECT."""
        return Procedure.REGISTER

    def start(self, now: float) -> None:
        """Send the request, on a new connection if the UE is idle."""
        ue = self._ue
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.send(self._request())
        elif not ue.running("T3346"):
            if self.name is Procedure.MOBILITY_UPDATE and not self.unsolicited:
                ue.out.append(Reselect())
            ue.connect(ue.guti.s_tmsi, context=True)

    def paged(self, now: float) -> None:
        """Answer a page with the request, also while T3346 or T302 runs (5.3.9)."""
        ue = self._ue
        ue.stop("T3346")
        ue.connect(ue.guti and ue.guti.s_tmsi, context=True, cause=MOBILE_TERMINATED)

    def initial(self, now: float) -> bytes:
        """Return REGISTRATION REQUEST with its non-cleartext IEs in a container (4.4.6)."""
        self.entire = self._ue.nas.message(self._request())
        return self._ue.channel.protect_initial(self.entire)

    def _request(self) -> bytes:
        ue = self._ue
        context, guti = ue.channel.current, ue.guti
        self._presented = guti
        self._status = ue.sessions.touched
        ngksi = messages.NO_KEY if context is None else context.ngksi
        identity = ue.suci() if guti is None else guti.identity()
        status = b""
        if self._status:
            status = messages.sessions_ie(messages.PDU_SESSION_STATUS, ue.sessions.live)
        plain, _ = messages.registration_request(
            *(ue.profile, ngksi, identity, _TYPE[self.name]),
            nssai=ue.requested_nssai(),
            status=status,
        )
        ue.state = State.REGISTERED_INITIATED
        ue.requested(Procedure.REGISTER)
        ue.start("T3510", ue.values.t3510)
        return plain

    def expired(self, timer: str, now: float) -> None:
        """Handle T3510: the attempt failed (5.5.1.3.7 c). Handle T3346: send the request."""
        ue = self._ue
        if timer == "T3510":
            ue.repeat("T3510")
            ue.leave()
            self._failed_attempt("t3510-expired", now)
        elif timer == "T3346" and ue.state is State.REGISTERED:
            self.start(now)

    def _failed_attempt(self, why: str, now: float) -> None:
        """Fail: the UE stays registered and must update later (5.5.1.3.7)."""
        ue = self._ue
        ue.state = State.REGISTERED
        ue.authentication.delete_response()
        ue.finish(why, now)

    def _accepted(self, received: Received, now: float) -> None:
        ue, tree = self._ue, received.tree
        check_registration_accept(ue, tree, self._presented, update=self.name)
        ue.state = State.REGISTERED
        ue.accepted(tree)
        ue.authentication.delete_response()
        ue.stop("T3502", "T3511", "T3346")
        lost = check_status(ue, tree, Kind.UPDATE_STATUS, asked=self._status)
        if Guti.of_nas(tree.get("5g-guti")) is not None:
            ue.discard_suci()
            ue.send(messages.REGISTRATION_COMPLETE)
        ue.finish(lost, now)

    def _rejected(self, received: Received, now: float) -> None:
        ue = self._ue
        cause = received.plain[3]
        name = f"reject-{ue.rejected(received.tree, received.plain)}"
        ue.state = State.REGISTERED
        if self._congested(received, cause, State.REGISTERED):
            return
        if cause in DEREGISTERING:
            ue.state = State.DEREGISTERED
            if cause != IMPLICITLY_DEREGISTERED:
                ue.forget()
        ue.finish(name, now, await_release=True)
