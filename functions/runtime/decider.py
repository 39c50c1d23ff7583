"""From an event and a state to a step: the same code for new events and for recorded ones."""

from typing import Any, NamedTuple

from functions.dispatch import Decision, Procedures
from functions.env import Env
from schemas.cloudevents import CloudEvent
from schemas.flags import Flag
from schemas.gnb import Gnb
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.subscriber import Subscriber


class Inputs(NamedTuple):
    """What a decision is given beside the state and the event; all of it is in the step."""

    now: int
    entropy: bytes
    network: Network
    network_version: str
    subscriber: Subscriber | None = None
    subscription: int = 0
    flags: tuple[int, ...] = ()


class Forward(NamedTuple):
    """The event is for a procedure that is not hosted here."""

    procedure: Procedure


def decide(
    procedures: Procedures, state: Any, seq: int, event: CloudEvent, given: Inputs
) -> Step[Any] | Forward | None:
    """The step number `seq` of an aggregate; None when the event changes and says nothing."""
    env = Env(given.now, given.entropy, given.network, given.subscriber, given.flags)
    if isinstance(state, Gnb):
        if Procedure.RAN not in procedures.hosted:
            return Forward(Procedure.RAN)
        ran = procedures.module(Procedure.RAN)
        happened, outputs = ran.decide(state, event, env)
        made = Decision(Procedure.RAN, ran.VERSION, tuple(happened), tuple(outputs))
    elif Flag.POISONED in given.flags:
        made = procedures.poisoned(state, event, env)
    else:
        made = procedures.decide(state, event, env)
    if made.procedure is None:
        return None
    if made.forward:
        return Forward(made.procedure)
    return Step(
        seq=seq,
        at=given.now,
        procedure=made.procedure,
        version=made.version,
        trigger=event,
        entropy=given.entropy,
        network=given.network_version,
        events=made.events,
        outputs=made.outputs,
        subscription=given.subscription,
        flags=given.flags,
    )
