"""A decision about a UE while it is being made: events applied as they are emitted."""

from collections.abc import Mapping
from typing import Any, Final

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
"""After which the next expiry of a NAS timer aborts its procedure (TS 24.501 5.4.1.3.7)."""


class UeDecision:
    """The UE as it will be, the events so far and the outputs so far.

    Procedures read `ue`, change it by `emit` alone, and speak to the UE, its gNB and its
    timers by the other methods. Nothing leaves before the step is appended.
    """

    __slots__ = (
        "_wake_at",
        "_woken",
        "diagnostics",
        "env",
        "events",
        "key",
        "order",
        "outputs",
        "slot",
        "source",
        "ue",
    )

    def __init__(self, ue: Ue, env: Env, trigger: CloudEvent) -> None:
        self.ue = ue
        self.env = env
        self.slot = trigger.slot or 0
        """The slot that the trigger came by: what a UE without a SUPI is found by."""
        self.key = trigger.partitionkey
        """The partition key of the trigger."""
        self.source = trigger.source
        """Who sent the trigger: ``/n2/...`` for a gNB, else an aggregate after a slash."""
        self.order = order_of(trigger.id)
        """The place of the trigger among the events of its gateway."""
        self.diagnostics: Tree | None = None
        """What was wrong with an NGAP request and ignored: its response says it (10.3.4.2)."""
        self.events: list[UeEvent] = []
        self.outputs: list[Output] = []
        self._woken = trigger.type == EventType.TIMER
        self._wake_at = 0 if self._woken else ue.wake_at
        """The wake-up that is still to come, 0 for none. The one that came may have been early
        by this host's clock; taken for pending, it would leave the timers without any."""

    @property
    def from_gnb(self) -> bool:
        """Whether the trigger is a message of a gNB."""
        return self.source.startswith("/n2/")

    def emit(self, event: UeEvent) -> None:
        """Let a fact be."""
        self.events.append(event)
        self.ue = evolve(self.ue, event)

    def note(self, text: str) -> None:
        """Record why something was not done."""
        self.emit(Noted(text))

    @property
    def connection(self) -> Connection:
        """The N2 connection of the UE, for procedures that run only on one."""
        if self.ue.connection is None:
            raise NoConnectionError
        return self.ue.connection

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
        """A NAS message under the current security context, to go in another NGAP message."""
        return self.protect(wire.nas_encode(dict(message)))

    def send_nas_best(self, message: Mapping[str, Any]) -> None:
        """Send a NAS message protected once the secure exchange is established, else plain.

        TS 24.501 4.4.4.2: a UE discards what then comes without protection.
        """
        if self.connection.secured and self.ue.security is not None:
            self.send_nas(message)
        else:
            self.send_nas_plain(message)

    def protect(self, plain: bytes) -> bytes:
        """Protect a message with the current context, and count it."""
        security = self.ue.security
        if security is None:
            raise NoSecurityError
        self.env.rejected |= is_reject(plain)
        sealed = seal(security, plain, CIPHERED)
        self.emit(DownlinkCounted(security.downlink))
        return sealed

    def release(self, cause: ngap.Cause, old: Connection | None = None) -> None:
        """Have the gNB release a connection, the UE's by default (TS 38.413 8.3.3).

        It is gone once the gNB has answered, and nothing is sent on it until then. One timer
        serves all that wait; a later one does not start it anew, or the first could wait for ever.
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
        """Start or restart a timer. `count` is how often it has expired in a row.

        One wake-up serves all timers of a UE: it is asked for when none is due that early.
        """
        at = self.env.now + round(seconds * 1000)
        self.emit(TimerStarted(name, at, count))
        self._wake_by(at, name)

    def stop_timer(self, name: str) -> None:
        """Stop a timer that may run. Its wake-up comes all the same, and finds nothing due."""
        if name in self.ue.timers:
            self.emit(TimerStopped(name))

    @property
    def woken(self) -> bool:
        """Whether the trigger is a wake-up."""
        return self._woken

    def wake_late(self, at: int, name: str) -> None:
        """Ask for the wake-up of the only timer there is, in the place of one before it that
        would come in vain; the event that starts the timer says so."""
        self._wake_at = at
        self.outputs.append(Wake(at, procedure_of_timer(name)))

    def rearm(self) -> Procedure | None:
        """Ask for the wake-up of the next timer, after one came; the procedure it is for."""
        if not self.ue.timers:
            return None
        name, timer = min(self.ue.timers.items(), key=lambda item: (item[1].at, item[0]))
        self._wake_by(timer.at, name)
        return procedure_of_timer(name)

    def _wake_by(self, at: int, name: str) -> None:
        """Ask for a wake-up at a time, unless the pending wake-up comes early enough.

        A shared wake-up may come after its time (`schemas.ue.waking`).
        """
        now, pending = self.env.now, self._wake_at
        relied_on = now < pending <= at
        running, coming = self.ue.timers, self.ue.wake_for
        late = [] if self._woken else [(t.at, n) for n, t in running.items() if t.at <= now]
        if late and pending <= now < shared_at(pending, coming):
            return  # it comes a little after its time
        if late:  # that wake-up is on its way, or has been displaced
            relied_on, (at, name) = False, min(late)
        elif coming == MOBILE_REACHABLE and coming not in running:
            relied_on = False  # it may come a minute after its time
        if relied_on:
            return
        self._wake_at = at
        self.emit(WakeScheduled(at))
        self.outputs.append(Wake(at, procedure_of_timer(name)))


def is_reject(nas: bytes) -> bool:
    """Whether a plain downlink NAS message denies the UE what it has asked for."""
    if nas[2] == _DL_NAS_TRANSPORT:
        return nas[9:10] in _GSM_REJECTS  # in a container of N1 SM information, after its header
    return nas[2] in _GMM_REJECTS


_DL_NAS_TRANSPORT: Final = 0x68
_GMM_REJECTS: Final = frozenset({0x44, 0x4D, 0x58})
"""REGISTRATION REJECT, SERVICE REJECT, AUTHENTICATION REJECT (TS 24.501 table 9.7.1)."""
_GSM_REJECTS: Final = frozenset({b"\xc3", b"\xca", b"\xd2"})
"""Those of the establishment, modification and release of PDU sessions (table 9.7.2)."""


def seal(context: SecurityContext, plain: bytes, header: int) -> bytes:
    """A downlink message under a context, with its next downlink COUNT."""
    security = wire.NasSecurity(
        context.kamf, context.nia, context.nea, context.uplink, context.downlink
    )
    return security.protect(plain, header, downlink=True)


class NoConnectionError(RuntimeError):
    """A procedure spoke to a UE in CM-IDLE: a bug of the procedure."""


class NoSecurityError(RuntimeError):
    """A procedure protected a message without a context: a bug of the procedure."""
