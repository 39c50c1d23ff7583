"""A `World` that checks every step: rules that hold for any step in any state."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

import wire
from functions.decision.connection import COMMON_TIMERS, MAX_PARKED, MAX_RELEASING, Origin
from functions.decision.ue_decision import RETRANSMISSIONS
from functions.messages.ngap.faults import FAILURES
from schemas.aggregates import UNIDENTIFIED, kind_of
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection import fold as connection_fold
from schemas.connection.state import Connection
from schemas.gmm.events import (
    AuthenticationFailed,
    AuthenticationStarted,
    SecurityModeCompleted,
    SecurityModeStarted,
)
from schemas.gmm.state import SecurityContext
from schemas.ran import Gnb, NgSetupFailed
from schemas.step import FanOut, SendNgap, Step, Wake, encode
from schemas.ue.events import TimerStarted
from schemas.ue.state import Ue, connections
from schemas.ue.waking import WAKE, shared_by
from schemas.upf import Upf
from tests.functions.handover_checks import check_handover, check_next_hops
from tests.functions.outstanding import Outstanding
from tests.functions.world import World

RELEASE_COMMAND, ERROR_INDICATION = "UEContextReleaseCommand", "ErrorIndication"
REFUSALS = frozenset({ERROR_INDICATION, "PathSwitchRequestFailure", *FAILURES.values()})

PLAIN_ALLOWED = frozenset({0x5B, 0x56, 0x5A, 0x58, 0x44, 0x46, 0x4D, 0x64})
"""Messages without protection before the secure exchange (TS 24.501 4.4.4.2): IDENTITY REQUEST,
AUTHENTICATION REQUEST, RESULT and REJECT, REGISTRATION REJECT, DEREGISTRATION ACCEPT, SERVICE
REJECT; and 5GMM STATUS, which a UE ignores."""
SECURITY_MODE_COMMAND = 0x5D
AUTHENTICATION_REJECT = 0x58


class Downlink(NamedTuple):
    """One decoded NGAP PDU of a step."""

    message: str
    amf_ue_ngap_id: int | None
    nas: bytes | None
    security_key: str | None


def read(pdu: bytes) -> Downlink:
    """Return a decoded PDU of the core; it must be valid."""
    assert wire.ngap_check(pdu) is None, pdu.hex()
    tree = wire.ngap_decode(pdu)
    assert wire.ngap_encode(tree) == pdu
    ies: dict[str, Any] = {}
    for item in tree["ies"]:
        ies.update(item)
    ids = ies.get("UE-NGAP-IDs", {})
    pair = ids.get("uE-NGAP-ID-pair", ids)
    nas = ies.get("NAS-PDU")
    return Downlink(
        tree["message"],
        ies.get("AMF-UE-NGAP-ID", pair.get("aMF-UE-NGAP-ID")),
        None if nas is None else bytes.fromhex(nas),
        ies.get("SecurityKey"),
    )


class CheckedWorld(World):
    """Raises `AssertionError` in a step that breaks a rule."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.protected: dict[tuple[bytes, int], bytes] = {}
        """The message for each downlink COUNT of each K_AMF."""
        self.rands: dict[bytes, bytes] = {}
        """The RAND of each K_AMF."""
        self.kgnbs: dict[str, int] = {}
        """The connection of each K_gNB."""
        self.next_hops: set[str] = set()
        self.outstanding = Outstanding()
        self.checked = 0

    def record(self, name: str, step: Step[Any]) -> None:
        before = self.states.get(name, kind_of(name).new())
        untouched = encode(before)
        super().record(name, step)
        after = self.states[name]
        assert encode(before) == untouched, "a fold changed the state that it was given"
        assert kind_of(name).decode_state(encode(after)) == after
        downlinks = [read(output.pdu) for output in step.outputs if isinstance(output, SendNgap)]
        self.checked += 1
        _check_index_of_wakes(name, after)
        if isinstance(after, Ue):
            self._check_counts(before, after)
            self._check_context(before, step, after)
            self._check_downlinks(before, step, after, downlinks)
            _check_timers(name, after)
            if not step.poisoned:
                _check_pending(name, after)
            _check_wakes(step)
            check_handover(after)
            check_next_hops(step, self.next_hops)
            self.outstanding.check(step)
        elif isinstance(after, Gnb):
            _check_ran(before, step, after, downlinks)

    def deliver(self, event: CloudEvent) -> None:
        super().deliver(event)
        for name, state in self.states.items():
            if isinstance(state, Ue) and state.timers:
                first = min(timer.at for timer in state.timers.values())
                assert name in self.wakes, f"{name}: {state.timers} without a wake-up"
                assert self.wakes[name][0] <= first, f"{name}: woken after {state.timers}"

    # COUNTs and keys

    def _check_counts(self, before: Ue, after: Ue) -> None:
        for old in _contexts(before):
            for new in _contexts(after):
                if (old.kamf, old.nia, old.nea) == (new.kamf, new.nia, new.nea):
                    assert new.uplink >= old.uplink, "an uplink NAS COUNT decreased"
                    assert new.downlink >= old.downlink, "a downlink NAS COUNT decreased"

    def _check_context(self, before: Ue, step: Step[Any], after: Ue) -> None:
        """A context is taken into use only by a SECURITY MODE COMPLETE under it."""
        was = before.security.kamf if before.security else b""
        now = after.security.kamf if after.security else b""
        if now != was:
            completed = [e for e in step.events if isinstance(e, SecurityModeCompleted)]
            assert len(completed) == 1
            assert now in {c.kamf for c in _contexts(before) if c != before.security}
        for event in step.events:
            if isinstance(event, AuthenticationStarted):
                rand = self.rands.setdefault(event.challenge.kamf, event.challenge.rand)
                assert rand == event.challenge.rand, "two challenges, one K_AMF"
                taken = any(isinstance(e, SecurityModeCompleted) for e in step.events)
                current = after.security if taken else before.security
                assert current is None or current.ngksi != event.challenge.ngksi
            if isinstance(event, SecurityModeStarted):
                context = event.context
                assert context.kamf in self.rands
                assert (context.uplink, context.downlink) == (0, 0)
                used = [kamf for kamf, _ in self.protected if kamf == context.kamf]
                assert not used, "a K_AMF is offered a second time"

    # Messages

    def _check_downlinks(
        self, before: Ue, step: Step[Any], after: Ue, downlinks: list[Downlink]
    ) -> None:
        known = {c.amf_ue_ngap_id: c for c in (*connections(before), *connections(after))}
        ended = {c.amf_ue_ngap_id for c in connections(before) if c.releasing}
        for sent in downlinks:
            if sent.message in REFUSALS:
                continue  # it goes to the sender, on any connection
            assert sent.amf_ue_ngap_id in known, f"{sent.message} on no connection of the UE"
            assert sent.message == RELEASE_COMMAND or sent.amf_ue_ngap_id not in ended, (
                f"{sent.message} on a connection that is released"
            )
            if sent.message == RELEASE_COMMAND:
                ended.add(sent.amf_ue_ngap_id)
            if sent.security_key is not None:
                owner = self.kgnbs.setdefault(sent.security_key, sent.amf_ue_ngap_id)
                assert owner == sent.amf_ue_ngap_id, "one K_gNB for two connections"
            if sent.nas is not None:
                self._check_nas(known[sent.amf_ue_ngap_id], before, step, after, sent.nas)

    def _check_nas(
        self, here: Connection, before: Ue, step: Step[Any], after: Ue, nas: bytes
    ) -> None:
        header = nas[1] & 0x0F
        if header == 0:
            assert not here.secured, f"plain NAS {nas[2]:#04x} after the secure exchange"
            assert nas[2] in PLAIN_ALLOWED, f"plain NAS {nas[2]:#04x}"
            assert wire.nas_encode(wire.nas_decode(nas)) == nas
            if nas[2] == AUTHENTICATION_REJECT:
                _check_rejection(before, step)
            return
        assert header in (2, 3), f"security header type {header}"
        plain, kamf, count = _opened(nas, list(_contexts(after)))
        assert (plain[2] == SECURITY_MODE_COMMAND) == (header == 3)
        assert wire.nas_encode(wire.nas_decode(plain)) == plain
        first = self.protected.setdefault((kamf, count), nas)
        assert first == nas, f"downlink NAS COUNT {count} protects two messages"
        if plain[2] == AUTHENTICATION_REJECT:
            _check_rejection(before, step)


