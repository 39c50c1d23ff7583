"""Service requests of the UE (TS 24.501 5.6.1), and its answer to paging (5.6.2)."""

from loadgen.ue import messages
from loadgen.ue.base import Running, UeBase
from loadgen.ue.checks import check_service_accept
from loadgen.ue.model import (
    MOBILE_TERMINATED,
    NO_SESSION,
    NOT_REGISTERED,
    SKIPPED,
    Connection,
    Procedure,
    State,
)
from loadgen.ue.nas_security import Received
from loadgen.ue.registration import (
    CONGESTION,
    DEREGISTERING,
    IMPLICITLY_DEREGISTERED,
    back_off,
)
from loadgen.violation import Kind

SIGNALLING, DATA, PAGED = 0, 1, 2
"""Service types (9.11.3.50)."""
_ESTABLISHMENT_CAUSE = {
    SIGNALLING: "mo-Signalling",
    DATA: "mo-Data",
    PAGED: MOBILE_TERMINATED,
}
"""RRC establishment cause by service type (table 4.5.6.1; names of TS 38.331)."""
_USER_PLANE = "user-plane"
_BUFFERING = "buffering"
_POLL = 0.005
"""Seconds between looks at the FAR of a UE that becomes idle."""


class ServiceRequest(Running):
    """A service request of an idle UE for signalling; base class of the other service requests."""

    name = Procedure.SERVICE
    service_type = SIGNALLING

    def __init__(self, ue: UeBase) -> None:
        super().__init__(ue)
        self.asked: tuple[int, ...] = ()
        """PDU session identities in the uplink data status."""
        self.wanted: frozenset[int] = frozenset()
        """PDU session identities that must get a user plane."""
        self.accepted = False
        self._requesting = False
        self._status = False
        """Whether the request contained the PDU session status."""

    @property
    def family(self) -> Procedure:
        """The procedure of SERVICE ACCEPT and SERVICE REJECT, which answer the request."""
        return Procedure.SERVICE

    def start(self, now: float) -> None:
        """Ask for a connection, with the 5G-S-TMSI."""
        ue = self._ue
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is Connection.CONNECTED:
            ue.finish(SKIPPED, now)
        elif not ue.running("T3346"):
            self.connect()

    def connect(self) -> None:
        """Ask for a connection with the establishment cause of the service type."""
        ue = self._ue
        s_tmsi = None if ue.guti is None else ue.guti.s_tmsi
        ue.connect(s_tmsi, context=True, cause=_ESTABLISHMENT_CAUSE[self.service_type])

    def paged(self, now: float) -> None:
        """Answer a page with the request, also while T3346 or T302 runs (5.3.9)."""
        self._ue.stop("T3346")
        self.service_type = PAGED
        self.connect()

    def initial(self, now: float) -> bytes:
        """Return SERVICE REQUEST with its non-cleartext IEs in a container (4.4.6)."""
        plain = self._ue.nas.message(self.request())
        return self._ue.channel.protect_initial(plain)

    def request(self) -> bytes:
        """Start the procedure and T3517. Return the plain SERVICE REQUEST."""
        ue = self._ue
        context, guti = ue.channel.current, ue.guti
        ue.state = State.SERVICE_REQUEST_INITIATED
        ue.requested(Procedure.SERVICE)
        ue.start("T3517", ue.values.t3517)
        self._requesting = True
        identity = b"\x00" if guti is None else guti.s_tmsi_identity()
        ngksi = messages.NO_KEY if context is None else context.ngksi
        plain = messages.service_request(ngksi, identity, self.service_type)
        if self.asked:
            plain += messages.sessions_ie(messages.UPLINK_DATA_STATUS, self.asked)
        self._status = ue.sessions.touched
        return (
            plain
            + messages.sessions_ie(messages.PDU_SESSION_STATUS, ue.sessions.live) * self._status
        )

    def challenged(self, *, failed: bool) -> None:
        """Stop T3517 after a failed challenge, start it after a correct one (5.4.1.3.7)."""
        if failed:
            self._ue.stop("T3517")
        elif self._requesting and not self._ue.running("T3517"):
            self._ue.start("T3517", self._ue.values.t3517)

    def answered(self, message: str, received: Received, now: float) -> None:
        """Handle SERVICE ACCEPT, SERVICE REJECT or AUTHENTICATION REJECT."""
        ue = self._ue
        ue.stop("T3517")
        self._requesting = False
        ue.state = State.REGISTERED
        if message == "service-accept":
            self._accept(received, now)
            return
        if message == "authentication-reject":
            ue.forget()
            ue.usim_invalid = True
            ue.state = State.DEREGISTERED
            ue.finish(message, now, await_release=True)
            return
        cause, name = received.plain[3], ue.rejected(received.tree, received.plain)
        if cause == CONGESTION and back_off(ue, received):
            return
        if cause in DEREGISTERING:
            ue.state = State.DEREGISTERED
            if cause != IMPLICITLY_DEREGISTERED:
                ue.forget()
        ue.finish(f"reject-{name}", now, await_release=True)

    def _accept(self, received: Received, now: float) -> None:
        ue = self._ue
        cause = check_service_accept(ue, received.tree, self.asked, status=self._status)
        if cause is not None:
            ue.finish(cause, now)
            return
        self.accepted = True
        self.served(now)

    def served(self, now: float) -> None:
        """Wait for the requested user planes after the request was accepted."""
        self.user_plane_changed(now)
        if self._ue.running_procedure is self:
            self._ue.start(_USER_PLANE, self._ue.values.user_plane)

    def user_plane_changed(self, now: float) -> None:
        """End the procedure when every remaining session has a user plane."""
        ue = self._ue
        missing = (self.wanted & ue.sessions.live.keys()) - ue.user_plane.keys()
        if self.accepted and not missing:
            ue.stop(_USER_PLANE)
            gone = self.wanted - ue.sessions.live.keys()
            ue.finish("session-released" if gone else None, now)

    def expired(self, timer: str, now: float) -> None:
        """Handle T3517: release the connection locally (5.6.1.7). Handle T3346: try again."""
        ue = self._ue
        if timer == "T3517":
            ue.repeat(timer)
            ue.leave()
            self.released("t3517-expired", now)
        elif timer == "T3346":
            self.start(now)
        elif timer == _USER_PLANE:
            missing = sorted(self.wanted - ue.user_plane.keys())
            text = f"accepted, but PDU sessions {missing} have no user plane"
            ue.violate(Kind.SERVICE_USER_PLANE, text)
            ue.finish("no-user-plane", now)

    def released(self, why: str, now: float) -> None:
        """End with a failure: the connection was released before the answer.

        The UE stays registered, and is idle.
        """
        self._requesting = False
        self._ue.stop("T3517", _USER_PLANE)
        if self._ue.running("T3346"):
            # The network is congested: the UE tries again after T3346 (5.6.1.5).
            return
        if self._ue.state is State.SERVICE_REQUEST_INITIATED:
            self._ue.state = State.REGISTERED
        self._ue.finish(why, now)


