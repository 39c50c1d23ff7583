"""5G-AKA based primary authentication (TS 24.501 5.4.1.3, TS 33.501 6.1.3.2)."""

import hmac

import wire
from functions import ngap
from functions.draft import Draft
from functions.trees import Tree
from schemas.causes import GmmCause
from schemas.identity import serving_network_name
from schemas.subscriber import Subscriber
from schemas.ue import Challenge
from schemas.ue_events import (
    AuthenticationFailed,
    AuthenticationStarted,
    AuthenticationSucceeded,
    SqnResynchronised,
)

ABBA = b"\x00\x00"
"""TS 33.501 A.7.1."""

SQN_STEP = 32
"""One more SEQ, the same IND of five bits (TS 33.102 C.1.2)."""
SQN_MAX = (1 << 48) - 1

RETRANSMISSIONS = 4
"""After which the next expiry of T3560 or T3570 aborts the procedure (TS 24.501 5.4.1.3.7)."""

NGKSI_VALUES = 7
"""0 to 6 name a key; 7 is no key (TS 24.501 9.11.3.32)."""


def start(d: Draft, subscriber: Subscriber, *, resynchronised: bool = False) -> None:
    """Send a fresh challenge and start T3560."""
    sqn = min(max(d.ue.sqn, subscriber.sqn) + SQN_STEP, SQN_MAX)
    rand = d.env.random(16)
    name = serving_network_name(d.env.network.guami.plmn)
    vector = wire.aka_vector(subscriber.k, subscriber.opc, rand, sqn, subscriber.amf, name)
    kamf = wire.kamf(vector.kseaf, d.ue.supi, ABBA)
    challenge = Challenge(_free_ngksi(d), rand, vector.autn, vector.xres_star, kamf, resynchronised)
    d.emit(AuthenticationStarted(challenge, sqn))
    send(d, challenge)


def _free_ngksi(d: Draft, after: int = NGKSI_VALUES - 1) -> int:
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


def send(d: Draft, challenge: Challenge, count: int = 0) -> None:
    """Send the AUTHENTICATION REQUEST of a challenge, and start T3560."""
    message = {
        "message-type": "authentication-request",
        "ngksi": {"native": challenge.ngksi},
        "abba": {"octets": ABBA.hex()},
        "authentication-parameter-rand": {"octets": challenge.rand.hex()},
        "authentication-parameter-autn": {"octets": challenge.autn.hex()},
    }
    d.send_nas_best(message)
    d.start_timer("T3560", d.env.network.timers.t3560, count)


def response_is_right(d: Draft, tree: Tree, challenge: Challenge) -> bool:
    """Whether RES* is XRES*; the challenge is over either way."""
    parameter = tree.get("authentication-response-parameter", {})
    res_star = bytes.fromhex(parameter.get("octets", ""))
    d.stop_timer("T3560")
    if hmac.compare_digest(res_star, challenge.xres_star):
        d.emit(AuthenticationSucceeded())
        return True
    d.emit(AuthenticationFailed("RES* is wrong"))
    return False


def failure_retried(d: Draft, tree: Tree, challenge: Challenge, subscriber: Subscriber) -> bool:
    """Answer an AUTHENTICATION FAILURE by another challenge, where one may help.

    Synch failure: re-synchronise once (5.4.1.3.7 f). ngKSI already in use: the same challenge
    under another ngKSI (e). Otherwise False, and the challenge is over.
    """
    cause = tree["5gmm-cause"]
    d.stop_timer("T3560")
    if cause == "ng-ksi-already-in-use":
        again = Challenge(
            _free_ngksi(d, after=challenge.ngksi),
            challenge.rand,
            challenge.autn,
            challenge.xres_star,
            challenge.kamf,
            challenge.resynchronised,
        )
        d.emit(AuthenticationFailed(GmmCause.NGKSI_IN_USE.text))
        d.emit(AuthenticationStarted(again, d.ue.sqn))
        send(d, again)
        return True
    if cause == "synch-failure" and not challenge.resynchronised:
        parameter = tree.get("authentication-failure-parameter", {})
        sqn_ms = _resynchronise(subscriber, challenge, bytes.fromhex(parameter.get("octets", "")))
        if sqn_ms is not None:
            d.emit(AuthenticationFailed(GmmCause.SYNCH_FAILURE.text))
            d.emit(SqnResynchronised(sqn_ms))
            start(d, subscriber, resynchronised=True)
            return True
    d.emit(AuthenticationFailed(str(cause)))
    return False


def _resynchronise(subscriber: Subscriber, challenge: Challenge, auts: bytes) -> int | None:
    """SQN_MS of an AUTS that is authentic (TS 33.102 6.3.5)."""
    try:
        return wire.verify_auts(subscriber.k, subscriber.opc, challenge.rand, auts)
    except wire.WireError:
        return None


def reject(d: Draft) -> None:
    """Send AUTHENTICATION REJECT (5.4.1.3.5) and let the connection go."""
    d.send_nas_best({"message-type": "authentication-reject"})
    d.release(ngap.AUTHENTICATION_FAILURE)