def _contexts(ue: Ue) -> Iterator[SecurityContext]:
    pending = (ue.pending, *(found.pending for found in ue.parked))
    yield from (context for context in (ue.security, *pending) if context is not None)


def _opened(nas: bytes, contexts: list[SecurityContext]) -> tuple[bytes, bytes, int]:
    """Return a deciphered downlink message with its context and its COUNT."""
    for context in contexts:
        # The state after the step has COUNTs after those of its messages.
        for back in range(1, 5):
            count = context.downlink - back
            if count < 0 or count & 0xFF != nas[6]:
                continue
            security = wire.NasSecurity(context.kamf, context.nia, context.nea, 0, count)
            try:
                found = security.unprotect(nas, downlink=True)
            except wire.WireError:
                continue
            return found.plain, context.kamf, found.count
    raise AssertionError("no security context of the UE opens a protected message")


def _check_rejection(before: Ue, step: Step[Any]) -> None:
    """AUTHENTICATION REJECT is sent after a failure, or to a UE that was identified after a
    failure."""
    failed = any(isinstance(e, AuthenticationFailed) for e in step.events)
    registrations = (before.registration, *(found.registration for found in before.parked))
    asked = any(r is not None and r.stage == "identifying" for r in registrations)
    assert failed or asked


def _check_pending(name: str, ue: Ue) -> None:
    """A pending request of the network has a timer, and an idle UE is supervised."""
    wanted, update, here = ue.network_deregistration, ue.update, ue.connection
    assert ue.registered or (wanted is None and update is None)
    sent = update is not None and update.command and not update.given_up
    assert bool(sent) == ("T3555" in ue.timers), (update, ue.timers)
    assert wanted is not None or "T3522" not in ue.timers
    watched = ue.timers.keys() & {"mobile-reachable", "implicit-deregistration"}
    assert not watched or (here is None and ue.registered)
    if here is None and ue.registered and not name.startswith(UNIDENTIFIED):
        assert ue.timers, "no timer supervises the idle UE"
    if wanted is not None and here is None:
        assert "T3513" in ue.timers
    busy = ue.registration is not None or ue.challenge is not None or ue.deregistering
    if wanted is not None and here is not None and here.secured and not busy:
        assert here.releasing or ue.pending is not None or ue.successor or "T3522" in ue.timers


