"""The decision object of a UE: each event is applied to the state as it is emitted."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import wire
from functions.decision.env import Env
from functions.messages import ngap
from functions.messages.trees import Tree
from schemas.cloudevents import CloudEvent, EventType, order_of
from schemas.connection.events import ConnectionReleasing
from schemas.connection.state import Connection
from schemas.event import Noted
from schemas.gmm.events import DownlinkCounted
from schemas.gmm.state import SecurityContext
from schemas.identity import Guami, Plmn
from schemas.procedures import Procedure, procedure_of_timer
from schemas.step import HandOff, Output, SendNgap, Wake
from schemas.ue.events import TimerStarted, TimerStopped, UeEvent, WakeScheduled
from schemas.ue.fold import evolve
from schemas.ue.state import Ue
from schemas.ue.waking import MOBILE_REACHABLE, shared_at

INTEGRITY_PROTECTED = 1
CIPHERED = 2
NEW_CONTEXT = 3
NEW_CONTEXT_CIPHERED = 4
"""Security header types (TS 24.501 9.3)."""

RETRANSMISSIONS: Final = 4
"""Retransmissions before the next expiry of a NAS timer aborts its procedure (5.4.1.3.7)."""


UNENCODABLE: Final = (wire.WireError, ValueError, OverflowError)
"""Errors of a codec about a value that it cannot encode."""


class Mark(NamedTuple):
    """The state of a decision at one of its points."""

    ue: Ue
    events: int
    outputs: int
    wake_at: int
    requested: bool
    rejected: bool


class UeDecision:
    """The new state of the UE, the events and the outputs so far.

    A procedure reads `ue` and changes it only with `emit`. The other methods send messages to the
    UE and its gNB, and start and stop timers. Nothing leaves before the step is appended.
    """

    __slots__ = (
        "_requested",
        "_wake_at",
        "_woken",
        "diagnostics",
        "env",
        "events",
        "key",
        "order",
        "outputs",
        "position",
        "slot",
        "source",
        "ue",
    )

    def __init__(self, ue: Ue, env: Env, trigger: CloudEvent) -> None:
        self.ue = ue
        self.env = env
        self.slot = trigger.slot or 0
        """The slot of the trigger. A UE without a SUPI is found by it."""
        self.key = trigger.partitionkey
        """The partition key of the trigger."""
        self.source = trigger.source
        """The sender of the trigger: ``/n2/...`` for a gNB, else a slash and an aggregate."""
        self.order = order_of(trigger.id)
        """The place of the trigger among the events of its gateway."""
        self.position = trigger.position
        """The place of the trigger in the order of the UE."""
        self.diagnostics: Tree | None = None
        """Ignored errors of an NGAP request, for its response (TS 38.413 10.3.4.2)."""
        self.events: list[UeEvent] = []
        self.outputs: list[Output] = []
        self._woken = trigger.type == EventType.TIMER
        self._wake_at = 0 if self._woken else ue.wake_at
        """The time of the pending wake-up, 0 for none. A wake-up that has come is not pending,
        even if it is early by this host's clock: else no wake-up would be left for the timers."""
        self._requested = False
        """Whether this step has requested that wake-up: it comes, even if it is due at once."""

    @property
    def from_gnb(self) -> bool:
        """Whether the trigger is a message of a gNB."""
        return self.source.startswith("/n2/")

    def emit(self, event: UeEvent) -> None:
        """Append an event to this decision and apply it to the state."""
        self.events.append(event)
        self.ue = evolve(self.ue, event)

    def note(self, text: str) -> None:
        """Append a note: the reason why something was not done."""
        self.emit(Noted(text))

    def mark(self) -> "Mark":
        """Return the state of the decision now, for `undo`."""
        return Mark(
            self.ue,
            len(self.events),
            len(self.outputs),
            self._wake_at,
            self._requested,
            self.env.rejected,
        )

    def undo(self, mark: "Mark") -> None:
        """Remove the events and outputs since a mark. Lookups and random values stay used."""
        self.ue = mark.ue
        del self.events[mark.events :]
        del self.outputs[mark.outputs :]
        self._wake_at, self._requested = mark.wake_at, mark.requested
        self.env.rejected = mark.rejected

    def attempt(self, what: str, run: Callable[..., object], *arguments: Any) -> bool:
        """Run a part of the decision. If one of its outputs cannot be encoded, undo the part and
        note the error. Return whether the part was done.

        The state does not change, so the next event of the UE brings another attempt, and another
        note. No timer is started for it.
        """
        mark = self.mark()
        try:
            run(*arguments)
        except UNENCODABLE as err:
            self.undo(mark)
            self.note(f"{what} is left out: {err}")
            return False
        return True

    @property
    def connection(self) -> Connection:
        """The N2 connection of the UE, for procedures that need one.

        Raises:
            NoConnectionError: the UE is in CM-IDLE.
        """
        if self.ue.connection is None:
            raise NoConnectionError
        return self.ue.connection

    @property
    def plmn(self) -> Plmn:
        """The PLMN that the UE has chosen: the PLMN of the TAI of its connection.

        Without a location it is the PLMN of the AMF.
        """
        return self.connection.tai.plmn or self.env.network.guami.plmn

    @property
    def guami(self) -> Guami:
        """The GUAMI of the AMF in the PLMN that the UE has chosen."""
        return self.env.network.guami_of(self.plmn)

    def connection_is(self, amf_ue_ngap_id: int | None) -> bool:
        """Whether the current connection is that of an AMF-UE-NGAP-ID."""
        here = self.ue.connection
        return here is not None and here.amf_ue_ngap_id == amf_ue_ngap_id

    # To the gNB and the UE

    def send(self, pdu: bytes, connection: Connection | None = None) -> None:
        """Send an NGAP PDU to the gNB of a connection, the UE's by default."""
        to = connection or self.connection
        self.outputs.append(SendNgap(to.gnb, to.association, pdu))

    def send_nas_plain(self, message: Mapping[str, Any]) -> None:
        """Send a NAS message without security (TS 24.501 4.4.4.2 lists those that may be)."""
        nas = wire.nas_encode(dict(message))
        self.env.rejected |= is_reject(nas)
        self.send(ngap.downlink_nas_transport(self.connection, nas))

    def send_nas(self, message: Mapping[str, Any]) -> None:
        """Send a NAS message under the current security context, ciphered."""
        self.send(ngap.downlink_nas_transport(self.connection, self.seal_nas(message)))

    def seal_nas(self, message: Mapping[str, Any]) -> bytes:
        """Return a NAS message protected by the current security context, for an NGAP message."""
        return self.protect(wire.nas_encode(dict(message)))

    def send_nas_best(self, message: Mapping[str, Any]) -> None:
        """Send a NAS message protected once the secure exchange is established, else plain.

        A UE then discards messages without protection (TS 24.501 4.4.4.2).
        """
        if self.connection.secured and self.ue.security is not None:
            self.send_nas(message)
        else:
            self.send_nas_plain(message)

    def protect(self, plain: bytes) -> bytes:
        """Return a message protected by the current context, and emit its NAS COUNT.

        Raises:
            NoSecurityError: the UE has no security context.
        """
        security = self.ue.security
        if security is None:
            raise NoSecurityError
        self.env.rejected |= is_reject(plain)
        sealed = seal(security, plain, CIPHERED)
        self.emit(DownlinkCounted(security.downlink))
        return sealed

    def release(self, cause: ngap.Cause, old: Connection | None = None) -> None:
        """Send a UE CONTEXT RELEASE COMMAND for a connection (TS 38.413 8.3.3).

        The default is the connection of the UE. It is released when the gNB has answered, and
        nothing is sent on it meanwhile. One timer guards all connections that wait. A later release
        does not restart the timer: else the first could wait for ever.
        """
        connection = old or self.ue.connection
        if connection is None or connection.releasing:
            return
        self.send(ngap.ue_context_release_command(connection, cause), connection)
        self.emit(ConnectionReleasing(connection.amf_ue_ngap_id, ngap.cause_text(cause)))
        if "ng-release" not in self.ue.timers:
            self.start_timer("ng-release", self.env.network.timers.ng_release)

    def hand_off(self, output: HandOff) -> None:
        """Send an event to another aggregate or procedure."""
        self.outputs.append(output)

    # Timers

    def start_timer(self, name: str, seconds: float, count: int = 0) -> None:
        """Start or restart a timer. `count` is the number of its expiries in a row.

        One wake-up serves all timers of a UE. An earlier timer requests a new wake-up.
        """
        at = self.env.now + round(seconds * 1000)
        self.emit(TimerStarted(name, at, count))
        self._wake_by(at, name)

    def stop_timer(self, name: str) -> None:
        """Stop a timer if it runs. Its wake-up comes nevertheless, and finds no expired timer."""
        if name in self.ue.timers:
            self.emit(TimerStopped(name))

    @property
    def woken(self) -> bool:
        """Whether the trigger is a wake-up."""
        return self._woken

    def wake_late(self, at: int, name: str) -> None:
        """Request the wake-up of the only timer, instead of an earlier wake-up without a timer.

        The event that starts the timer records the wake-up.
        """
        self._wake_at = at
        self.outputs.append(Wake(at, procedure_of_timer(name)))

    def rearm(self) -> Procedure | None:
        """Request the wake-up of the next timer after a wake-up; return the timer's procedure."""
        if not self.ue.timers:
            return None
        name, timer = min(self.ue.timers.items(), key=lambda item: (item[1].at, item[0]))
        self._wake_by(timer.at, name)
        return procedure_of_timer(name)

    def _wake_by(self, at: int, name: str) -> None:
        """Request a wake-up at a time, unless the pending wake-up comes early enough.

        A shared wake-up may come after its time (`schemas.ue.waking`).
        """
        now, pending = self.env.now, self._wake_at
        relied_on = pending <= at and (now < pending or self._requested)
        running, coming = self.ue.timers, self.ue.wake_for
        late = [] if self._woken else [(t.at, n) for n, t in running.items() if t.at <= now]
        if late and pending <= now < shared_at(pending, coming):
            return  # it comes a little after its time
        if late:  # that wake-up is on its way, or another has replaced it
            relied_on, (at, name) = False, min(late)
        elif coming == MOBILE_REACHABLE and coming not in running:
            relied_on = False  # it may come a minute after its time
        if relied_on:
            return
        # Other timers may have relied on the wake-up that this one replaces.
        at, name = min([(at, name), *((t.at, n) for n, t in running.items() if t.at > now)])
        self._wake_at, self._requested = at, True
        self.emit(WakeScheduled(at))
        self.outputs.append(Wake(at, procedure_of_timer(name)))


