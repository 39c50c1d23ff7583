"""Primary authentication (TS 24.501 5.4.1, TS 33.501 6.1.3): 5G-AKA, and EAP-AKA' (`eap`)."""

import hmac

from msgspec.structs import replace

import wire
from functions.decision import connection
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import eap
from functions.gmm.authentication.eap import Answer
from functions.messages import ngap
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.gmm.events import (
    AuthenticationFailed,
    AuthenticationStarted,
    AuthenticationSucceeded,
    Deregistered,
    SqnResynchronised,
)
from schemas.gmm.state import Challenge
from schemas.identity import serving_network_name
from schemas.subscriber import AuthMethod, Subscriber

ABBA = b"\x00\x00"
"""TS 33.501 A.7.1."""

SQN_STEP = 32
"""One more SEQ, the same IND of five bits (TS 33.102 C.1.2)."""
SQN_MAX = (1 << 48) - 1

NGKSI_VALUES = 7
"""0 to 6 name a key; 7 is no key (TS 24.501 9.11.3.32)."""


def start(d: UeDecision, subscriber: Subscriber, *, failed: Challenge | None = None) -> None:
    """Send a fresh challenge of the subscriber's method, and start T3560.

    `failed` is the challenge before it, of a UE that has been re-synchronised since.
    """
    resynchronised = failed is not None
    refused = failed.ngksi_refused if failed is not None else 0
    sqn = min(max(d.ue.sqn, subscriber.sqn) + SQN_STEP, SQN_MAX)
    rand, ngksi, plmn = d.env.random(16), _free_ngksi(d), d.plmn
    name = serving_network_name(plmn)
    if subscriber.auth_method == AuthMethod.EAP_AKA_PRIME:
        # One request with the Identifier of another would be a repetition (RFC 3748 4.1).
        identifier = (failed.eap_identifier + 1) % 256 if failed else d.env.random_int(8)
        autn, xres, k_aut, kseaf = eap.challenge(subscriber, d.ue.supi, name, rand, sqn)
        kamf = wire.kamf(kseaf, d.ue.supi, ABBA)
        challenge = Challenge(
            *(ngksi, rand, autn, xres, kamf, resynchronised, k_aut, identifier),
            plmn=plmn,
            ngksi_refused=refused,
        )
    else:
        vector = wire.aka_vector(subscriber.k, subscriber.opc, rand, sqn, subscriber.amf, name)
        kamf = wire.kamf(vector.kseaf, d.ue.supi, ABBA)
        challenge = Challenge(
            *(ngksi, rand, vector.autn, vector.xres_star, kamf, resynchronised),
            plmn=plmn,
            ngksi_refused=refused,
        )
    d.emit(AuthenticationStarted(challenge, sqn))
    send(d, challenge)


def _free_ngksi(d: UeDecision, after: int = NGKSI_VALUES - 1) -> int:
    """The next ngKSI that neither side uses for another key (TS 24.501 5.4.1.3.2).

    One that the UE has just refused comes last, so that all are tried in turn.
    """
    used = {d.ue.security.ngksi} if d.ue.security is not None else set[int]()
    if d.ue.challenge is not None:
        used.add(d.ue.challenge.ngksi)
    if d.ue.registration is not None and d.ue.registration.ngksi is not None:
        used.add(d.ue.registration.ngksi)
    values = [(after + 1 + i) % NGKSI_VALUES for i in range(NGKSI_VALUES)]
    return next(value for value in values if value not in used)


def send(d: UeDecision, challenge: Challenge, count: int = 0) -> None:
    """Send the AUTHENTICATION REQUEST of a challenge, and start T3560."""
    plain = _request(challenge)
    secured = d.connection.secured and d.ue.security is not None
    d.send(ngap.downlink_nas_transport(d.connection, d.protect(plain) if secured else plain))
    d.start_timer("T3560", d.env.network.timers.t3560, count)


def _request(challenge: Challenge) -> bytes:
    if not challenge.k_aut:
        return wire.nas_authentication_request(
            challenge.ngksi, ABBA, challenge.rand, challenge.autn
        )
    return wire.nas_encode(
        {
            "message-type": "authentication-request",
            "ngksi": {"native": challenge.ngksi},
            "abba": {"octets": ABBA.hex()},
            "eap-message": eap.request(challenge, serving_network_name(challenge.plmn)),
        }
    )


