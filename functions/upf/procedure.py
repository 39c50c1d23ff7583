"""A UPF: its association, and its path as its gateway sees it (TS 29.244 6.2).

The state is a `Upf`, not a `Ue`, so this module has its own `decide`. It also processes messages of
unknown sessions.
"""

from typing import Final

from msgspec import DecodeError, msgpack

import wire
from functions.decision.env import Env
from functions.messages import pfcp
from functions.messages.trees import Tree
from functions.upf import association, doubt
from functions.upf.decision import UpfDecision
from schemas.aggregates import upf_aggregate
from schemas.cloudevents import CloudEvent, EventType, SessionLeft, UpfLoadReported, UpfPath
from schemas.step import Output
from schemas.upf import (
    LeftoverDeleted,
    Upf,
    UpfEvent,
    UpfLoad,
    UpfOverloaded,
)

_CLOCK_SKEW_MS: Final = 250


def decide(upf: Upf, trigger: CloudEvent, env: Env) -> tuple[list[UpfEvent], list[Output]]:
    """Decide one event of a UPF."""
    d = UpfDecision(upf, env, trigger)
    match trigger.type:
        case EventType.UPF_PATH:
            _path(d, trigger.data)
        case EventType.PFCP_UPLINK:
            _pfcp(d, trigger)
        case EventType.PFCP_UNANSWERED:
            _unanswered(d, trigger)
        case EventType.PFCP_ENDED:
            d.note("a request for the UPF before its restart is not sent")
        case EventType.TIMER:
            if d.upf.wake_at and d.upf.wake_at <= env.now + _CLOCK_SKEW_MS:
                association.on_wake_up(d)
        case EventType.SESSION_LEFT:
            _session_left(d, trigger.data)
        case EventType.UPF_LOAD:
            _load(d, trigger.data)
        case _:
            d.note(f"an event of type {trigger.type} is not for a UPF")
    association.await_leftovers(d)
    return d.events, d.outputs


def _session_left(d: UpfDecision, data: bytes) -> None:
    try:
        left = msgpack.decode(data, type=SessionLeft)
    except DecodeError as err:
        d.note(f"the data of a session-left event is not valid: {err}")
        return
    if not d.configured:
        d.note("a leftover session is at a UPF that is not configured")
    elif left.incarnation not in (0, d.upf.recovery_time_stamp):
        d.note("the UPF restarted: it does not have the leftover session any more")
    else:
        association.left_over(d, left.up_seid)


def _load(d: UpfDecision, data: bytes) -> None:
    try:
        report = msgpack.decode(data, type=UpfLoadReported)
    except DecodeError as err:
        d.note(f"the data of a load event is not valid: {err}")
        return
    if not d.upf.associated:
        d.note("a load report of a UPF that is not associated")
        return
    if report.load is not None and report.load != d.upf.load:
        d.emit(UpfLoad(min(report.load, 100)))
    if report.reduction is not None:
        d.emit(UpfOverloaded(min(report.reduction, 100), d.env.now + report.period * 1000))


# Path


def _path(d: UpfDecision, data: bytes) -> None:
    try:
        path = msgpack.decode(data, type=UpfPath)
    except DecodeError as err:
        d.note(f"the data of a path event is not valid: {err}")
        return
    if not d.configured:
        d.note(f"the path is {path.state}, but the UPF is not configured")
        return
    if path.state == "down":
        association.silent(d)
        if d.upf.associated:
            # If this event is late, the response shows it.
            d.request("HeartbeatRequest", pfcp.heartbeat_request(d.since))
    elif path.state == "ignoring":
        if d.upf.associated and path.recovery_time_stamp == d.upf.recovery_time_stamp:
            association.ignoring(d)
    elif path.state == "unknown" and d.upf.associated:
        association.lost(d, path.recovery_time_stamp)
    elif not d.upf.associated:
        known = path.recovery_time_stamp in (0, d.upf.recovery_time_stamp)
        if not (known and association.is_paused(d)):
            association.associate(d)
    elif path.state == "served" and path.recovery_time_stamp in (0, d.upf.recovery_time_stamp):
        d.request("HeartbeatRequest", pfcp.heartbeat_request(d.since))
        association.delete_leftovers(d)
        if d.upf.asked:
            association.associate(d)  # the gateway that had the request may have stopped
    else:
        association.alive(d, path.recovery_time_stamp, usable=path.state == "up")


def _node_report(d: UpfDecision, ies: Tree) -> None:
    """Note a node report (6.2.9). GTP-U path failures need no action: they show in the sessions."""
    kinds = ", ".join(ies.get("Node Report Type", ()))
    failure: list[Tree] = ies.get("User Plane Path Failure Report", [])
    peers = [str(v.get("ipv4") or v.get("ipv6")) for item in failure for v in item.values()]
    d.note(f"node report {kinds}" + (f": no path to {', '.join(peers)}" if peers else ""))


# Messages


def _pfcp(d: UpfDecision, trigger: CloudEvent) -> None:
    data = trigger.data
    try:
        peek = wire.pfcp_peek(data)
        faults = wire.pfcp_check(data)
    except wire.WireError as err:
        d.note(str(err))
        return
    if peek.message.endswith("Response") and trigger.sequence is None:
        # Anyone can send a response to no request. The gateway counts it, and a step for each would
        # fill the log.
        return
    if faults is not None:
        d.note(f"{peek.message}: {faults['text']}")
        if faults["action"] != "ignore":
            pdu = pfcp.fault_response(peek, faults, d.env.network.n4_address, d.since)
            if pdu is not None:
                d.send_response(pdu)
            elif peek.message == "AssociationSetupResponse" and trigger.sequence == d.upf.asked:
                association.not_associated(d, _refusal(data) or "its response is not valid")
            return
    ies = pfcp.ies_of(wire.pfcp_decode(data, lenient=True)["ies"])
    if peek.request:
        _request(d, peek, ies)
    else:
        load = pfcp.load_of(ies)
        if load is not None and load != d.upf.load:
            d.emit(UpfLoad(load))
        # The number of a request about a UE's session is not one of this log.
        own = trigger.partitionkey == upf_aggregate(d.node_id)
        _response(d, peek.message, trigger.sequence if own else None, ies)


