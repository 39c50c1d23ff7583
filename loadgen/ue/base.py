"""The state of a UE, its timers and its services for the procedures that work on it.

`loadgen.ue.ue.Ue` completes the class: it chooses, starts and ends the procedures.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from msgspec import Struct, field

from loadgen.foreign import OwnNas
from loadgen.identity import (
    Guami,
    Guti,
    SNssai,
    nssai_of_nas,
    plmns_of,
    serving_network_name,
    tais_of,
)
from loadgen.session_model import Resource, SessionRecord, SessionRequest, Tunnel
from loadgen.timers import TimerValues
from loadgen.tolerated import InjectedFaults
from loadgen.trees import Tree, part
from loadgen.ue import messages
from loadgen.ue.as_security import UeKeys
from loadgen.ue.authentication import Authentication, Usim
from loadgen.ue.model import Connect, Connection, Leave, Output, Procedure, Send, State
from loadgen.ue.nas_security import NasChannel, Received
from loadgen.ue.profile import UeProfile
from loadgen.ue.sessions import AddressRegistry, Sessions
from loadgen.ue.ue_timers import UeTimers
from loadgen.violation import Kind, Violation, violation

DownlinkData: TypeAlias = Callable[[str], object]
"""Sends downlink data to the address of a PDU session; returns at once."""


def no_downlink_data(address: str) -> None:
    """Send nothing: no data network is connected."""
    del address


DownlinkTunnel: TypeAlias = Callable[[str], Tunnel | None]
"""Returns where the UPF sends packets for the address of a PDU session; None if unknown."""


def no_downlink_tunnel(address: str) -> None:
    """Return None: the UPF is not known."""
    del address


_INCOMPATIBLE_WITH_STATE = 98
_BACK_OFF_TIMERS = {"t3346-value": "T3346", "t3502-value": "T3502", "back-off-timer-value": "T3396"}


class UeRecord(Struct):
    """Counters of a UE, for the report."""

    retransmissions: dict[str, int] = field(default_factory=dict[str, int])
    """Repetitions, by the timer that caused them."""
    tunnels_moved: int = 0
    """How often a session was set up with another UL F-TEID than before."""
    congested: int = 0
    """How often the network rejected the UE for congestion and the UE waited."""
    rejects: dict[str, int] = field(default_factory=dict[str, int])
    """Requests that the network refused: by message, cause and the timer in the message."""
    sessions_lost: int = 0
    """PDU sessions of the UE that the network did not have when it said its PDU session status."""
    sessions_released: int = 0
    """PDU sessions that the network released without a request of the UE."""
    configured: int = 0
    """CONFIGURATION UPDATE COMMANDs that the UE processed."""
    deregistered: int = 0
    """How often the network deregistered the UE."""
    tolerated: dict[Kind, int] = field(default_factory=dict[Kind, int])
    """Violations that injected faults, or a message that overtook another, may have caused."""
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    """5GMM STATUS and 5GSM STATUS by cause, without those that injected faults caused."""
    statuses_tolerated: dict[str, int] = field(default_factory=dict[str, int])


class UeBase(UeTimers, ABC):
    """A UE as its procedures see it. `out` has the outputs for the gNB and the driver."""

    capability_reported = False
    """Whether a gNB has reported its radio capability since its initial registration."""
    guti_since = 0.0
    """When the UE got its 5G-GUTI."""
    guti_before: Guti | None = None
    """The 5G-GUTI that it had until then."""

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
        """Create a UE that is switched on, deregistered and idle.

        Args:
            profile: its credentials and capabilities.
            tai: PLMN and TAC of its cell.
            timers: timer values, those of the specification by default.
            rng: for the values that the specification wants random.
            on_violation: called with each violation; by default `violations` keeps them.
            strict: whether a repeated protected message is a violation.
            session_request: the parameters of its PDU sessions.
            registry: the addresses of all UEs of the run.
            downlink_data: makes the UPF receive data for the UE, which then must be paged.
            downlink_tunnel: returns where the UPF sends data for the UE.
            nas: adds optional IEs to its messages; by default none.
        """
        super().__init__()
        self.profile = profile
        self.tac = tai[1]
        """The TAC of its cell."""
        self.values = timers or TimerValues()
        self.rng = rng or Random(profile.index)
        self.violations: list[Violation] = []
        self._on_violation = on_violation or self.violations.append
        self.channel = NasChannel(self.violate, strict=strict)
        usim = Usim(profile.k, profile.opc, profile.sqn)
        network = serving_network_name(tai[0])
        self.authentication = Authentication(usim, profile.supi, network, self.violate)
        self._plmn = tai[0]
        self.session_request = session_request or SessionRequest()
        self.downlink_data, self.downlink_tunnel = downlink_data, downlink_tunnel
        self.nas = nas or OwnNas()
        self.faults, self.record = InjectedFaults(), UeRecord()
        self.areas: frozenset[tuple[str, int]] = frozenset()
        """The registration area."""
        self.allowed_nssai: frozenset[SNssai] = frozenset()
        self.configured_nssai: dict[str, frozenset[SNssai]] = {}
        """The configured NSSAI of each PLMN (4.6.2.2). It stays when the UE is switched off."""
        self.equivalent_plmns: tuple[str, ...] = ()
        self.keys: UeKeys | None = None
        """AS security keys, while AS security is active."""
        self.sessions = Sessions(profile.supi, registry or AddressRegistry(), self.faults)
        self.user_plane: dict[int, Resource] = {}
        """The gNB's resources for the UE, by PSI; the gNB changes this dict."""
        self._state = State.DEREGISTERED
        self.connection = Connection.IDLE
        self.guti: Guti | None = None
        self.usim_invalid = False
        self.attempts = 0
        """The registration attempt counter (5.5.1.2.7)."""
        self.t3502 = self.values.t3502
        self.out: list[Output] = []
        self.context_nssai: frozenset[SNssai] | None = None
        """The allowed NSSAI in the gNB; None until the gNB has a context."""
        self.context_guami: Guami | None = None
        self.context_pending = False
        """Whether the UE is accepted and the gNB has no context of it yet."""
        self.running_procedure: Running | None = None
        self.answers: dict[Procedure, tuple[str, bytes]] = {}
        """The final answers on this connection, by the family of their request."""
        self.pending_procedure: Procedure | None = None
        """A registration or an update that the network, or a move of the UE, requires
        (5.4.4.3, 5.5.1.3.2, 5.5.2.3)."""
        self._suci: bytes | None = None
        self._violated: Kind | None = None
        """The first violation during the running procedure."""

    @abstractmethod
    def finish(self, cause: str | None, now: float, *, await_release: bool = False) -> None:
        """End the running procedure, with this cause if it failed.

        With `await_release` the end is reported when the connection is released.
        """

    @abstractmethod
    def count_from(self, now: float) -> None:
        """Let the latency of the running procedure count from now."""

    # state

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
    def plmn(self) -> str:
        """The selected PLMN. It is the serving network of its authentication (TS 33.501
        6.1.1.4.2)."""
        return self._plmn

    @plmn.setter
    def plmn(self, plmn: str) -> None:
        self._plmn = plmn
        self.authentication.sn_name = serving_network_name(plmn)

    @property
    def tai(self) -> tuple[str, int]:
        """The selected PLMN, and the TAC of the cell."""
        return self._plmn, self.tac

    @property
    def registered(self) -> bool:
        """Whether the UE considers itself registered."""
        return self.state in (State.REGISTERED, State.SERVICE_REQUEST_INITIATED)

    def records(self) -> list[SessionRecord]:
        """Return the sessions that the UE has."""
        return self.sessions.records(self.user_plane)

    def forget(self) -> None:
        """Delete the 5G-GUTI and every key, as several rejects require."""
        self.guti = None
        self.channel.forget()
        self.authentication.delete_response()

    def take_guti(self, tree: Tree) -> None:
        """Store the 5G-GUTI of a message, if it has one."""
        guti = Guti.of_nas(tree.get("5g-guti"))
        if guti is not None and guti != self.guti:
            self.guti_before, self.guti, self.guti_since = self.guti, guti, self.now

    def accepted(self, tree: Tree) -> None:
        """Store the parameters of a REGISTRATION ACCEPT."""
        self.take_guti(tree)
        self.areas = tais_of(tree.get("tai-list"))
        self.allowed_nssai = nssai_of_nas(tree.get("allowed-nssai"))
        self.equivalent_plmns = plmns_of(tree)
        self.configure_slices(tree)
        self._match_sessions()
        self.pending_procedure = None

    def _match_sessions(self) -> None:
        """Release locally the sessions in slices that are allowed no more (TS 23.501
        5.15.5.2.2)."""
        for session in list(self.sessions.live.values()) if self.allowed_nssai else ():
            if session.s_nssai is not None and session.s_nssai not in self.allowed_nssai:
                self.sessions.remove(session.psi)

    def configure_slices(self, tree: Tree) -> None:
        """Store the configured NSSAI of a message, if it has one (4.6.2.2).

        If the subscription has changed, the UE deletes those of other PLMNs.
        """
        if part(tree, "network-slicing-indication").get("nssci") is True:
            kept = self.configured_nssai.get(self.plmn)
            self.configured_nssai = {} if kept is None else {self.plmn: kept}
        if "configured-nssai" in tree:
            self.configured_nssai[self.plmn] = nssai_of_nas(tree["configured-nssai"])

    def requested_nssai(self) -> tuple[SNssai, ...] | None:
        """Return the requested NSSAI that the configured NSSAI of the PLMN gives; None if the UE
        has no configured NSSAI there (5.5.1.2.2)."""
        configured = self.configured_nssai.get(self.plmn)
        if configured is None:
            return None
        return tuple(one for one in self.profile.slices if one in configured)

    # violations

    def violate(self, kind: Kind, text: str) -> None:
        """Report a violation by the core. The running procedure fails.

        A violation that injected faults may have caused is only counted.
        """
        if self.faults.tolerates(kind, self.now):
            self.tolerate(kind)
            return
        if self._violated is None:
            self._violated = kind
        self._on_violation(violation(kind, text, self.profile.supi, self.now))

    def tolerate(self, kind: Kind) -> None:
        """Count a violation that injected faults may have caused."""
        tolerated = self.record.tolerated
        tolerated[kind] = tolerated.get(kind, 0) + 1

    def count_status(self, text: str) -> None:
        """Count a STATUS message of the core."""
        garbled = self.faults.garbled(self.now)
        counts = self.record.statuses_tolerated if garbled else self.record.statuses
        counts[text] = counts.get(text, 0) + 1

    def unexpected(self, name: str, cause: int = _INCOMPATIBLE_WITH_STATE) -> None:
        """Report and reject a message that is wrong in this state or for a UE (7.4)."""
        self.violate(Kind.NAS_UNEXPECTED, f"{name} in {self.state}")
        self.send(messages.gmm_status(cause))

    # messages and connection

    def send(self, plain: bytes) -> None:
        """Send a message, protected if the exchange is secure."""
        self.out.append(Send(self.channel.protect(self.nas.message(plain))))

    def requested(self, family: Procedure) -> None:
        """Note that a new request of a family is sent, which has no answer yet."""
        self.answers.pop(family, None)

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
        """Count a repetition that a timer caused."""
        counts = self.record.retransmissions
        counts[timer] = counts.get(timer, 0) + 1

    def rejected(self, message: Tree, plain: bytes) -> str:
        """Count a reject: its tree and its octets. Return its cause, such as ``22-congestion``."""
        gsm = "5gsm-cause" in message
        name = message["5gsm-cause"] if gsm else message.get("5gmm-cause")
        cause = f"{messages.gsm_cause_of(plain) if gsm else plain[3]}-{name}"
        timers = [name for ie, name in _BACK_OFF_TIMERS.items() if message.get(ie)]
        text = " ".join((str(message.get("message-type")), cause, *timers))
        self.record.rejects[text] = self.record.rejects.get(text, 0) + 1
        return cause

    def suci(self) -> bytes:
        """Return the SUCI to send: the stored one while T3519 runs (5.5.1.2.2)."""
        if self._suci is None:
            self._suci = self.profile.conceal()
            self.start("T3519", self.values.t3519)
        return self._suci

    def discard_suci(self) -> None:
        """Delete the stored SUCI: the network knows the UE."""
        self._suci = None
        self.stop("T3519")


