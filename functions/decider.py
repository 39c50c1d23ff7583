"""Deciding an event in a state: the same code for new and for recorded events."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from functions.decision.env import Env, Lookups
from functions.ue.dispatch import Decision, Procedures
from schemas.cloudevents import CloudEvent
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.ran import Gnb
from schemas.step import Step
from schemas.subscriber import Subscriber
from schemas.upf import Upf

NODES: Final[dict[type, Procedure]] = {Gnb: Procedure.RAN, Upf: Procedure.UPF}
"""The states that are not of a UE, each with its procedure."""


class Inputs(NamedTuple):
    """The inputs of a decision besides the state and the event. The step contains all of them."""

    now: int
    entropy: bytes
    network: Network
    network_version: str
    subscriber: Subscriber | None = None
    subscription: int = 0
    flags: tuple[int, ...] = ()
    lookups: Lookups | None = None
    """Performs the lookups of the decision."""
    poisoned: bool = False
    """Whether every attempt to decide raised an exception. The UE's request is rejected with a
    cause."""
    rejects: Callable[[], None] | None = None
    """Called if the decision rejects a request of the UE."""


class Forward(NamedTuple):
    """The event is for a procedure that is not hosted here."""

    procedure: Procedure


def decide(
    procedures: Procedures, state: Any, seq: int, event: CloudEvent, given: Inputs
) -> Step[Any] | Forward | None:
    """Return step number `seq` of an aggregate; None if the event has no effect and no output."""
    env = Env(given.now, given.entropy, given.network, given.subscriber, given.flags, given.lookups)
    node = NODES.get(state.__class__)
    if node is not None:
        if node not in procedures.hosted:
            return Forward(node)
        module = procedures.module(node)
        happened, outputs = module.decide(state, event, env)
        if not happened and not outputs:
            return None
        made = Decision(node, procedures.code, tuple(happened), tuple(outputs))
    elif given.poisoned:
        made = procedures.poisoned(state, event, env)
    else:
        made = procedures.decide(state, event, env)
    if made.procedure is None:
        return None
    if made.forward:
        return Forward(made.procedure)
    if env.rejected and given.rejects is not None:
        given.rejects()
    return Step(
        seq=seq,
        at=given.now,
        procedure=made.procedure,
        code=made.code,
        trigger=event,
        entropy=given.entropy,
        network=given.network_version,
        events=made.events,
        outputs=made.outputs,
        subscription=given.subscription,
        lookups=tuple(env.lookups),
        poisoned=given.poisoned,
        flags=given.flags,
    )