def response(
    d: UeDecision, tree: Tree, challenge: Challenge, subscriber: Subscriber | None
) -> Answer:
    """Judge an AUTHENTICATION RESPONSE; the challenge is over unless it is none.

    A synchronisation failure in it (5.4.1.2.4.5) is answered by another challenge, once.
    """
    if challenge.k_aut:
        found, auts = eap.answer(tree, challenge)
    else:
        parameter = subtree(tree, "authentication-response-parameter")
        res_star = bytes.fromhex(parameter.get("octets", ""))
        right = hmac.compare_digest(res_star, challenge.xres_star)
        found, auts = (Answer.RIGHT if right else Answer.WRONG), b""
    if found is Answer.NONE:
        d.note("an AUTHENTICATION RESPONSE for another challenge")
        return found
    d.stop_timer("T3560")
    if found is Answer.RIGHT:
        d.emit(AuthenticationSucceeded())
    elif found is Answer.SYNCH_FAILURE and subscriber is not None:
        if _resynchronised(d, challenge, subscriber, auts):
            return Answer.NONE
        d.emit(AuthenticationFailed(GmmCause.SYNCH_FAILURE.text))
    else:
        d.emit(AuthenticationFailed("the response is wrong"))
    return found


def _resynchronised(
    d: UeDecision, challenge: Challenge, subscriber: Subscriber, auts: bytes
) -> bool:
    """Challenge the UE by the SQN of its USIM, once in a row (5.4.1.3.7 f)."""
    if challenge.resynchronised:
        return False
    try:
        sqn_ms = wire.verify_auts(subscriber.k, subscriber.opc, challenge.rand, auts)
    except wire.WireError:
        return False
    d.emit(AuthenticationFailed(GmmCause.SYNCH_FAILURE.text))
    d.emit(SqnResynchronised(sqn_ms))
    start(d, subscriber, failed=challenge)
    return True


def failure_retried(
    d: UeDecision, tree: Tree, challenge: Challenge, subscriber: Subscriber
) -> bool:
    """Answer an AUTHENTICATION FAILURE by another challenge, where one may help.

    Synch failure: re-synchronise once (5.4.1.3.7 f). ngKSI already in use: the same challenge
    under another ngKSI (e), until all values were tried. Otherwise False, and the challenge is
    over.
    """
    cause = tree["5gmm-cause"]
    d.stop_timer("T3560")
    refused = challenge.ngksi_refused + 1
    if cause == "ng-ksi-already-in-use" and refused < NGKSI_VALUES:
        ngksi = _free_ngksi(d, after=challenge.ngksi)
        again = replace(challenge, ngksi=ngksi, ngksi_refused=refused)
        d.emit(AuthenticationFailed(GmmCause.NGKSI_IN_USE.text))
        d.emit(AuthenticationStarted(again, d.ue.sqn))
        send(d, again)
        return True
    if cause == "synch-failure":
        parameter = subtree(tree, "authentication-failure-parameter")
        auts = bytes.fromhex(parameter.get("octets", ""))
        if _resynchronised(d, challenge, subscriber, auts):
            return True
    d.emit(AuthenticationFailed(str(cause)))
    return False


def reject(d: UeDecision, failed: Challenge | None = None) -> None:
    """Send AUTHENTICATION REJECT (5.4.1.3.5) and let the connection go.

    A UE that has proved to be there is deregistered by it. `failed` is the challenge that it
    follows at once: an EAP exchange ends with its EAP-Failure.
    """
    message: Tree = {"message-type": "authentication-reject"}
    if failed is not None and failed.k_aut:
        message["eap-message"] = {"octets": eap.result(failed, success=False).hex()}
    d.send_nas_best(message)
    if d.connection.secured and d.ue.registered:
        connection.proved(d)
        d.emit(Deregistered("authentication failed"))
    d.release(ngap.AUTHENTICATION_FAILURE)
    connection.abort(d, "authentication failed")
