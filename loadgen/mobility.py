"""Registration updates, periodic and for mobility, the UE's side (TS 24.501 5.5.1.3)."""

from typing import TYPE_CHECKING

from loadgen import nas_sm, nas_ue
from loadgen.accept_checks import check_accept
from loadgen.identity import Guti
from loadgen.nas_security import Received
from loadgen.registration import Registration
from loadgen.service_checks import check_status
from loadgen.ue_model import NOT_REGISTERED, Connection, Procedure, Reselect, State
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue import Ue

_TYPE = {Procedure.MOBILITY_UPDATE: 2, Procedure.PERIODIC_UPDATE: 3}
"""5GS registration type (9.11.3.7)."""
_PDU_SESSIONS = 0x50
_DEREGISTERED = frozenset({3, 6, 7, 9, 10, 11, 12, 13, 15, 27, 73})
"""Causes after which the UE is not registered any more; #10 keeps its keys (5.5.1.3.5)."""
_IMPLICITLY_DEREGISTERED = 10


class RegistrationUpdate(Registration):
    """One update; what fails is not tried again by itself, as that of an initial registration."""

    reported = True

    def __init__(self, ue: "Ue", name: Procedure, *, unsolicited: bool = False) -> None:
        super().__init__(ue)
        self.name = name
        self.unsolicited = unsolicited
        self._status = False

    @property
    def family(self) -> Procedure:
        """REGISTRATION ACCEPT and REGISTRATION REJECT answer it."""
        return Procedure.REGISTER

    def start(self, now: float) -> None:
        """Send the request, on a new connection where there is none."""
        ue = self._ue
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.send(self._request())
        else:
            if self.name is Procedure.MOBILITY_UPDATE and not self.unsolicited:
                ue.out.append(Reselect())
            ue.connect(ue.guti.s_tmsi, context=True)

    def initial(self, now: float) -> bytes:  # noqa: ARG002
        """REGISTRATION REQUEST; what is no cleartext IE of it goes into its container (4.4.6)."""
        self.entire = self._request()
        return self._ue.channel.protect_initial(self.entire)

    def _request(self) -> bytes:
        ue = self._ue
        context, guti = ue.channel.current, ue.guti
        self._presented = guti
        self._status = ue.sessions.touched
        ngksi = nas_ue.NO_KEY if context is None else context.ngksi
        identity = ue.suci() if guti is None else guti.identity()
        plain, _ = nas_ue.registration_request(ue.profile, ngksi, identity, _TYPE[self.name])
        if self._status:
            plain += nas_sm.sessions_ie(_PDU_SESSIONS, ue.sessions.live)
        ue.state = State.REGISTERED_INITIATED
        ue.downlink.requested(Procedure.REGISTER)
        ue.start("T3510", ue.values.t3510)
        return plain

    def expired(self, timer: str, now: float) -> None:
        """T3510: the attempt failed (5.5.1.3.7 c)."""
        ue = self._ue
        if timer == "T3510":
            ue.repeat("T3510")
            ue.leave()
            self._failed_attempt("t3510-expired", now)
        elif timer == "T3346" and ue.state is State.REGISTERED:
            self.start(now)

    def _failed_attempt(self, why: str, now: float) -> None:
        """The UE stays registered, and is to update again (5.5.1.3.7)."""
        ue = self._ue
        ue.state = State.REGISTERED
        ue.authentication.delete_response()
        ue.finish(why, now)

    def _accepted(self, received: Received, now: float) -> None:
        ue, tree = self._ue, received.tree
        check_accept(ue, tree, self._presented, update=self.name)
        ue.state = State.REGISTERED
        ue.accepted(tree)
        ue.authentication.delete_response()
        ue.stop("T3502", "T3511", "T3346")
        lost = check_status(ue, tree, Kind.UPDATE_STATUS, asked=self._status)
        if Guti.of_nas(tree.get("5g-guti")) is not None:
            ue.discard_suci()
            ue.send(nas_ue.REGISTRATION_COMPLETE)
        ue.finish(lost, now)

    def _rejected(self, received: Received, now: float) -> None:
        ue = self._ue
        cause = received.plain[3]
        name = f"reject-{cause}-{received.tree.get('5gmm-cause')}"
        ue.state = State.REGISTERED
        if self._congested(received, cause, State.REGISTERED):
            return
        if cause in _DEREGISTERED:
            ue.state = State.DEREGISTERED
            if cause != _IMPLICITLY_DEREGISTERED:
                ue.forget()
        ue.finish(name, now, await_release=True)