def _check_timers(name: str, ue: Ue) -> None:
    """A timer runs only for a procedure, and a procedure that waits for the other side has a
    timer."""
    for found in ue.parked:
        assert not found.connection.secured, "a parked connection is secured"
        assert not found.connection.releasing
        number = found.connection.amf_ue_ngap_id
        here = (ue.connection,) if ue.connection is not None else ()
        alone = replace(ue, connection=None, parked=(found,), stale=(*ue.stale, *here))
        alone = replace(alone, registration=None, challenge=None, pending=None)
        alone = replace(alone, deregistering=False, successor="")
        others = [n for n in ue.timers if n in COMMON_TIMERS]
        timers = {n: t for n, t in ue.timers.items() if n not in others}
        _check_timers(name, connection_fold.activate(replace(alone, timers=timers), number))
    assert len(ue.parked) <= MAX_PARKED
    assert len(ue.stale) <= MAX_RELEASING + MAX_PARKED
    registration = ue.registration
    stage = registration.stage if registration is not None else ""
    running = set(ue.timers) & set(COMMON_TIMERS)
    assert len(running) <= 1, running
    challenged = ue.challenge is not None or ue.pending is not None
    assert "T3550" not in running or stage == "accepted"
    assert "T3560" not in running or challenged
    assert "T3570" not in running or stage == "identifying"
    assert registration is not None or ue.deregistering or ue.registered or not challenged
    releasing = [c for c in connections(ue) if c.releasing]
    assert bool(releasing) == ("ng-release" in ue.timers), (releasing, ue.timers)
    if ue.connection is None:
        assert not running
        assert registration is None
        assert not challenged
        assert not ue.deregistering
    elif not ue.connection.releasing and not ue.successor:
        waits = registration is not None or ue.deregistering or challenged
        assert bool(running) == waits, f"{name}: {stage} with {ue.timers}"
    assert all(timer.count <= RETRANSMISSIONS for timer in ue.timers.values())
    if ue.successor and not name.startswith(UNIDENTIFIED):
        assert ue.connection is not None, "a transferred UE has no connection"


