"""Procedures with deliberate errors: verification must find each error in a history."""

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import wire
from functions.decision.env import Env
from functions.decision.ue_decision import NoSecurityError, UeDecision, seal
from functions.gmm.authentication.eap import Answer
from functions.gmm.deregistration import procedure
from functions.messages import ngap
from functions.runtime.variants import load
from schemas.connection.events import ConnectionReleasing
from schemas.gmm.events import AuthenticationSucceeded
from schemas.procedures import Procedure
from tests.histories import history, record
from tests.histories.again import redecided, warm
from tests.variants import folder, wrapped

start_timer, stop_timer = UeDecision.start_timer, UeDecision.stop_timer
release_ues = "functions.ran.decision.GnbDecision.release_ues"


def believe_any_response(d: UeDecision, *_: object) -> Answer:
    d.stop_timer("T3560")
    d.emit(AuthenticationSucceeded())
    return Answer.RIGHT


def forget_t3560(d: UeDecision, name: str, seconds: float, count: int = 0) -> None:
    if name != "T3560":
        start_timer(d, name, seconds, count)


def forget_to_stop_t3550(d: UeDecision, name: str) -> None:
    if name != "T3550":
        stop_timer(d, name)


def read_the_clock(d: UeDecision, name: str, seconds: float, count: int = 0) -> None:
    start_timer(d, name, seconds + time.time() / 1e6, count)


def ran_id_first(connection: Any, nas: bytes) -> bytes:
    ies = [
        {"RAN-UE-NGAP-ID": connection.ran_ue_ngap_id},
        {"AMF-UE-NGAP-ID": connection.amf_ue_ngap_id},
        {"NAS-PDU": nas.hex()},
    ]
    return wire.ngap_encode({"message": "DownlinkNASTransport", "ies": ies})


def protect_without_counting(d: UeDecision, plain: bytes) -> bytes:
    if d.ue.security is None:
        raise NoSecurityError
    return seal(d.ue.security, plain, 2)


def note_the_release_last(d: UeDecision, cause: ngap.Cause, old: Any = None) -> None:
    here = old or d.ue.connection
    if here is not None and not here.releasing:
        d.send(ngap.ue_context_release_command(here, cause), here)
        d.start_timer("ng-release", d.env.network.timers.ng_release)
        d.emit(ConnectionReleasing(here.amf_ue_ngap_id, ngap.cause_text(cause)))


def believe_without_a_mac(d: UeDecision, *, switch_off: bool) -> None:
    procedure.complete(d, switch_off=switch_off)


def the_last_algorithm(priority: tuple[int, ...], capability: bytes, octet: int) -> int:
    return [n for n in priority if capability[octet] & 0x80 >> n][-1]


class Wrong(NamedTuple):
    """A replacement for one function, and a history that shows the difference."""

    target: str
    instead: Callable[..., Any]
    shown_by: str


remembered = itertools.count()

WRONG = {
    "skips the RES* check": Wrong(
        "functions.gmm.authentication.aka.response", believe_any_response, "wrong-res-star"
    ),
    "forgets T3560": Wrong(
        "functions.decision.ue_decision.UeDecision.start_timer", forget_t3560, "suci-null"
    ),
    "forgets to stop T3550": Wrong(
        "functions.decision.ue_decision.UeDecision.stop_timer", forget_to_stop_t3550, "suci-null"
    ),
    "reads the clock": Wrong(
        "functions.decision.ue_decision.UeDecision.start_timer", read_the_clock, "suci-null"
    ),
    "draws its own randomness": Wrong(
        "functions.decision.env.Env.random", lambda _, octets: os.urandom(octets), "suci-null"
    ),
    "remembers beside the log": Wrong(
        "functions.gmm.authentication.aka._free_ngksi",
        lambda *_, **__: (next(remembered) + 1) % 7,
        "moved-while-registered",
    ),
    "reorders IEs": Wrong(
        "functions.messages.ngap.downlink_nas_transport", ran_id_first, "suci-null"
    ),
    "leaves an IE out": Wrong(
        "functions.decision.slices.rejected_nssai", lambda _: {}, "requested-nssai"
    ),
    "does not mask the IMEISV": Wrong("functions.messages.ngap.masked_imeisv", str, "suci-null"),
    "uses a NAS COUNT twice": Wrong(
        "functions.decision.ue_decision.UeDecision.protect", protect_without_counting, "t3550"
    ),
    "orders its events otherwise": Wrong(
        "functions.decision.ue_decision.UeDecision.release", note_the_release_last, "released"
    ),
    "takes the weakest algorithm": Wrong(
        "functions.gmm.authentication.security_mode.select", the_last_algorithm, "null-ciphering"
    ),
    "deregisters without a MAC": Wrong(
        "functions.gmm.deregistration.procedure._unproved",
        believe_without_a_mac,
        "deregistration-unproved",
    ),
    "keeps the connection before": Wrong(
        "functions.decision.connection.proved", lambda _: None, "moved-while-registered"
    ),
    "allocates no 5G-GUTI": Wrong(
        "functions.gmm.guti.new_tmsi", lambda d: d.ue.tmsi or 1, "guti-known"
    ),
    "serves every PLMN": Wrong(
        "functions.ran.ng_setup.refusal", lambda *_: None, "ng-setup-refused"
    ),
    "resets without the UEs": Wrong(release_ues, lambda *_, **__: None, "ng-reset"),
    "does nothing": Wrong("functions.gmm.an_release._ngap", lambda *_: None, "released"),
    "raises": Wrong("functions.decision.slices.allow", lambda *_: 1 // 0, "suci-null"),
}


def recorded(name: str) -> history.History:
    return history.read(record.folder() / f"{name}{history.SUFFIX}")


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_found(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await warm(recorded(wrong.shown_by)) == []
    monkeypatch.setattr(wrong.target, wrong.instead)
    assert await warm(recorded(wrong.shown_by)) != []


async def test_a_difference_names_its_step_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = WRONG["raises"]
    monkeypatch.setattr(wrong.target, wrong.instead)
    (found,) = await warm(recorded("suci-null"))
    assert (found.aggregate, found.recorded.seq) == ("ue/imsi-001010000000001", 3)
    assert found.error == "ZeroDivisionError: integer division or modulo by zero"


async def test_a_variant_differs_in_the_steps_of_its_procedure_alone(tmp_path: Path) -> None:
    module = "gmm/deregistration/procedure"
    text = wrapped(module, "def before(d, received): d.note('heard')")
    quiet = load(folder(tmp_path, {module: text}))
    steps = await redecided(recorded("deregistration"), quiet.decide)
    found = [step for step in steps if not step.same]
    assert {d.recorded.procedure for d in found} == {Procedure.DEREGISTRATION}
    assert all(d.now is not None and d.now.code == quiet.id for d in found)


def test_the_entropy_of_a_step_is_all_that_is_drawn_from() -> None:
    one, other = (Env(0, bytes(32), recorded("suci-null").given.network) for _ in range(2))
    assert [one.random(16) for _ in range(3)] == [other.random(16) for _ in range(3)]
    assert one.random(16) != Env(0, bytes(31) + b"\x01", one.network).random(16)