def is_reject(nas: bytes) -> bool:
    """Whether a plain downlink NAS message rejects a request of the UE."""
    if nas[2] == _DL_NAS_TRANSPORT:
        return nas[9:10] in _GSM_REJECTS  # in a container of N1 SM information, after its header
    return nas[2] in _GMM_REJECTS


_DL_NAS_TRANSPORT: Final = 0x68
_GMM_REJECTS: Final = frozenset({0x44, 0x4D, 0x58})
"""REGISTRATION REJECT, SERVICE REJECT, AUTHENTICATION REJECT (TS 24.501 table 9.7.1)."""
_GSM_REJECTS: Final = frozenset({b"\xc3", b"\xca", b"\xd2"})
"""PDU SESSION ESTABLISHMENT, MODIFICATION and RELEASE REJECT (TS 24.501 table 9.7.2)."""


def seal(context: SecurityContext, plain: bytes, header: int) -> bytes:
    """Return a downlink message protected by a context, with its next downlink NAS COUNT."""
    security = wire.NasSecurity(
        context.kamf, context.nia, context.nea, context.uplink, context.downlink
    )
    return security.protect(plain, header, downlink=True)


class NoConnectionError(RuntimeError):
    """A procedure sent a message to a UE in CM-IDLE: a bug of the procedure."""


class NoSecurityError(RuntimeError):
    """A procedure protected a message without a context: a bug of the procedure."""