class DataRequest(ServiceRequest):
    """A service request for the uplink data of all sessions, idle or connected (5.6.1.1 d, g)."""

    name = Procedure.SERVICE_REQUEST

    def start(self, now: float) -> None:
        """Request the inactive user planes. Without any, request signalling."""
        ue = self._ue
        self.asked = tuple(psi for psi in ue.sessions.live if psi not in ue.user_plane)
        self.wanted = frozenset(self.asked)
        self.service_type = DATA if self.asked else SIGNALLING
        if ue.registered and self.asked and ue.connection is Connection.CONNECTED:
            ue.send(self.request())
        else:
            super().start(now)


class PagingResponse(ServiceRequest):
    """The answer to a page without a `Page` procedure of the driver."""

    name = Procedure.PAGE
    service_type = PAGED
    unsolicited = True


class Page(ServiceRequest):
    """Downlink data to an idle UE: page, service request, active user plane (TS 23.502 4.2.3.3).

    It begins when the UPF buffers: while the core takes the tunnel of an idle UE from the UPF,
    packets are lost, and the sender repeats them only after a pause of its own.
    """

    name = Procedure.PAGE
    service_type = PAGED

    def start(self, now: float) -> None:
        """Send downlink data to the first session when the UPF buffers, and wait for a page."""
        ue = self._ue
        session = next(iter(ue.sessions.live.values()), None)
        if not ue.registered or ue.guti is None:
            ue.finish(NOT_REGISTERED, now)
        elif session is None:
            ue.finish(NO_SESSION, now)
        elif session.psi in ue.user_plane:
            ue.finish(SKIPPED, now)
        else:
            self.wanted = frozenset({session.psi})
            # A connected UE is not paged: its resources are set up at once.
            self.accepted = ue.connection is Connection.CONNECTED
            self._address = session.address
            ue.start("paging", ue.values.paging)
            if ue.downlink_tunnel(self._address) is None:
                self._send()
            else:
                ue.start(_BUFFERING, _POLL)

    def _begin(self, now: float) -> None:
        """Send the data if the UPF buffers by now. The latency counts from here."""
        ue = self._ue
        if ue.downlink_tunnel(self._address) is None:
            ue.count_from(now)
            ue.start("paging", ue.values.paging)
            self._send()
        else:
            ue.start(_BUFFERING, _POLL)

    def _send(self) -> None:
        """Send data now and repeatedly: the report of the UPF may be lost."""
        self._ue.start("data", self._ue.values.repeated_data)
        self._ue.downlink_data(self._address)

    def paged(self, now: float) -> None:
        """Stop the data, and answer the page with a service request."""
        self._ue.stop("paging", "data", _BUFFERING)
        self.connect()

    def expired(self, timer: str, now: float) -> None:
        """Repeat the data, or fail because the UE was not paged."""
        if timer == "data":
            self._send()
        elif timer == _BUFFERING:
            self._begin(now)
        elif timer == "paging":
            buffers = not self._ue.running(_BUFFERING)
            self._ue.stop("data", _BUFFERING)
            self._ue.finish("not-paged" if buffers else "not-buffered", now)
        else:
            super().expired(timer, now)

    def user_plane_changed(self, now: float) -> None:
        """Stop sending data when the procedure has ended."""
        super().user_plane_changed(now)
        if self._ue.running_procedure is not self:
            self._ue.stop("paging", "data", _BUFFERING)
