"""States of a PDU session, and of a UE with a PDU session."""

from typing import Final

from schemas.ue.states import GmmState, SmState
from tests.conformance.bench import Bench
from tests.conformance.messages import GSM_SAMPLES, deregistration, registration, service
from tests.conformance.state import go_idle, report, respond, say, state
from tests.conformance.states_mobility import connected

ESTABLISH: Final = GSM_SAMPLES[0].make


@state(SmState.INACTIVE, "an establishment waits for the UPF")
def establishing_upf() -> Bench:
    bench = connected()
    bench.silent = True
    return say(bench, ESTABLISH)


@state(SmState.INACTIVE, "an establishment waits for the gNB")
def establishing_gnb() -> Bench:
    return say(connected(), ESTABLISH)


@state(SmState.ACTIVE, "the user plane is active")
def active() -> Bench:
    return respond(establishing_gnb(), "PDUSessionResourceSetupRequest")


@state(SmState.ACTIVE, "CM-IDLE")
def active_idle() -> Bench:
    return go_idle(active())


@state(SmState.ACTIVE, "CM-CONNECTED by a SERVICE REQUEST for signalling alone")
def active_signalling() -> Bench:
    bench = say(active_idle(), service("signalling"), initial=True)
    return respond(bench, "InitialContextSetupRequest")


@state(SmState.ACTIVE, "a SERVICE REQUEST for it waits for the gNB")
def servicing() -> Bench:
    asked = {"pdu-session-status": [1], "uplink-data-status": [1]}
    return say(active_idle(), service("data", **asked), initial=True)


@state(SmState.ACTIVE, "a mobility registration for it waits for the gNB and the UE")
def updating() -> Bench:
    asked = {"pdu-session-status": [1], "uplink-data-status": [1]}
    request = registration("mobility-registration-updating", "guti", **asked)
    return say(active_idle(), request, initial=True)


@state(SmState.ACTIVE, "CM-IDLE, downlink packets: the UE is paged (T3513)")
def paging() -> Bench:
    bench = active_idle()
    report(bench)
    bench.core.pages.clear()
    return bench


@state(SmState.ACTIVE, "CM-IDLE, paged in vain")
def paged_in_vain() -> Bench:
    bench = paging()
    bench.core.advance(40)
    bench.core.pages.clear()
    return bench


@state(SmState.MODIFICATION_PENDING, "T3591 runs")
def modifying() -> Bench:
    return say(active(), GSM_SAMPLES[5].make)


@state(SmState.INACTIVE_PENDING, "T3592 runs")
def session_releasing() -> Bench:
    return say(active(), GSM_SAMPLES[8].make)


@state(SmState.INACTIVE, "the UPF has not confirmed its deletion")
def session_gone() -> Bench:
    bench = session_releasing()
    bench.silent = True
    return respond(bench, "T3592")


@state(GmmState.DEREGISTERED, "CM-IDLE, the UPF has not confirmed the deletion of a session")
def deregistered_gone() -> Bench:
    bench = active()
    bench.silent = True
    say(bench, deregistration(switch_off=True))
    return respond(bench, "UEContextReleaseCommand")
