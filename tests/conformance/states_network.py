"""States of procedures that the network or the gNB begins."""

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


@state(GmmState.REGISTERED, "CM-IDLE, and the mobile reachable timer has expired: nobody pages")
def unreachable() -> Bench:
    bench = active_idle()
    bench.core.advance(bench.core.network.timers.t3512 + 300)
    return bench


@state(GmmState.REGISTERED, "a handover by N2 is being prepared: the target has the request")
def handover_preparing() -> Bench:
    bench = active()
    bench.send(BY_NAME["HandoverRequired"].event(bench))
    bench.core.downlink.clear()
    return bench


@state(GmmState.REGISTERED, "a handover by N2 is being executed: the UE was told to go")
def handover_executing() -> Bench:
    return respond(handover_preparing(), "HandoverRequest")


@state(GmmState.REGISTERED, "a handover by N2 is done, and the source is being released")
def handover_done() -> Bench:
    return respond(handover_executing(), "HandoverCommand")


@state(GmmState.REGISTERED, "a handover by Xn: the path switch waits for the UPF")
def path_switching() -> Bench:
    bench = active()
    bench.silent = True
    bench.send(BY_NAME["PathSwitchRequest"].event(bench))
    bench.core.downlink.clear()
    return bench


@state(GmmState.REGISTERED, "the gNB has refused something because of a handover that is to come")
def handover_triggered() -> Bench:
    bench = modifying()
    bench.send(BY_NAME["NASNonDeliveryIndication: handover"].event(bench))
    bench.core.downlink.clear()
    return bench
