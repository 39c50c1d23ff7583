"""The procedures of a UE by their names."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from loadgen.identity import Guami, Guti, SNssai, nssai_of_nas, tais_of
from loadgen.session_model import Resource, SessionRecord, SessionRequest, Tunnel
from loadgen.timers import TimerValues
from loadgen.tolerated import Disturbance
from loadgen.trees import Tree
from loadgen.ue.as_security import GnbKeys, UeKeys
from loadgen.ue.authentication import Authentication, Usim
from loadgen.ue.base import Clock, UeRecord
from loadgen.ue.deregistration import Deregistration, Idle
from loadgen.ue.downlink import Downlink
from loadgen.ue.handover import HandoverProcedure
from loadgen.ue.model import (
    CONNECTION_RELEASED,
    HANDOVERS,
    NOT_RELEASED,
    SKIPPED,
    Connect,
    Connection,
    Ended,
    Leave,
    Output,
    Procedure,
    Running,
    Send,
    State,
)
from loadgen.ue.nas_security import NasChannel
from loadgen.ue.profile import UeProfile
from loadgen.ue.recovery import TIMER, Recovery
from loadgen.ue.registration import Registration, RegistrationUpdate
from loadgen.ue.service_request import DataRequest, Page, PagingResponse, ServiceRequest
from loadgen.ue.session_management import Establishment, SessionRelease
from loadgen.ue.sessions import Ledger, Sessions
from loadgen.violation import Kind, Violation, violation

if TYPE_CHECKING:
    pass

Maker: TypeAlias = Callable[["Ue"], Running]

_UPDATES = Procedure.PERIODIC_UPDATE, Procedure.MOBILITY_UPDATE
_LEAVING = Procedure.DEREGISTER, Procedure.SWITCH_OFF
PROCEDURES: dict[Procedure, Maker] = {
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


if TYPE_CHECKING:
    pass


class Owed:
    """A registration or an update that the network, or a move, has made necessary."""

    __slots__ = ("_procedure", "_ue")

    def __init__(self, ue: "Ue") -> None:
        self._ue = ue
        self._procedure: Procedure | None = None

    def note(self, procedure: Procedure) -> None:
        """It is to be done as soon as it can."""
        self._procedure = procedure

    def settle(self) -> None:
        """It is done, or not necessary any more."""
        self._procedure = None

    def next(self) -> Running | None:
        """What is to be begun now by a UE that has nothing else to do; None for nothing.

        A registration that the network asks for waits for the release of the connection
        (5.4.4.3), an update for another registration area does not.
        """
        ue, owed = self._ue, self._procedure
        idle = ue.connection is Connection.IDLE
        outside = bool(ue.areas) and ue.tai not in ue.areas
        if owed is None or not (idle or (outside and owed is not Procedure.REGISTER)):
            return None
        self._procedure = None
        if owed is Procedure.REGISTER:
            again = Registration(ue)
            again.unsolicited = again.reported = True
            return again
        return RegistrationUpdate(ue, owed, unsolicited=True) if ue.registered else None


DownlinkData: TypeAlias = Callable[[str], object]
"""Causes downlink data for the PDU session with this address; returns at once."""


def no_downlink_data(address: str) -> None:
    """Nobody is there who could send data to `address`."""
    del address


DownlinkTunnel: TypeAlias = Callable[[str], Tunnel | None]
"""Where packets for the address of a PDU session go now; None for nowhere, or unknown."""


def no_downlink_tunnel(address: str) -> None:
    """Nobody is there who could tell of `address`."""
    del address


class Ue(Clock):
    """One UE. What it wants done is in `out`; whoever drives it empties that after each call."""

    def __init__(
        self,
        profile: UeProfile,
        tai: tuple[str, int],
        *,
        timers: TimerValues | None = None,
        rng: Random | None = None,
        sink: Callable[[Violation], None] | None = None,
        strict: bool = False,
        session_request: SessionRequest | None = None,
        ledger: Ledger | None = None,
        downlink_data: DownlinkData = no_downlink_data,
        downlink_tunnel: DownlinkTunnel = no_downlink_tunnel,
    ) -> None:
        """A UE that is switched on, deregistered and idle.

        Args:
            profile: its credentials and capabilities.
            tai: PLMN and TAC of its cell.
            timers: timer values, those of the specification by default.
            rng: for the values that the specification wants random.
            sink: who is told of violations; by default they are kept in `violations`.
            strict: whether a repeated protected message is a violation.
            session_request: what its PDU sessions are to be.
            ledger: where it finds out whether another UE has its address.
            downlink_data: has the UPF receive data for it, which then has it paged.
            downlink_tunnel: tells where the UPF sends data for it.
        """
        super().__init__()
        self.profile = profile
        self.tai = tai
        self.values = timers or TimerValues()
        self.rng = rng or Random(profile.index)  # noqa: S311
        self.violations: list[Violation] = []
        self._sink = sink or self.violations.append
        self.channel = NasChannel(self.violate, strict=strict)
        usim = Usim(profile.k, profile.opc, profile.sqn)
        self.authentication = Authentication(usim, profile.supi, profile.sn_name, self.violate)
        self.session_request = session_request or SessionRequest()
        self.ledger = ledger or Ledger()
        self.downlink_data, self.downlink_tunnel = downlink_data, downlink_tunnel
        self.disturbance = Disturbance()
        self.record = UeRecord()
        self.areas: frozenset[tuple[str, int]] = frozenset()
        """The registration area."""
        self.allowed_nssai: frozenset[SNssai] = frozenset()
        self.keys: UeKeys | None = None
        """Those of AS security, while there is some."""
        self.sessions = Sessions(self)
        self.user_plane: dict[int, Resource] = {}
        """What the gNB has set up for it, by PSI; the gNB keeps it."""
        self._state = State.DEREGISTERED
        self.connection = Connection.IDLE
        self.guti: Guti | None = None
        self.usim_invalid = False
        self.attempts = 0
        """The registration attempt counter (5.5.1.2.7)."""
        self.t3502 = self.values.t3502
        self.out: list[Output] = []
        self.context_nssai: frozenset[SNssai] | None = None
        """The allowed NSSAI that the gNB was told, None until it has a context."""
        self.context_guami: Guami | None = None
        self.context_owed = False
        """Whether the UE was accepted and the gNB has not got a context of it yet."""
        self.running_procedure: Running | None = None
        self._suci: bytes | None = None
        self._began = 0.0
        self._tainted: Kind | None = None
        self._waiting: tuple[Procedure, str | None, float] | None = None
        self._reported = False
        self._unsolicited = False
        """Whether what runs, or waits for its release, is nothing that the driver began."""
        self._next: tuple[Procedure, float] | None = None
        """What the driver began meanwhile."""
        self.downlink = Downlink(self)
        self.recovery = Recovery(self)
        self.owed = Owed(self)

    # what the driver calls

    @property
    def state(self) -> State:
        """The main state of 5GMM."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        if state is State.DEREGISTERED:
            self.sessions.clear()

    @property
    def busy(self) -> Procedure | None:
        """The procedure in progress, of those that the driver began."""
        if self._next is not None:
            return self._next[0]
        if self._unsolicited:
            return None
        if self.recovery.of is not None:
            return self.recovery.of
        if self._waiting is not None:
            return self._waiting[0]
        return None if self.running_procedure is None else self.running_procedure.name

    @property
    def updating(self) -> bool:
        """Whether a registration update runs, of a UE that is registered all the while."""
        return isinstance(self.running_procedure, RegistrationUpdate)

    @property
    def registered(self) -> bool:
        """Whether the UE takes itself for registered."""
        return self.state in (State.REGISTERED, State.SERVICE_REQUEST_INITIATED)

    @property
    def waits_for(self) -> str:
        """The timer that expires next, or ``"connection"``: why a procedure is unfinished."""
        if self.connection is Connection.WANTED:
            return "connection"
        return self.next_of("T3519")

    def begin(self, procedure: Procedure, now: float, since: float | None = None) -> None:
        """Start a procedure, whose latency counts from `since`.

        Raises:
            ValueError: another one is in progress.
        """
        if self.busy is not None:
            raise ValueError(f"{self.profile.supi} is busy with {self.busy}")
        self.now = now
        since = now if since is None else since
        if self._unsolicited:
            self._next = procedure, since
        else:
            self._begin(PROCEDURES[procedure](self), now, since)

    def _begin(self, procedure: Running, now: float, since: float) -> None:
        self._began = since
        self._tainted = None
        self._unsolicited, self._reported = procedure.unsolicited, procedure.reported
        self.running_procedure = procedure
        procedure.start(now)

    def records(self) -> list[SessionRecord]:
        """The sessions that it has."""
        return self.sessions.records()

    def power_cycle(self) -> None:
        """Off and on again, without a word: what the ME and the USIM store is kept.

        The 5G-GUTI, the security context and the sequence numbers survive (annex C); timers,
        counters and the connection do not.
        """
        self.leave()
        self.stop_all()
        self._suci = None
        self.running_procedure = self._waiting = self._next = None
        self.owed.settle()
        self.recovery.clear()
        self._unsolicited = False
        self.state = State.DEREGISTERED
        self.usim_invalid = False
        self.attempts = 0

    def forget(self) -> None:
        """Delete the 5G-GUTI and every key, as the UE does at many a reject."""
        self.guti = None
        self.channel.forget()
        self.authentication.delete_response()

    # what the gNB calls

    def connected(self, now: float) -> None:
        """The RRC connection that was asked for is there."""
        self.now = now
        self.connection = Connection.CONNECTED
        self.channel.open_connection()
        self.authentication.open_connection()
        self.downlink.opened()
        self.context_nssai = self.context_guami = None
        self.context_owed = False
        if self.running_procedure is None:
            self.leave()
        else:
            self.out.append(Send(self.running_procedure.initial(now)))

    def set_up(self, allowed_nssai: frozenset[SNssai], guami: Guami | None) -> None:
        """The gNB has a context of this UE (INITIAL CONTEXT SETUP)."""
        self.context_owed = False
        self.context_nssai = allowed_nssai
        self.context_guami = guami

    def handed_over(
        self, keys: GnbKeys, place: tuple[int, int], resources: dict[int, Resource]
    ) -> None:
        """The UE is in another cell, with what that has for it; its gNB has these keys."""
        self.user_plane = resources
        if self.keys is not None:
            self.keys.handed_over(keys.ncc, place)
            if self.keys.key != keys.key:
                text = f"with NCC {keys.ncc} the target's K_gNB is not the UE's"
                self.violate(Kind.HANDOVER_KEY, text)
        if self.areas and self.tai not in self.areas:
            self.owed.note(Procedure.MOBILITY_UPDATE)

    def accepted(self, tree: Tree) -> None:
        """Take what a REGISTRATION ACCEPT gives the UE."""
        self.guti = Guti.of_nas(tree.get("5g-guti")) or self.guti
        self.areas = tais_of(tree.get("tai-list"))
        self.allowed_nssai = nssai_of_nas(tree.get("allowed-nssai"))
        self.owed.settle()

    def user_plane_changed(self, now: float) -> None:
        """The gNB set up resources of its sessions, or released some."""
        self.now = now
        for psi, resource in self.user_plane.items():
            session = self.sessions.live.get(psi)
            if session is not None:
                self.record.tunnels_moved += session.ul not in (None, resource.ul)
                session.ul = resource.ul
        if self.running_procedure is not None:
            self.running_procedure.user_plane_changed(now)

    def paged(self, now: float) -> None:
        """The gNB pages it (5.6.2.2.1); only an idle UE listens."""
        self.now = now
        if self.connection is not Connection.IDLE or self.state is not State.REGISTERED:
            return
        running = self.running_procedure
        if running is not None:
            running.paged(now)
        elif self._waiting is None:
            self._begin(PagingResponse(self), now, now)

    def released(self, now: float, why: str | None = None) -> None:
        """The RRC connection is gone: released, or lost for the reason `why`."""
        self.now = now
        if self.connection is not Connection.CONNECTED:
            return
        self.connection = Connection.IDLE
        self.channel.secure = False
        self.user_plane = {}
        self.keys = None
        self.stop("T3540")
        if self.context_owed and why is None:
            text = "released without INITIAL CONTEXT SETUP, and a UE context was requested"
            self.violate(Kind.CONTEXT_MISSING, text)
        if self._waiting is not None:
            self._end_waiting(why)
        elif self.running_procedure is not None:
            self.running_procedure.released(why or CONNECTION_RELEASED, now)
        self._do_what_is_owed()

    def _do_what_is_owed(self) -> None:
        """Begin what nobody but the network wants, where the UE has nothing else to do."""
        busy = self.running_procedure is not None or self._waiting is not None
        if busy or self._next is not None or self.recovery.of is not None:
            return
        procedure = self.owed.next()
        if procedure is not None:
            self._begin(procedure, self.now, self.now)

    def receive(self, pdu: bytes, now: float) -> None:
        """Take a downlink NAS message."""
        self.now = now
        if self.connection is not Connection.CONNECTED or self.channel.repeated_command(pdu):
            return
        received = self.channel.receive(pdu)
        if received is not None:
            self.downlink.dispatch(pdu, received, now)

    def violate(self, kind: Kind, text: str) -> None:
        """Report what the core may not do; the procedure in progress has failed by it.

        What faults that we injected may have caused is counted, and nobody's fault.
        """
        if self.disturbance.excuses(kind, self.now):
            self.excuse(kind)
            return
        if self._tainted is None:
            self._tainted = kind
        self._sink(violation(kind, text, self.profile.supi, self.now))

    def excuse(self, kind: Kind) -> None:
        """Count what faults that we injected may have caused."""
        excused = self.record.excused
        excused[kind] = excused.get(kind, 0) + 1

    def not_understood(self, text: str) -> None:
        """Count a STATUS of the core."""
        excused = self.disturbance.garbled(self.now)
        counts = self.record.statuses_excused if excused else self.record.statuses
        counts[text] = counts.get(text, 0) + 1

    # time

    def advance(self, now: float) -> None:
        """Run the timers that are due."""
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
            self._end_waiting(NOT_RELEASED)
        elif name == TIMER:
            again = self.recovery.expired()
            if again is not None:
                self._begin(PROCEDURES[again](self), now, now)
        elif name == "T3520":
            # The network is taken for one that fails its own authentication (5.4.1.3.7).
            self.leave()
            if running is not None:
                running.released("t3520-expired", now)
        elif running is not None:
            running.expired(name, now)

    # for the procedures

    def send(self, plain: bytes) -> None:
        """Send a message on the connection, protected once the exchange is secure."""
        self.out.append(Send(self.channel.protect(plain)))

    def connect(
        self,
        s_tmsi: tuple[int, int, int] | None,
        *,
        context: bool,
        cause: str = "mo-Signalling",
    ) -> None:
        """Ask for an RRC connection."""
        self.connection = Connection.WANTED
        self.out.append(Connect(cause, s_tmsi, context))

    def leave(self) -> None:
        """Drop the RRC connection locally."""
        if self.connection is not Connection.IDLE:
            self.connection = Connection.IDLE
            self.channel.secure = False
            self.user_plane = {}
            self.out.append(Leave())

    def repeat(self, timer: str) -> None:
        """Count something done again because a timer expired."""
        counts = self.record.retransmissions
        counts[timer] = counts.get(timer, 0) + 1

    def suci(self) -> bytes:
        """The SUCI to identify with: the stored one while T3519 runs (5.5.1.2.2)."""
        if self._suci is None:
            self._suci = self.profile.conceal()
            self.start("T3519", self.values.t3519)
        return self._suci

    def discard_suci(self) -> None:
        """The network knows the UE: the next SUCI is a fresh one."""
        self._suci = None
        self.stop("T3519")

    def finish(self, cause: str | None, now: float, *, await_release: bool = False) -> None:
        """The procedure in progress has its end; the UE may wait to be released first."""
        if self.running_procedure is None:
            return
        name, self.running_procedure = self.running_procedure.name, None
        self._waiting = (name, cause, now)
        if await_release and self.connection is Connection.CONNECTED:
            self.start("T3540", self.values.t3540)
        else:
            self._end_waiting(None)

    def _end_waiting(self, why: str | None) -> None:
        if self._waiting is None:
            return
        (name, cause, ended), self._waiting = self._waiting, None
        cause = why if cause is None else cause
        if self._tainted is not None and cause in (None, SKIPPED):
            cause = f"violation-{self._tainted}"
        if name is Procedure.SWITCH_OFF:
            ended = self.now
        if self._unsolicited:
            self._unsolicited = False
            if self._reported:
                self.out.append(Ended(name, cause, self._began, ended, unsolicited=True))
            if self._next is not None:
                (procedure, since), self._next = self._next, None
                self._begin(PROCEDURES[procedure](self), self.now, since)
            return
        told = self.recovery.ended(name, cause, self._began)
        if told is None:
            return
        name, cause, began, recovered = told
        self.out.append(Ended(name, cause, began, ended, recovered))
        self._do_what_is_owed()
