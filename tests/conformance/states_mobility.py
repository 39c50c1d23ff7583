"""States of 5GMM: registration, de-registration, and the common procedures."""

from typing import Final

from msgspec.structs import replace

from schemas.network import SecurityPolicy
from schemas.subscriber import AuthMethod
from schemas.ue.states import GmmState
from tests.conformance.answers import MESSAGE
from tests.conformance.bench import SUPI, Bench
from tests.conformance.messages import deregistration, encoded, raw, registration
from tests.conformance.state import RELEASE_REQUEST, go_idle, respond, say, state

REGISTER: Final = registration("initial-registration", "suci")


@state(GmmState.DEREGISTERED, "a UE that the core does not know")
def unknown() -> Bench:
    return Bench()


@state(GmmState.COMMON_PROCEDURE_INITIATED, "identification, the 5G-GUTI is unknown (T3570)")
def identifying() -> Bench:
    request = registration("initial-registration", "foreign")
    return say(unknown(), request, "plain", initial=True)


@state(GmmState.COMMON_PROCEDURE_INITIATED, "authentication, for a registration by SUCI (T3560)")
def authenticating() -> Bench:
    return say(unknown(), REGISTER, "plain", initial=True)


@state(GmmState.COMMON_PROCEDURE_INITIATED, "security mode control, for a registration (T3560)")
def securing() -> Bench:
    return respond(authenticating(), "T3560")


@state(GmmState.COMMON_PROCEDURE_INITIATED, "REGISTRATION ACCEPT sent, the gNB sets up the context")
def accepted() -> Bench:
    return respond(securing(), "T3560")


@state(
    GmmState.COMMON_PROCEDURE_INITIATED, "REGISTRATION ACCEPT sent, the context is set up (T3550)"
)
def completing() -> Bench:
    return respond(accepted(), "InitialContextSetupRequest")


@state(GmmState.REGISTERED, "CM-CONNECTED")
def connected() -> Bench:
    return respond(completing(), "T3550")


@state(GmmState.REGISTERED, "CM-CONNECTED, AN release is running")
def releasing() -> Bench:
    bench = connected()
    bench.send(bench.ngap("UEContextReleaseRequest", RELEASE_REQUEST))
    bench.core.downlink.clear()
    return bench


@state(GmmState.REGISTERED, "CM-IDLE")
def idle() -> Bench:
    return go_idle(connected())


@state(GmmState.REGISTERED, "CM-IDLE, the new 5G-GUTI is not confirmed (T3550 expired 5 times)")
def unconfirmed() -> Bench:
    bench = completing()
    bench.core.advance(60)
    return bench


@state(GmmState.DEREGISTERED, "the connection is being released")
def deregistered_releasing() -> Bench:
    return say(connected(), deregistration(switch_off=False))


@state(GmmState.DEREGISTERED, "the core has the security context")
def deregistered() -> Bench:
    return respond(deregistered_releasing(), "UEContextReleaseCommand")


@state(GmmState.REGISTERED, "a registration by its 5G-GUTI without a MAC: authentication (T3560)")
def authenticating_by_guti() -> Bench:
    request = registration("initial-registration", "guti")
    return say(idle(), request, "plain", initial=True)


@state(GmmState.REGISTERED, "authentication by its 5G-GUTI failed: identification (T3570)")
def identifying_by_guti() -> Bench:
    return say(authenticating_by_guti(), raw("7e005914"), "plain")


@state(
    GmmState.COMMON_PROCEDURE_INITIATED,
    "CM-CONNECTED, authentication for a registration on a secure connection",
)
def reauthenticating() -> Bench:
    return say(connected(), registration("mobility-registration-updating", "suci"))


@state(GmmState.REGISTERED, "CM-CONNECTED, a registration by its SUCI on another connection")
def moved() -> Bench:
    return say(connected(), REGISTER, "plain", initial=True)


@state(GmmState.REGISTERED, "a DEREGISTRATION REQUEST without a MAC: authentication (T3560)")
def deregistering() -> Bench:
    return say(idle(), deregistration(switch_off=False), "plain", initial=True)


@state(GmmState.REGISTERED, "a DEREGISTRATION REQUEST without a MAC: security mode control (T3560)")
def deregistering_secured() -> Bench:
    return respond(deregistering(), "T3560")


@state(
    GmmState.COMMON_PROCEDURE_INITIATED, "authentication by EAP-AKA', for a registration (T3560)"
)
def authenticating_by_eap() -> Bench:
    bench = unknown()
    subscribers = bench.core.subscribers
    subscribers[SUPI] = replace(subscribers[SUPI], auth_method=AuthMethod.EAP_AKA_PRIME)
    return say(bench, REGISTER, "plain", initial=True)


@state(GmmState.COMMON_PROCEDURE_INITIATED, "security mode control after EAP-AKA' (T3560)")
def securing_by_eap() -> Bench:
    return respond(authenticating_by_eap(), "T3560")


@state(GmmState.COMMON_PROCEDURE_INITIATED, "the network authenticates a registered UE (T3560)")
def reauthenticating_by_network() -> Bench:
    bench = connected()
    core = bench.core
    core.network = replace(core.network, security=SecurityPolicy(reauthenticate_after=4))
    core.networks["due"] = core.network
    status = encoded({MESSAGE: "5gmm-status", "5gmm-cause": 111})
    return say(say(bench, status), status)


@state(GmmState.REGISTERED, "CM-CONNECTED, the gNB is asked to change its key")
def rekeying() -> Bench:
    return respond(reauthenticating_by_network(), "T3560", "T3560")
