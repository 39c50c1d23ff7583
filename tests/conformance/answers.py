"""Correct answers of a UE and of a gNB, derived from the state of the core."""

import functools
import hmac
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import wire
from schemas.cloudevents import CloudEvent
from schemas.gmm.state import Challenge
from schemas.gsm.state import PduSession
from tests.conformance.bench import NODES, Bench, How, Place, suci


class Answer(NamedTuple):
    """An expected answer, and the function that makes it."""

    name: str
    make: Callable[[], CloudEvent]


def answers(bench: Bench, *, ue: bool = True, gnb: bool = True) -> list[Answer]:
    """Return all expected answers of the UE, of its gNBs, or of both."""
    found: list[Answer] = []
    if gnb:
        for place in bench.places():
            found += _of_gnb(bench, place)
    if ue:
        found += _of_ue(bench)
    return found


# Answers of the UE


def _of_ue(bench: Bench) -> list[Answer]:
    place = bench.place()
    if place is None or place.connection.releasing:
        return []
    ue = place.ue
    found = [
        Answer(timer, make)
        for timer, make in (
            (
                "T3570",
                lambda: bench.nas(identity(), "plain" if not _secured(place) else "protected"),
            ),
            ("T3560", lambda: _common(bench, place)),
            ("T3550", lambda: bench.nas(b"\x7e\x00\x43")),
            ("T3555", lambda: bench.nas(b"\x7e\x00\x55")),
            ("T3522", lambda: bench.nas(b"\x7e\x00\x48")),
        )
        if timer in ue.timers
    ]
    for session in ue.sessions:
        for timer, message in _COMPLETES.items():
            if f"{timer}/{session.id}" in ue.timers:
                tree = gsm(message, session.id, session.pti)
                found.append(Answer(timer, lambda tree=tree: bench.nas(wire.nas_encode(tree))))
    return found


MESSAGE: Final = "message-type"
_COMPLETES: Final = {
    "T3591": "pdu-session-modification-complete",
    "T3592": "pdu-session-release-complete",
}


def _secured(place: Place) -> bool:
    return place.connection.secured


@functools.cache
def identity() -> bytes:
    """Return an IDENTITY RESPONSE with the SUCI."""
    return wire.nas_encode({MESSAGE: "identity-response", "mobile-identity": {"octets": suci()}})


def _common(bench: Bench, place: Place) -> CloudEvent:
    """Return the answer to an AUTHENTICATION REQUEST or to a SECURITY MODE COMMAND."""
    if place.ue.pending is not None:
        return bench.nas(security_mode_complete(bench), "new")
    how: How = "protected" if place.connection.secured else "plain"
    return bench.nas(authentication_response(bench), how)


def authentication_response(bench: Bench) -> bytes:
    """Return an AUTHENTICATION RESPONSE with the expected RES*, or with the RES of EAP-AKA'."""
    challenge = bench.here.challenge
    if challenge is not None and challenge.k_aut:
        packet = _eap_response(challenge)
        return b"\x7e\x00\x57\x78" + len(packet).to_bytes(2, "big") + packet
    expected = challenge.xres_star if challenge is not None else bytes(16)
    return b"\x7e\x00\x57\x2d\x10" + expected


