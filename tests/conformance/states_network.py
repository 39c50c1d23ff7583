"""States of procedures that the network or the gNB starts."""

from typing import Final

from schemas.cloudevents import Deregister, EventType
from schemas.ue.states import GmmState
from tests.conformance.bench import Bench
from tests.conformance.messages import service
from tests.conformance.ngap import SAMPLES
from tests.conformance.state import respond, say, state, told
from tests.conformance.states_sessions import active, active_idle, modifying, paging

BY_NAME: Final = {sample.name: sample for sample in SAMPLES}


@state(GmmState.DEREGISTERED_INITIATED, "the operator deregisters a UE that is connected (T3522)")
def deregistered_by_network() -> Bench:
    return told(active(), EventType.DEREGISTER, Deregister())


@state(GmmState.COMMON_PROCEDURE_INITIATED, "a configuration update after paging (T3555)")
def configuring() -> Bench:
    bench = say(paging(), service("mobile-terminated-services"), initial=True)
    return respond(bench, "InitialContextSetupRequest")


@state(GmmState.REGISTERED, "CM-IDLE, the mobile reachable timer has expired: no paging")
def unreachable() -> Bench:
    bench = active_idle()
    bench.core.advance(bench.core.network.timers.t3512 + 300)
    return bench


@state(GmmState.REGISTERED, "N2 handover preparation: the target has the request")
def handover_preparing() -> Bench:
    bench = active()
    bench.send(BY_NAME["HandoverRequired"].event(bench))
    bench.core.downlink.clear()
    return bench


@state(GmmState.REGISTERED, "N2 handover execution: the UE has the command")
def handover_executing() -> Bench:
    return respond(handover_preparing(), "HandoverRequest")


@state(GmmState.REGISTERED, "an N2 handover is complete, the source is being released")
def handover_done() -> Bench:
    return respond(handover_executing(), "HandoverCommand")


@state(GmmState.REGISTERED, "Xn handover: the path switch waits for the UPF")
def path_switching() -> Bench:
    bench = active()
    bench.silent = True
    bench.send(BY_NAME["PathSwitchRequest"].event(bench))
    bench.core.downlink.clear()
    return bench


@state(GmmState.REGISTERED, "the gNB has refused a request because of a coming handover")
def handover_triggered() -> Bench:
    bench = modifying()
    bench.send(BY_NAME["NASNonDeliveryIndication: handover"].event(bench))
    bench.core.downlink.clear()
    return bench