class Running:
    """A procedure in progress. The default methods do nothing."""

    name: Procedure
    entire: bytes | None = None
    """The entire REGISTRATION REQUEST, for the container of SECURITY MODE COMPLETE."""
    unsolicited = False
    """Whether the network started it, not the driver."""
    reported = False
    """Whether the end of an unsolicited procedure is reported."""

    def __init__(self, ue: UeBase) -> None:
        """Create a procedure that has not started."""
        self._ue = ue

    @property
    def family(self) -> Procedure:
        """The procedure whose 5GMM answers also end this one."""
        return self.name

    def start(self, now: float) -> None:
        """Start: ask for a connection, or use the existing one."""

    def initial(self, now: float) -> bytes:
        """Return the initial NAS message of a new connection."""
        return b"\x7e\x00\x64\x62"

    def answered(self, message: str, received: Received, now: float) -> None:
        """Handle the final 5GMM answer of the network."""

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """Handle the 5GSM answer of the network: its tree and octets."""

    def not_forwarded(self, cause: str, now: float) -> None:
        """Handle a 5GSM message that the network returned unforwarded (5.4.5.3.3)."""

    def user_plane_changed(self, now: float) -> None:
        """Handle resources of a PDU session that the gNB set up or released."""

    def paged(self, now: float) -> None:
        """Handle a page of the idle UE."""

    def moved(self, cause: str | None, now: float) -> None:
        """Handle the end of a handover, with this cause if it failed."""

    def challenged(self, *, failed: bool) -> None:
        """Handle an answered challenge: the request's timer stops if the challenge failed."""

    def expired(self, timer: str, now: float) -> None:
        """Handle the expiry of a timer."""

    def released(self, why: str, now: float) -> None:
        """Handle the release of the connection before the answer."""