def _check_ran(before: Gnb, step: Step[Any], after: Gnb, downlinks: list[Downlink]) -> None:
    """A RAN node gets messages on the association that it sent from; a lost association loses its
    UEs."""
    from_n2 = step.trigger.source.startswith("/n2/")
    origin = Origin(step.trigger.source) if step.outputs and from_n2 else None
    here = origin.association if origin is not None else after.association
    for output in step.outputs:
        assert isinstance(output, SendNgap | FanOut | Wake)
        if isinstance(output, SendNgap) and not _relayed(output):
            assert output.association == here
            assert origin is None or output.gnb == origin.gnb
        if isinstance(output, Wake):
            assert (after.wake_at, after.updating is not None) == (output.at, True)
    assert not after.wake_at or after.updating is not None
    sent = [found.message for found in downlinks]
    assert len(sent) <= 2, sent
    if step.trigger.data[:2] == b"\x00\x09" and step.trigger.type == EventType.NGAP_UPLINK:
        assert sent == [], "an ERROR INDICATION is answered (TS 38.413 10.5)"
    told = [o for o in step.outputs if isinstance(o, FanOut)]
    if before.association and after.association != before.association:
        whole = [o for o in told if not o.amf_ue_ngap_ids and not o.ran_ue_ngap_ids]
        assert before.association in {o.association for o in whole}
    if "NGSetupResponse" in sent:
        assert origin is not None
        assert after.association == origin.association
    if any(isinstance(event, NgSetupFailed) for event in step.events):
        # A message with a fault is rejected, and no part of it is executed (10.3.4.2).
        assert "NGSetupFailure" in sent
        assert origin is not None
        assert after.association != origin.association


def _relayed(output: SendNgap) -> bool:
    """Whether a message is relayed from another node."""
    return wire.ngap_peek(output.pdu).message in (
        "DownlinkRANConfigurationTransfer",
        "DownlinkRIMInformationTransfer",
    )


def _check_index_of_wakes(name: str, state: Ue | Gnb | Upf) -> None:
    """A wake-up that JetStream loses is made again from the index."""
    runs = bool(state.timers if isinstance(state, Ue) else state.wake_at)
    entries = [key for kind, key in kind_of(name).indexes(state) if kind == WAKE]
    assert len(entries) == runs, (name, entries, state)
    for key in entries:
        assert state.wake_at <= shared_by(key)[0] < state.wake_at + 65_536


def _check_wakes(step: Step[Any]) -> None:
    started = [e.at for e in step.events if isinstance(e, TimerStarted)]
    wakes = [output.at for output in step.outputs if isinstance(output, Wake)]
    assert all(at >= step.at for at in started)
    assert all(at >= step.at for at in wakes)


def by_kamf(world: CheckedWorld) -> dict[bytes, list[int]]:
    """Return the downlink COUNTs of each K_AMF."""
    found: dict[bytes, list[int]] = defaultdict(list)
    for kamf, count in world.protected:
        found[kamf].append(count)
    return found