def _refusal(data: bytes) -> str:
    """Return the cause of a response that refuses and is not valid; empty if it has none."""
    try:
        ies = pfcp.ies_of(wire.pfcp_decode(data, lenient=True)["ies"])
    except wire.WireError:
        return ""
    return pfcp.cause_text(ies) if ies.get("Cause", pfcp.ACCEPTED) != pfcp.ACCEPTED else ""


def _request(d: UpfDecision, peek: wire.PfcpPeek, ies: Tree) -> None:
    named = pfcp.named_node(ies)
    if named not in ("", d.node_id):
        d.note(f"{peek.message} has the Node ID {named}, which is not that of this UPF")
        cause: list[Tree] = [{"Cause": pfcp.INCORRECT}, {"Offending IE": pfcp.NODE_ID}]
        if peek.message == association.SETUP:
            cause.append({"Recovery Time Stamp": d.since})
        d.respond(peek.message, peek.sequence, cause)
        return
    accepted: Tree = {"Cause": pfcp.ACCEPTED if d.upf.associated else pfcp.NO_ASSOCIATION}
    match peek.message:
        case "AssociationSetupRequest":
            association.setup_request(d, peek.sequence, ies)
        case "HeartbeatRequest":
            d.respond(peek.message, peek.sequence, [{"Recovery Time Stamp": d.known_since()}])
            known = ies["Recovery Time Stamp"] == d.upf.recovery_time_stamp
            if d.upf.associated and not (known and d.upf.reachable):
                # Anyone can send it with the UPF's address. The response is the proof.
                d.request("HeartbeatRequest", pfcp.heartbeat_request(d.since))
        case "SessionReportRequest":
            d.note(f"a report of the unknown session {peek.seid or 0:016x}")
            d.respond(peek.message, peek.sequence, [{"Cause": pfcp.NOT_FOUND}])
        case "AssociationUpdateRequest" if d.upf.associated:
            association.update_request(d, peek.sequence, ies)
        case "AssociationReleaseRequest" if d.upf.associated:
            d.respond(peek.message, peek.sequence, [accepted])
            association.release_request(d)
        case "NodeReportRequest" if d.upf.associated:
            d.respond(peek.message, peek.sequence, [accepted])
            _node_report(d, ies)
        case "AssociationUpdateRequest" | "AssociationReleaseRequest" | "NodeReportRequest":
            d.respond(peek.message, peek.sequence, [accepted])
        case _:
            d.note(f"{peek.message} is not supported")
            d.respond(peek.message, peek.sequence, [{"Cause": pfcp.NOT_SUPPORTED}])


def _response(d: UpfDecision, message: str, number: int | None, ies: Tree) -> None:
    """Process a response. `number` is that of its request, None for a request of another log."""
    match message:
        case "AssociationSetupResponse":
            association.setup_response(d, number, ies)
        case "HeartbeatResponse":
            if d.upf.associated:
                stamp = ies["Recovery Time Stamp"]
                if doubt.is_question(d, number) and stamp == d.upf.recovery_time_stamp:
                    doubt.denied(d)
                    association.reachable(d)
                association.alive(d, stamp)
        case doubt.ANSWER if doubt.is_question(d, number):
            if ies["Cause"] == pfcp.NO_ASSOCIATION:
                association.lost(d, d.upf.recovery_time_stamp)
            else:
                doubt.accept_setup(d)
                doubt.denied(d)
                association.reachable(d)
        case "SessionEstablishmentResponse" if ies["Cause"] == pfcp.ACCEPTED:
            _established_without_ue(d, ies)
        case "SessionDeletionResponse":
            found = any(leftover.number == number for leftover in d.upf.leftovers)
            if found and ies["Cause"] in (pfcp.ACCEPTED, pfcp.NOT_FOUND):
                d.emit(LeftoverDeleted(number or 0))
            else:
                d.note(f"{message} without a pending request: {pfcp.cause_text(ies)}")
        case _:
            d.note(f"{message}: {pfcp.cause_text(ies)}")


def _established_without_ue(d: UpfDecision, ies: Tree) -> None:
    """Delete a session that was established after its UE had abandoned it."""
    up_seid: int = ies.get("F-SEID", {}).get("seid", 0)
    if not up_seid:
        d.note("a session was established without a UE, and its F-SEID is missing")
        return
    association.left_over(d, up_seid)


def _unanswered(d: UpfDecision, trigger: CloudEvent) -> None:
    """Process a request without a response after all repetitions of the gateway."""
    try:
        message = wire.pfcp_peek(trigger.data).message
    except wire.WireError as err:
        d.note(f"no response to a request that is not valid: {err}")
        return
    if message == association.SETUP and trigger.sequence == d.upf.asked:
        association.not_associated(d, "no response")
    elif doubt.is_question(d, trigger.sequence) and d.upf.reachable:
        association.undecided(d)
    else:
        # Heartbeats show when the UPF is reachable again, and then leftover sessions are deleted.
        d.note(f"no response to {message}")