def _eap_response(challenge: Challenge) -> bytes:
    """Return an EAP-Response/AKA'-Challenge: AT_RES and AT_MAC (RFC 4187 9.4, RFC 9048 3.4)."""
    res = challenge.xres_star
    at_res = bytes([3, 1 + len(res) // 4]) + (len(res) * 8).to_bytes(2, "big") + res
    size = 8 + len(at_res) + 20
    head = bytes([2, challenge.eap_identifier]) + size.to_bytes(2, "big") + b"\x32\x01\0\0"
    unsigned = head + at_res + b"\x0b\x05\0\0"
    mac = hmac.digest(challenge.k_aut, unsigned + bytes(16), "sha256")[:16]
    return unsigned + mac


def security_mode_complete(bench: Bench) -> bytes:
    """Return a SECURITY MODE COMPLETE with the whole REGISTRATION REQUEST of the procedure."""
    registration = bench.here.registration
    if registration is None:
        return b"\x7e\x00\x5e"
    request = registration.request
    return b"\x7e\x00\x5e\x71" + len(request).to_bytes(2, "big") + request


def gsm(kind: str, psi: int = 1, pti: int = 1, /, **more: Any) -> dict[str, Any]:
    """Return a 5GSM message in an UL NAS TRANSPORT, which has the IEs of `transport` too."""
    transport = more.pop("transport", {})
    head = {"pdu-session-identity": psi, "procedure-transaction-identity": pti}
    return {
        MESSAGE: "ul-nas-transport",
        "payload-container-type": "n1-sm-information",
        "payload-container": {MESSAGE: kind, **head, **more},
        "pdu-session-id": psi,
        **transport,
    }


# Answers of the gNB


def _of_gnb(bench: Bench, place: Place) -> list[Answer]:
    """Return the answers of a gNB to the requests for a connection."""
    if place.ue.successor:
        return []
    handover = _of_handover(bench, place)
    if handover:
        return handover
    asked = _asked(place)
    return [Answer(name, functools.partial(_answered, bench, place, name)) for name in asked]


_CONTEXT: Final = "InitialContextSetupRequest"
_RESOURCES: Final = "PDUSessionResourceSetupRequest"
_MODIFY: Final = "PDUSessionResourceModifyRequest"
_RELEASE: Final = "PDUSessionResourceReleaseCommand"
_ANSWERS: Final = {
    "UEContextReleaseCommand": "UEContextReleaseComplete",
    _CONTEXT: "InitialContextSetupResponse",
    "UEContextModificationRequest": "UEContextModificationResponse",
    _RESOURCES: "PDUSessionResourceSetupResponse",
    _MODIFY: "PDUSessionResourceModifyResponse",
    _RELEASE: "PDUSessionResourceReleaseResponse",
}


def _asked(place: Place) -> list[str]:
    """Return the names of the requests that the gNB has not answered."""
    here = place.connection
    if here.releasing:
        return ["UEContextReleaseCommand"]
    waiting = {
        _CONTEXT: here.context == "pending",
        "UEContextModificationRequest": bool(here.modifying),
        _RESOURCES: "setup" in here.asked,
        _MODIFY: "modify" in here.asked,
        _RELEASE: "release" in here.asked,
    }
    return [name for name, waits in waiting.items() if waits]


def _waiting(place: Place) -> list[PduSession]:
    """Return the sessions with a pending resource setup at the gNB."""
    return [
        session
        for session in place.ue.sessions
        if session.user_plane == "requested"
        and session.amf_ue_ngap_id == place.connection.amf_ue_ngap_id
        and session.stage != "released"
    ]


def _answered(bench: Bench, place: Place, asked: str) -> CloudEvent:
    waiting = _waiting(place) if asked in (_CONTEXT, _RESOURCES) else []
    suffix = "CxtRes" if asked == _CONTEXT else "SURes"
    lists = [bench.set_up_items(waiting, suffix)] if waiting else []
    return said(bench, place, _ANSWERS[asked], *lists)


def _of_handover(bench: Bench, place: Place) -> list[Answer]:
    """Return the next answer of the target of a handover."""
    here, ongoing = place.connection, place.ue.handover
    if here.releasing or ongoing is None or here is not place.ue.target:
        return []
    if ongoing.stage == "preparing":
        return [Answer("HandoverRequest", lambda: handover_acknowledged(bench, place))]
    return [Answer("HandoverCommand", lambda: handover_notified(bench, place))]


def handover_acknowledged(bench: Bench, place: Place) -> CloudEvent:
    """Return a HANDOVER REQUEST ACKNOWLEDGE of the target, which admits all sessions."""
    ongoing = place.ue.handover
    ids = [moving.psi for moving in ongoing.sessions] if ongoing is not None else [1]
    flows = [{"qosFlowIdentifier": 1}]
    items = [
        {
            "pDUSessionID": psi,
            "handoverRequestAcknowledgeTransfer": {
                "dL-NGU-UP-TNLInformation": bench.tunnel(),
                "qosFlowSetupResponseList": flows,
            },
        }
        for psi in ids
    ]
    return of_target(
        bench,
        place,
        "HandoverRequestAcknowledge",
        {"PDUSessionResourceAdmittedList": items},
        {"TargetToSource-TransparentContainer": "0102"},
    )


def handover_notified(bench: Bench, place: Place) -> CloudEvent:
    """Return a HANDOVER NOTIFY of the target, and move the UE to the target."""
    made = said(bench, place, "HandoverNotify", {"UserLocationInformation": bench.location()})
    bench.move(place.connection)
    return made


def of_target(bench: Bench, place: Place, message: str, *ies: dict[str, Any]) -> CloudEvent:
    """Return a message of a target with a new RAN-UE-NGAP-ID."""
    ids = [
        {"AMF-UE-NGAP-ID": place.connection.amf_ue_ngap_id},
        {"RAN-UE-NGAP-ID": bench.new_ran_id()},
    ]
    node = next((n for n in NODES if n.association == place.connection.association), None)
    return bench.pdu(wire.ngap_encode({"message": message, "ies": [*ids, *ies]}), node)


def said(bench: Bench, place: Place, message: str, *ies: dict[str, Any]) -> CloudEvent:
    """Return a message of the gNB of a connection."""
    here = place.connection
    ran_id = min(here.ran_ue_ngap_id, (1 << 32) - 1)  # a target may have no id yet
    ids = [{"AMF-UE-NGAP-ID": here.amf_ue_ngap_id}, {"RAN-UE-NGAP-ID": ran_id}]
    node = next((n for n in NODES if n.association == here.association), None)
    pdu = wire.ngap_encode({"message": message, "ies": [*ids, *ies]})
    return bench.pdu(pdu, node)
