"""The outcome of an event in the core, in terms of the specifications."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import wire
from functions.messages.ngap import cause_text, ies_of
from schemas.cloudevents import CloudEvent
from schemas.connection.state import Connection
from schemas.gmm.state import SecurityContext
from schemas.ue.state import Ue, connections
from schemas.ue.states import cm_state, gmm_state, rm_state
from tests.conformance.bench import Bench
from tests.conformance.nas_table import GMM_NAMES, GSM_NAMES
from tests.conformance.rest import QUIET

BOOKKEEPING: Final = frozenset(
    {
        "UplinkProcessed",
        "DownlinkCounted",
        "WakeScheduled",
        "TimerStarted",
        "TimerStopped",
        "N4Sent",
        "N4Answered",
        "ConnectionReleasing",
    }
)
"""Events that add no information to the sent messages and the running timers."""


class Outcome(NamedTuple):
    """The sent messages, the events, and the state of the UE."""

    sends: tuple[str, ...]
    events: tuple[str, ...]
    after: tuple[str, ...]


def of(bench: Bench, event: CloudEvent) -> Outcome:
    """Deliver an event to the core, and return the outcome."""
    return watch(bench, lambda: bench.core.deliver(event))


def watch(bench: Bench, happen: Callable[[], None]) -> Outcome:
    """Call a function, and return the outcome in the core."""
    core = bench.core
    first, told = len(core.order), len(core.downlink)
    before = list(_contexts(bench))
    happen()
    asked = [wire.pfcp_peek(pdu).message for *_, pdu in core.pfcp] if not bench.silent else []
    bench.serve()
    contexts = [*before, *_contexts(bench)]
    sends = [_downlink(pdu, contexts) for _, _, pdu in list(core.downlink)[told:]]
    sends += [f"{message} to the UPF" for message in asked]
    sends += ["Paging"] if core.pages else []
    events: list[str] = []
    for _, step in core.order[first:]:
        events += [_event(e) for e in step.events if type(e).__name__ not in BOOKKEEPING]
    return Outcome(tuple(sends), tuple(dict.fromkeys(events)), describe(bench))


def _contexts(bench: Bench) -> Iterator[SecurityContext]:
    for state in bench.core.states.values():
        if isinstance(state, Ue):
            held = (state.security, state.pending, *(b.pending for b in state.parked))
            yield from (context for context in held if context is not None)


def _event(event: Any) -> str:
    name = type(event).__name__
    if name != "Noted":
        return name
    return f"“{re.sub(r'[0-9]{6,}', '…', event.text)}”"


# Sent messages


def _downlink(pdu: bytes, contexts: Sequence[SecurityContext]) -> str:
    tree = wire.ngap_decode(pdu)
    ies = ies_of(tree)
    message = tree["message"]
    nas = [describe_nas(bytes.fromhex(octets), contexts) for octets in _nas_in(ies)]
    if message == "DownlinkNASTransport":
        return nas[0]
    cause = ies.get("Cause")
    told = f" ({cause_text(cause)})" if cause else ""
    return f"{message}{told}" + (f" with {' and '.join(nas)}" if nas else "")


def _nas_in(value: Any) -> Iterator[str]:
    """Return all NAS messages in a tree."""
    if isinstance(value, dict):
        for name, found in value.items():
            if name in _NAS_NAMES and isinstance(found, str):
                yield found
            else:
                yield from _nas_in(found)
    elif isinstance(value, list):
        for found in value:
            yield from _nas_in(found)


_NAS_NAMES: Final = ("NAS-PDU", "nAS-PDU", "pDUSessionNAS-PDU")


def describe_nas(nas: bytes, contexts: Sequence[SecurityContext]) -> str:
    """Return the name and the cause of a downlink NAS message, and whether it is plain."""
    if nas[1] & 0x0F == 0:
        return f"{_named(nas)}, plain"
    for context in contexts:
        for back in range(8):
            count = context.downlink - back
            if count < 0 or count & 0xFF != nas[6]:
                continue
            security = wire.NasSecurity(context.kamf, context.nia, context.nea, 0, count)
            try:
                return _named(security.unprotect(nas, downlink=True).plain)
            except wire.WireError:
                continue
    raise AssertionError("no security context of the UE opens a downlink NAS message")


def _named(plain: bytes) -> str:
    if plain[0] == 0x2E:
        name, tree = GSM_NAMES[plain[3]], wire.nas_decode(plain)
    else:
        name, tree = GMM_NAMES[plain[2]], wire.nas_decode(plain)
    container = tree.get("payload-container")
    if isinstance(container, dict) and "message-type" in container:
        name = _named(wire.nas_encode(container))
        if "5gmm-cause" not in tree:
            return name
        name = f"DL NAS TRANSPORT that returns {name}"
    cause = tree.get("5gmm-cause", tree.get("5gsm-cause"))
    return f"{name} ({cause})" if cause is not None else name


# State of the UE


def describe(bench: Bench) -> tuple[str, ...]:
    """Return the parts of the state of the UE, and of each unidentified UE with a connection."""
    ue = bench.ue
    others = [
        state
        for state in bench.core.states.values()
        if isinstance(state, Ue) and state is not ue and state.connection and not state.successor
    ]
    strange = [f"unidentified UE: {', '.join(list(_parts(other))[1:])}" for other in others]
    return (*_parts(ue), *strange)


def changes(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the new parts of the state, and the removed timers and sessions."""
    new = [part for part in after if part not in before]
    heads = {part.partition(":")[0] for part in new}
    gone = [part.partition(":")[0] for part in before if part not in after]
    gone = [part for part in gone if part not in heads and not part.startswith(_STATES)]
    return "; ".join([*new, *(f"no more {part}" for part in gone)])


_STATES: Final = ("RM-", "5GMM-", "CM-")


def _parts(ue: Ue) -> Iterator[str]:
    here = ue.connection
    yield rm_state(ue)
    yield gmm_state(ue)
    yield f"{cm_state(ue)}{_how(here) if here is not None else ''}"
    others = len(connections(ue)) - (here is not None)
    if others:
        yield f"other connections: {others}"
    for session in ue.sessions:
        yield f"session {session.id}: {session.stage}, user plane {session.user_plane}"
    if here is not None and here.modifying:
        yield f"context modification: {here.modifying}"
    if ue.handover is not None:
        yield f"handing over: {ue.handover.stage}"
    yield from sorted(timer_name(name) for name in ue.timers if name not in QUIET)


def timer_name(name: str) -> str:
    """Return the name of a timer without the number of a connection."""
    return re.sub(r"/[0-9a-f]{3,}", " of another connection", name)


def _how(here: Connection) -> str:
    told = [] if here.secured else ["not secured"]
    told += ["context pending"] if here.context == "pending" else []
    told += ["being released"] if here.releasing else []
    return f" ({', '.join(told)})" if told else ""
