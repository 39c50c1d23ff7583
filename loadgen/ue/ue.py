"""A UE without I/O: bytes and time in, the outputs of `loadgen.ue.model` out (TS 24.501).

The UE checks all messages of the core and reports each error as a `Violation`. A procedure
with a violation has failed, even if it completes. No input raises.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple, TypeAlias

from loadgen.foreign import OwnNas
from loadgen.identity import Guami, SNssai
from loadgen.session_model import Resource, SessionRequest
from loadgen.timers import TimerValues
from loadgen.ue.as_security import GnbKeys
from loadgen.ue.base import (
    DownlinkData,
    DownlinkTunnel,
    Running,
    UeBase,
    no_downlink_data,
    no_downlink_tunnel,
)
from loadgen.ue.deregistration import Deregistration, Idle
from loadgen.ue.downlink import Downlink
from loadgen.ue.handover import HandoverProcedure
from loadgen.ue.model import (
    CONNECTION_RELEASED,
    HANDOVERS,
    NOT_RELEASED,
    SKIPPED,
    Connection,
    Ended,
    Procedure,
    Send,
    State,
)
from loadgen.ue.profile import UeProfile
from loadgen.ue.recovery import TIMER, Recovery
from loadgen.ue.registration import Registration, RegistrationUpdate
from loadgen.ue.service_request import DataRequest, Page, PagingResponse, ServiceRequest
from loadgen.ue.session_management import Establishment, SessionRelease
from loadgen.ue.sessions import AddressRegistry
from loadgen.violation import Kind, Violation

_Maker: TypeAlias = Callable[[UeBase], Running]

_UPDATES = Procedure.PERIODIC_UPDATE, Procedure.MOBILITY_UPDATE
_LEAVING = Procedure.DEREGISTER, Procedure.SWITCH_OFF
_PROCEDURES: dict[Procedure, _Maker] = {
    Procedure.REGISTER: Registration,
    Procedure.IDLE: Idle,
    Procedure.SERVICE: ServiceRequest,
    Procedure.SESSION: Establishment,
    Procedure.SERVICE_REQUEST: DataRequest,
    Procedure.PAGE: Page,
    Procedure.RELEASE_SESSION: SessionRelease,
    **{name: partial(HandoverProcedure, name=name) for name in HANDOVERS},
    **{name: partial(RegistrationUpdate, name=name) for name in _UPDATES},
    **{name: partial(Deregistration, name=name) for name in _LEAVING},
}


class _Finished(NamedTuple):
    """A finished procedure that may wait for the release of the connection."""

    name: Procedure
    cause: str | None
    at: float


class Ue(UeBase):
    """One UE. The gNB must empty `out` after each call."""

    def __init__(
        self,
        profile: UeProfile,
        tai: tuple[str, int],
        *,
        timers: TimerValues | None = None,
        rng: Random | None = None,
        on_violation: Callable[[Violation], None] | None = None,
        strict: bool = False,
        session_request: SessionRequest | None = None,
        registry: AddressRegistry | None = None,
        downlink_data: DownlinkData = no_downlink_data,
        downlink_tunnel: DownlinkTunnel = no_downlink_tunnel,
        nas: OwnNas | None = None,
    ) -> None:
        """Create a UE that is switched on, deregistered and idle: see `UeBase`."""
        super().__init__(
            profile,
            tai,
            timers=timers,
            rng=rng,
            on_violation=on_violation,
            strict=strict,
            session_request=session_request,
            registry=registry,
            downlink_data=downlink_data,
            downlink_tunnel=downlink_tunnel,
            nas=nas,
        )
        self._began = self._admitted = 0.0
        self._finished: _Finished | None = None
        self._reported = False
        self._unsolicited = False
        """Whether the network started the procedure that runs or waits for its release."""
        self._next: tuple[Procedure, float] | None = None
        """The procedure that the driver started during an unsolicited one, and since when."""
        self._downlink = Downlink(self)
        self._recovery = Recovery(self)

    # called by the driver

    @property
    def busy(self) -> Procedure | None:
        """The procedure in progress that the driver started."""
        if self._next is not None:
            return self._next[0]
        if self._unsolicited:
            return None
        if self._recovery.of is not None:
            return self._recovery.of
        if self._finished is not None:
            return self._finished.name
        return None if self.running_procedure is None else self.running_procedure.name

    @property
    def waits_for(self) -> str:
        """The timer that expires next, or ``"connection"``: why a procedure is unfinished."""
        if self.connection is Connection.WANTED:
            return "connection"
        return self.next_except("T3519")

    def begin(self, procedure: Procedure, now: float, since: float | None = None) -> None:
        """Start a procedure; its latency counts from `since`.

        Raises:
            ValueError: another procedure is in progress.
        """
        if self.busy is not None:
            raise ValueError(f"{self.profile.supi} is busy with {self.busy}")
        self.now = now
        since = now if since is None else since
        if self._unsolicited:
            self._next = procedure, since
        else:
            self._begin(_PROCEDURES[procedure](self), now, since)

    def _begin(self, procedure: Running, now: float, since: float) -> None:
        self._began = self._admitted = since
        self._violated = None
        self._unsolicited, self._reported = procedure.unsolicited, procedure.reported
        self.running_procedure = procedure
        procedure.start(now)

    def count_from(self, now: float) -> None:
        """Let the latency of the running procedure count from now."""
        self._began = self._admitted = now

    def power_cycle(self) -> None:
        """Switch the UE off and on without signalling.

        The 5G-GUTI, the security context and the sequence numbers survive (annex C), and T3346
        (5.3.9) and T3396 (6.4.1.4.2). The other timers, the counters and the connection do not.
        """
        self.leave()
        self.stop_all_except("T3346", "T3396")
        self._suci = None
        self.running_procedure = self._finished = self._next = None
        self.pending_procedure = None
        self._recovery.clear()
        self._unsolicited = False
        self.state = State.DEREGISTERED
        self.usim_invalid = False
        self.attempts = 0

    # called by the gNB

    def connected(self, now: float) -> None:
        """Handle the established RRC connection: send the initial NAS message."""
        self.now = now
        self.connection = Connection.CONNECTED
        self.channel.open_connection()
        self.authentication.open_connection()
        self.answers.clear()
        self.context_nssai = self.context_guami = None
        self.context_pending = False
        if self.running_procedure is None:
            self.leave()
        else:
            self._admitted = now
            self.out.append(Send(self.running_procedure.initial(now)))

    def set_up(self, allowed_nssai: frozenset[SNssai], guami: Guami | None) -> None:
        """Handle INITIAL CONTEXT SETUP: the gNB has a context of this UE."""
        self.context_pending = False
        self.context_nssai = allowed_nssai
        self.context_guami = guami

    def handed_over(
        self, keys: GnbKeys, place: tuple[int, int], resources: dict[int, Resource]
    ) -> None:
        """Handle the move to another cell.

        Args:
            keys: the AS security keys of the target gNB.
            place: PCI and ARFCN of the target cell.
            resources: the target's resources for the UE, by PSI.
        """
        self.user_plane = resources
        if self.keys is not None:
            self.keys.handed_over(keys.ncc, place)
            if self.keys.key != keys.key:
                text = f"with NCC {keys.ncc} the target's K_gNB is not the UE's"
                self.violate(Kind.HANDOVER_KEY, text)
        if self.areas and self.tai not in self.areas:
            self.pending_procedure = Procedure.MOBILITY_UPDATE

    def user_plane_changed(self, now: float) -> None:
        """Handle PDU session resources that the gNB set up or released."""
        self.now = now
        for psi, resource in self.user_plane.items():
            session = self.sessions.live.get(psi)
            if session is not None:
                self.record.tunnels_moved += session.ul not in (None, resource.ul)
                session.ul = resource.ul
        if self.running_procedure is not None:
            self.running_procedure.user_plane_changed(now)

    def paged(self, now: float) -> None:
        """Handle a page (5.6.2.2.1). A UE in RRC idle answers, also while T3346 or T302 runs."""
        self.now = now
        if self.connection is Connection.CONNECTED or self.state is not State.REGISTERED:
            return
        running = self.running_procedure
        if running is not None:
            running.paged(now)
        elif self._finished is None:
            self._begin(PagingResponse(self), now, now)

    def released(self, now: float, why: str | None = None) -> None:
        """Handle the end of the RRC connection: a release, or a loss for the reason `why`."""
        self.now = now
        if self.connection is not Connection.CONNECTED:
            return
        self.connection = Connection.IDLE
        self.channel.secure = False
        self.user_plane = {}
        self.keys = None
        self.stop("T3540")
        if self.context_pending and why is None:
            text = "released without INITIAL CONTEXT SETUP, but a UE context was requested"
            self.violate(Kind.CONTEXT_MISSING, text)
        if self._finished is not None:
            self._end_finished(why)
        elif self.running_procedure is not None:
            self.running_procedure.released(why or CONNECTION_RELEASED, now)
        self._begin_pending()

    def _begin_pending(self) -> None:
        """Start the pending procedure if the UE has nothing else to do."""
        busy = self.running_procedure is not None or self._finished is not None
        if busy or self._next is not None or self._recovery.of is not None:
            return
        procedure = self._take_pending()
        if procedure is not None:
            self._begin(procedure, self.now, self.now)

    def _take_pending(self) -> Running | None:
        """Return the pending procedure if it can start now.

        A registration that the network requests waits for the release of the connection
        (5.4.4.3). An update for another registration area does not.
        """
        pending = self.pending_procedure
        idle = self.connection is Connection.IDLE
        outside = bool(self.areas) and self.tai not in self.areas
        if pending is None or not (idle or (outside and pending is not Procedure.REGISTER)):
            return None
        self.pending_procedure = None
        if pending is Procedure.REGISTER:
            registration = Registration(self)
            registration.unsolicited = registration.reported = True
            return registration
        return RegistrationUpdate(self, pending, unsolicited=True) if self.registered else None

    def receive(self, pdu: bytes, now: float) -> None:
        """Handle a downlink NAS message."""
        self.now = now
        if self.connection is not Connection.CONNECTED or self.channel.repeated_command(pdu):
            return
        received = self.channel.receive(pdu)
        if received is not None:
            self._downlink.dispatch(pdu, received, now)

    # time

    def advance(self, now: float) -> None:
        """Handle the timers that are due."""
        self.now = now
        for name in self.due(now):
            if self.expires(name, now):
                self._expired(name, now)

    def _expired(self, name: str, now: float) -> None:
        running = self.running_procedure
        if name == "T3516":
            self.authentication.delete_response()
        elif name == "T3519":
            self._suci = None
        elif name == "T3540":
            self.leave()
            self._end_finished(NOT_RELEASED)
        elif name == TIMER:
            again = self._recovery.expired()
            if again is not None:
                self._begin(_PROCEDURES[again](self), now, now)
        elif name == "T3520":
            # The network has failed its own authentication (5.4.1.3.7).
            self.leave()
            if running is not None:
                running.released("t3520-expired", now)
        elif running is not None:
            running.expired(name, now)

    # the end of a procedure

    def finish(self, cause: str | None, now: float, *, await_release: bool = False) -> None:
        """End the running procedure, with this cause if it failed.

        With `await_release` the end is reported when the connection is released.
        """
        if self.running_procedure is None:
            return
        name, self.running_procedure = self.running_procedure.name, None
        self._finished = _Finished(name, cause, now)
        if await_release and self.connection is Connection.CONNECTED:
            self.start("T3540", self.values.t3540)
        else:
            self._end_finished(None)

    def _end_finished(self, why: str | None) -> None:
        if self._finished is None:
            return
        (name, cause, ended), self._finished = self._finished, None
        cause = why if cause is None else cause
        if self._violated is not None and cause in (None, SKIPPED):
            cause = f"violation-{self._violated}"
        if name is Procedure.SWITCH_OFF:
            ended = self.now
        if self._unsolicited:
            self._unsolicited = False
            if self._reported:
                end = Ended(name, cause, self._began, ended, unsolicited=True)
                self.out.append(end._replace(admitted=self._admitted))
            if self._next is not None:
                (procedure, since), self._next = self._next, None
                self._begin(_PROCEDURES[procedure](self), self.now, since)
            return
        end = self._recovery.ended(name, cause, self._began)
        if end is None:
            return
        found = Ended(end.name, end.cause, end.began, ended, end.recovered)
        self.out.append(found._replace(admitted=self._admitted))
        self._begin_pending()
