"""The cell of a gNB: the UEs on it, their RRC connections and their NGAP contexts, without I/O."""

from collections.abc import Callable
from math import inf
from random import Random

from loadgen import context_checks, ngap_gnb
from loadgen.identity import Guami
from loadgen.ngap_gnb import GnbConfig
from loadgen.overload import Admission
from loadgen.resource_messages import handle
from loadgen.resources import IN_CONTEXT, Resources
from loadgen.timers import Deadlines, TimerValues
from loadgen.trees import Tree, number
from loadgen.ue import Ue
from loadgen.ue_context import Camped, UeContext
from loadgen.ue_model import (
    CONNECTION_LOST,
    NOT_RELEASED,
    Connect,
    Ended,
    Inactive,
    Leave,
    Procedure,
    Send,
)
from loadgen.violation import Kind

USER_INACTIVITY = "user-inactivity"
RADIO_LOST = "radio-connection-with-ue-lost"
UNKNOWN_LOCAL = "unknown-local-UE-NGAP-ID"
INCONSISTENT_REMOTE = "inconsistent-remote-UE-NGAP-ID"
_RELEASE_TRIES = 3


class Cell:
    """The UE-associated half of a gNB."""

    def __init__(
        self,
        config: GnbConfig,
        send: Callable[[int, bytes], None],
        violate: Callable[[Kind, str], None],
        deadlines: Deadlines,
        *,
        timers: TimerValues,
        rng: Random,
    ) -> None:
        """A cell without UEs; `send` takes a stream and a PDU."""
        self.config = config
        self.admission = Admission()
        self.streams = 1
        self.guamis: frozenset[Guami] = frozenset()
        self.ended: list[tuple[Camped, Ended]] = []
        """The procedures that came to their end; the driver empties it."""
        self.contexts: dict[int, UeContext] = {}
        self.undelivered = 0
        """Messages of UEs that could not be sent: the AMF had given them no ID yet."""
        self.repeated_contexts = 0
        """INITIAL CONTEXT SETUP REQUESTs that came again, octet for octet."""
        self._send = send
        self._violate = violate
        self._deadlines = deadlines
        self._timers = timers
        self._rng = rng
        self._next_id = 0
        self._uli = ngap_gnb.location(config)
        self._held: dict[Camped, None] = {}
        self._by_amf: dict[int, UeContext] = {}
        self._by_s_tmsi: dict[tuple[int, int, int], Camped] = {}
        self._resources = Resources(config.n3_address)

    # the driver's side

    def camp(self, ue: Ue) -> Camped:
        """A UE on this cell, from now on."""
        return Camped(self, ue)

    def begin(
        self, camped: Camped, procedure: Procedure, now: float, since: float | None = None
    ) -> None:
        """Start a procedure of a UE."""
        camped.ue.begin(procedure, now, since)
        self.pump(camped, now)

    def pump(self, camped: Camped, now: float) -> None:
        """Do what a UE wants done."""
        out = camped.ue.out
        while out:
            wants, camped.ue.out = out, []
            for want in wants:
                match want:
                    case Send(nas):
                        self._uplink(camped, nas)
                    case Ended():
                        self.ended.append((camped, want))
                    case Connect():
                        camped.wanted = want
                        self.admit(camped, now)
                    case Leave():
                        self._left(camped, now)
                    case Inactive():
                        if camped.context is not None:
                            self._request_release(camped.context, USER_INACTIVITY, now)
            out = camped.ue.out
        self._deadlines.touch(camped)
        guti = camped.ue.guti
        if (None if guti is None else guti.s_tmsi) != camped.s_tmsi:
            self._identify(camped)

    def _identify(self, camped: Camped) -> None:
        """Know a UE by its new 5G-S-TMSI, to page it."""
        if camped.s_tmsi is not None and self._by_s_tmsi.get(camped.s_tmsi) is camped:
            del self._by_s_tmsi[camped.s_tmsi]
        guti = camped.ue.guti
        camped.s_tmsi = None if guti is None else guti.s_tmsi
        if camped.s_tmsi is not None:
            self._by_s_tmsi[camped.s_tmsi] = camped

    def page(self, s_tmsi: tuple[int, int, int], now: float) -> bool:
        """Page a UE (8.5.1); False for one that is not here."""
        camped = self._by_s_tmsi.get(s_tmsi)
        if camped is None:
            return False
        camped.ue.paged(now)
        self.pump(camped, now)
        return True

    # RRC

    def admit(self, camped: Camped, now: float) -> None:
        """Establish the RRC connection that a UE wants, or let it wait."""
        if camped.wanted is None:
            camped.held = inf
        elif self.admission.admits():
            camped.held = inf
            self._held.pop(camped, None)
            self._next_id += 1
            stream = 0 if self.streams < 2 else 1 + self._next_id % (self.streams - 1)
            context = UeContext(self, self._next_id, stream, camped)
            camped.context = self.contexts[self._next_id] = context
            camped.ue.user_plane = context.resources
            camped.ue.connected(now)
        else:
            camped.held = now + self._timers.rrc_wait * self._rng.uniform(1.0, 2.0)
            self._held[camped] = None

    def resume(self, now: float) -> None:
        """The AMF can be reached again: let the UEs that wait try, spread over a moment."""
        for camped in self._held:
            camped.held = min(camped.held, now + self._rng.random() * self._timers.rrc_wait)
            self._deadlines.touch(camped)
        self._held.clear()

    def _left(self, camped: Camped, now: float) -> None:
        """The UE is gone without a word: the gNB sees its radio link fail."""
        camped.wanted = None
        camped.held = inf
        self._held.pop(camped, None)
        context, camped.context = camped.context, None
        if context is None:
            return
        context.camped = None
        if context.amf_ue_ngap_id is None:
            # Without the AMF's ID there is nothing to ask: what comes late is unknown (10.6).
            self._forget(context)
        else:
            self._request_release(context, RADIO_LOST, now)

    def _lose(self, context: UeContext, now: float, why: str | None) -> None:
        """Release the RRC connection of a context that is no more."""
        self._forget(context)
        camped, context.camped = context.camped, None
        if camped is not None:
            camped.context = None
            camped.wanted = None
            camped.ue.released(now, why)
            self.pump(camped, now)

    def _forget(self, context: UeContext) -> None:
        context.guard = inf
        self._resources.forget(context.resources)
        self.contexts.pop(context.ran_ue_ngap_id, None)
        amf = context.amf_ue_ngap_id
        if amf is not None and self._by_amf.get(amf) is context:
            del self._by_amf[amf]

    def lose_all(self, now: float) -> None:
        """Every connection is lost: with the association, or by a reset."""
        for context in list(self.contexts.values()):
            self._lose(context, now, CONNECTION_LOST)

    def lose_some(self, some: list[Tree], now: float) -> None:
        """The connections that a partial NG RESET names are lost."""
        for item in some:
            context = self._named(number(item, "aMF-UE-NGAP-ID"), number(item, "rAN-UE-NGAP-ID"))
            if context is not None:
                self._lose(context, now, CONNECTION_LOST)

    def _named(self, amf: int | None, ran: int | None) -> UeContext | None:
        if ran is not None:
            return self.contexts.get(ran)
        return None if amf is None else self._by_amf.get(amf)

    # uplink

    def _ids(self, context: UeContext) -> tuple[Tree, Tree]:
        return ngap_gnb.ue_ids(context.amf_ue_ngap_id or 0, context.ran_ue_ngap_id)

    def _uplink(self, camped: Camped, nas: bytes) -> None:
        context = camped.context
        if context is None:
            self.undelivered += 1
        elif not context.initial_sent:
            self._initial(context, camped, nas)
        elif context.amf_ue_ngap_id is None:
            self.undelivered += 1
        else:
            pdu = ngap_gnb.uplink_nas_transport(self._ids(context), nas, self._uli)
            self._send(context.stream, pdu)

    def _initial(self, context: UeContext, camped: Camped, nas: bytes) -> None:
        want, camped.wanted = camped.wanted, None
        context.initial_sent = True
        if want is not None:
            pdu = ngap_gnb.initial_ue_message(
                context.ran_ue_ngap_id, nas, self._uli, *want[:2], context=want.context
            )
            self._send(context.stream, pdu)

    def _request_release(self, context: UeContext, cause: str, now: float) -> None:
        """UE CONTEXT RELEASE REQUEST (8.3.2), repeated until the AMF commands it."""
        if context.amf_ue_ngap_id is None:
            return
        context.release_cause = cause
        context.tries += 1
        context.guard = now + self._timers.ng_release
        self._deadlines.touch(context)
        pdu = ngap_gnb.ue_context_release_request(self._ids(context), cause, context.resources)
        self._send(context.stream, pdu)

    def release_overdue(self, context: UeContext, now: float) -> None:
        """No UE CONTEXT RELEASE COMMAND came."""
        context.guard = inf
        cause = context.release_cause
        if cause is None:
            return
        if context.tries < _RELEASE_TRIES:
            self._request_release(context, cause, now)
        else:
            self._lose(context, now, NOT_RELEASED)

    # downlink

    def context_of(
        self, message: str, amf: int | None, ran: int | None, stream: int, now: float
    ) -> UeContext | None:
        """The context that a UE-associated message is of; else it is answered (10.6)."""
        context = self._named(amf, ran)
        if context is None:
            self._send(0, ngap_gnb.error_indication(amf, ran, {"radioNetwork": UNKNOWN_LOCAL}))
            return None
        known = context.amf_ue_ngap_id
        if known is None:
            self._name(context, message, amf)
        elif amf is not None and amf != known:
            text = f"{message} with AMF-UE-NGAP-ID {amf}, and the UE's is {known}"
            self._blame(context, Kind.NGAP_IDS, text)
            cause = {"radioNetwork": INCONSISTENT_REMOTE}
            self._send(0, ngap_gnb.error_indication(amf, ran, cause))
            self._lose(context, now, CONNECTION_LOST)
            return None
        self._check_stream(context, message, stream)
        return context

    def _name(self, context: UeContext, message: str, amf: int | None) -> None:
        """Take the AMF's ID of a connection, which no other one may have."""
        if amf is None:
            return
        if amf in self._by_amf:
            text = f"{message} gives AMF-UE-NGAP-ID {amf} to a second UE"
            self._blame(context, Kind.NGAP_IDS, text)
        context.amf_ue_ngap_id = amf
        self._by_amf[amf] = context

    def _check_stream(self, context: UeContext, message: str, stream: int) -> None:
        if context.stream_down == stream or self.streams < 2:
            return
        if stream == 0:
            text = f"{message} on stream 0, which is for what is of no UE"
            self._blame(context, Kind.NGAP_STREAM, text)
        elif context.stream_down is not None:
            text = f"{message} on stream {stream}, after stream {context.stream_down}"
            self._blame(context, Kind.NGAP_STREAM, text)
        context.stream_down = stream

    def _blame(self, context: UeContext, kind: Kind, text: str) -> None:
        """A violation that spoils what the UE of a context is doing."""
        if context.camped is None:
            self._violate(kind, text)
        else:
            context.camped.ue.violate(kind, text)

    def downlink_nas(self, context: UeContext, nas: bytes, now: float) -> None:
        """Give a NAS message to its UE, or say that it cannot be delivered (8.6.4)."""
        camped = context.camped
        if camped is None:
            pdu = ngap_gnb.nas_non_delivery(self._ids(context), nas, RADIO_LOST)
            self._send(context.stream, pdu)
            return
        camped.ue.receive(nas, now)
        self.pump(camped, now)

    def initial_context_setup(
        self, context: UeContext, payload: bytes, nas: bytes | None, now: float
    ) -> None:
        """INITIAL CONTEXT SETUP REQUEST (8.3.1): check it, set up the context, answer."""
        camped = context.camped
        ids = self._ids(context)
        if camped is None:
            cause = {"radioNetwork": RADIO_LOST}
            self._send(context.stream, ngap_gnb.initial_context_setup_failure(ids, cause))
            return
        again = context.set_up is not None
        if again and context.set_up != hash(payload):
            text = "a second INITIAL CONTEXT SETUP REQUEST, which is not the first one again"
            self._blame(context, Kind.CONTEXT_REPEATED, text)
        self.repeated_contexts += again
        ies = ngap_gnb.ies_of(payload)
        if not again:
            allowed, guami = context_checks.check_context(camped.ue, ies, self.guamis)
            camped.ue.set_up(allowed, guami)
            context.set_up = hash(payload)
            if "UERadioCapability" not in ies:
                self._send(context.stream, ngap_gnb.radio_capability_info(ids))
        answer = self._resources.set_up(camped.ue, context.resources, ies, IN_CONTEXT, again=again)
        if answer.ies and "UEAggregateMaximumBitRate" not in ies:
            self._blame(context, Kind.RESOURCE_AMBR, "PDU sessions without a UE AMBR")
        pdu = ngap_gnb.encode("InitialContextSetupResponse", *ids, *answer.ies)
        self._send(context.stream, pdu)
        self._deliver(context, [*answer.nas, *([] if nas is None else [nas])], now)

    def _deliver(self, context: UeContext, nas: list[bytes], now: float) -> None:
        """Tell a UE of its resources, and pass on what came with them."""
        camped = context.camped
        if camped is None:
            return
        camped.ue.user_plane_changed(now)
        self.pump(camped, now)
        for one in nas:
            if context.camped is camped:
                self.downlink_nas(context, one, now)

    def resource_message(
        self, context: UeContext, message: str, payload: bytes, now: float
    ) -> None:
        """PDU SESSION RESOURCE SETUP or MODIFY REQUEST, or RELEASE COMMAND (8.2)."""
        ies = ngap_gnb.ies_of(payload)
        if context.set_up is None:
            text = f"{message} before INITIAL CONTEXT SETUP REQUEST"
            self._blame(context, Kind.RESOURCE_SESSION, text)
        again = hash(payload) in context.setups
        if message == "PDUSessionResourceSetupRequest":
            context.setups.add(hash(payload))
            self.repeated_contexts += again
        ue = None if context.camped is None else context.camped.ue
        name, answer = handle(message, self._resources, context.resources, ue, ies, again=again)
        self._send(context.stream, ngap_gnb.encode(name, *self._ids(context), *answer.ies))
        self._deliver(context, answer.nas, now)

    def release_command(self, context: UeContext, now: float) -> None:
        """UE CONTEXT RELEASE COMMAND (8.3.3): the UE is released, and the AMF told."""
        pdu = ngap_gnb.ue_context_release_complete(self._ids(context), self._uli, context.resources)
        self._send(context.stream, pdu)
        self._lose(context, now, None)

    def error(self, amf: int | None, ran: int | None, text: str | None, now: float) -> bool:
        """An ERROR INDICATION: a UE that it names is released locally (10.6).

        The violation `text`, if any, is then the UE's. False where it names no UE.
        """
        context = None if amf is None and ran is None else self._named(amf, ran)
        if context is None:
            return False
        if text is not None:
            self._blame(context, Kind.NGAP_ERROR_INDICATION, text)
        self._lose(context, now, CONNECTION_LOST)
        return True
