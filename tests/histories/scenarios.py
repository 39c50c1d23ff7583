"""The scenarios of the recorded histories: each has a gNB with its UEs, and a core."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

import wire
from schemas.network import Causes, SecurityPolicy
from schemas.subscriber import SubscribedSlice
from tests.functions.gnb import ng_setup, reset, setup_request, supported, update
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.states import FOREIGN
from tests.functions.world import NETWORK, OTHER_SLICE, World, subscriber
from tests.histories import (
    scenarios_assistance,
    scenarios_first_contact,
    scenarios_hostile,
    scenarios_n4,
    scenarios_network,
    scenarios_plmns,
    scenarios_sessions,
)

MESSAGE: Final = "message-type"
COMPLETE: Final = {MESSAGE: "security-mode-complete"}
OTHER_K: Final = bytes(16)

SUCIS: Final = {
    "null": "0100f110f0ff00000000000010",
    "A": "0100f110f0ff01013e90056b322c9a824300264979999dffbcf0a42949e21f622641e4e8bbb7951136e66b74"
    "fd9b223c88396592d5",
    "B": "0100f110f0ff020203334a3e7d67e02295ee7f7bbe49382641621309956e933bd4467e7b3738562e6ca4d8e9"
    "b6d1e813be18a430f969",
    "of another network": "0100f110f0ff0101685295c798ad90ce3bfd2379cc3a8d5227c6a167ff30dc1c731209e4"
    "36ead74574d2defbbf6ea0010f61c3d8c9",
}
"""The SUCIs of imsi-001010000000001. Concealment is random, and a recording must be
reproducible."""

Scenario = Callable[[], World]


def at_a_gnb(world: World | None = None, **more: Any) -> Phone:
    """Return a UE at a gNB after NG SETUP."""
    world = world or World(subscriber(1), subscriber(2, k=OTHER_K))
    ng_setup(world)
    return Phone(world, **more)


def asked(phone: Phone, **changes: Any) -> dict[str, Any]:
    """Send the initial REGISTRATION REQUEST, and return the last message in response."""
    phone.initial(wire.nas_encode(phone.request(**changes)))
    return phone.hear()[-1]


def secured(phone: Phone, **changes: Any) -> None:
    """Register up to the response to the SECURITY MODE COMPLETE."""
    phone.initial(wire.nas_encode(phone.request(**changes)))
    phone.authenticate()
    phone.hear()
    phone.say(COMPLETE, 4)


def failure(cause: str) -> dict[str, Any]:
    return {MESSAGE: "authentication-failure", "5gmm-cause": cause}


def identity(scheme: str) -> dict[str, Any]:
    return {"octets": SUCIS[scheme]}


# Registration


def suci(scheme: str) -> Scenario:
    def run() -> World:
        phone = at_a_gnb()
        told: dict[str, Any] = {"5gs-mobile-identity": identity(scheme)}
        phone.register(**told)
        phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="c0ffee")
        return phone.world

    return run


def suci_unopenable() -> World:
    """A SUCI with an unknown home network key."""
    phone = at_a_gnb()
    asked(phone, **{"5gs-mobile-identity": identity("of another network")})
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def guti_known() -> World:
    """Twice from CM-IDLE with the current security context, then in CM-CONNECTED."""
    phone = at_a_gnb()
    phone.register()
    phone.idle()
    for ran_id in (9, 10):
        phone.open_again(phone.request(), ran_id)
        phone.finish()
        phone.idle()
    phone.open_again(phone.request("periodic-registration-updating"), 11)
    phone.finish()
    phone.open_again(phone.request("mobility-registration-updating"), 12)
    phone.finish()
    return phone.world


def guti_known_wrong_mac() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    request = phone.request()
    sealed = bytearray(phone.security.protect_initial(wire.nas_encode(request)))
    sealed[3] ^= 1
    phone.initial(bytes(sealed))
    phone.authenticate()
    phone.secure(request)
    return phone.world


def guti_unknown(scheme: str) -> Scenario:
    def run() -> World:
        phone = at_a_gnb()
        phone.guti = FOREIGN
        request = phone.request()
        asked(phone)
        phone.say({MESSAGE: "identity-response", "mobile-identity": identity(scheme)}, 0)
        phone.authenticate()
        phone.secure(request)
        phone.idle()
        return phone.world

    return run


def guti_of_another() -> World:
    """The MAC failure shows that it is another UE; its SUCI identifies it."""
    phone = at_a_gnb()
    phone.register()
    phone.idle()
    other = Phone(phone.world, 2)
    other.k, other.guti = OTHER_K, phone.guti
    asked(other)
    other.say(failure("mac-failure"), 0)
    other.hear()
    other.say({MESSAGE: "identity-response", "mobile-identity": other.identity("null")}, 0)
    other.authenticate()
    other.secure(other.request())
    return phone.world


def identity_unanswered() -> World:
    """T3570 expires five times."""
    phone = at_a_gnb()
    phone.guti = FOREIGN
    asked(phone)
    phone.world.advance(31)
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def moved_while_registered() -> World:
    """A registration on another connection: the previous one is released after the
    authentication."""
    phone = at_a_gnb()
    phone.register()
    phone.ran_id, phone.guti, phone.ngksi = 9, None, 7
    phone.register()
    return phone.world


def requested_nssai() -> World:
    """Slices by subscription and tracking area; a mobility registration update in between."""
    phone = at_a_gnb()
    phone.requested = [{"sst": 1, "sd": "010203"}, {"sst": 2}, {"sst": 9}]
    phone.register()
    phone.tac = 2
    phone.say(phone.request("mobility-registration-updating"))
    phone.finish()
    return phone.world


# Authentication


def synch_failure() -> World:
    phone = at_a_gnb()
    phone.sqn = 10_000_000
    phone.say(phone.synch_failure(asked(phone)), 0)
    phone.authenticate()
    phone.secure(phone.request())
    return phone.world


def synch_failure_twice() -> World:
    phone = at_a_gnb()
    phone.sqn = 10_000_000
    phone.say(phone.synch_failure(asked(phone)), 0)
    phone.say(phone.synch_failure(phone.hear()[-1]), 0)
    return phone.world


def authentication_failure(cause: str) -> Scenario:
    def run() -> World:
        phone = at_a_gnb()
        asked(phone)
        phone.say(failure(cause), 0)
        return phone.world

    return run


def ngksi_in_use() -> World:
    phone = at_a_gnb()
    asked(phone)
    phone.say(failure("ng-ksi-already-in-use"), 0)
    phone.authenticate()
    phone.secure(phone.request())
    return phone.world


def wrong_res_star() -> World:
    """An impostor on its own connection, while the UE is registered on another."""
    phone = at_a_gnb()
    phone.register()
    impostor = Phone(phone.world)
    impostor.ran_id = 99
    asked(impostor)
    parameter = {"authentication-response-parameter": {"octets": "00" * 16}}
    impostor.say({MESSAGE: "authentication-response", **parameter}, 0)
    impostor.hear()
    impostor.ngap("UEContextReleaseComplete")
    phone.idle()
    return phone.world


def t3560_authentication() -> World:
    phone = at_a_gnb()
    asked(phone)
    phone.world.advance(60)
    return phone.world


# Security mode


def t3560_security_mode() -> World:
    """The second SECURITY MODE COMMAND is completed."""
    phone = at_a_gnb()
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.world.advance(6.1)
    phone.secure(request)
    return phone.world


def security_mode_reject() -> World:
    phone = at_a_gnb()
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-reject", "5gmm-cause": 23}, 0)
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def null_ciphering() -> World:
    policy = SecurityPolicy(integrity=(1, 2), ciphering=(0, 2), request_imeisv=False)
    phone = at_a_gnb(World(network=replace(NETWORK, security=policy)))
    phone.register()
    return phone.world


# REGISTRATION ACCEPT


def t3550() -> World:
    """The accept is repeated, then completed."""
    phone = at_a_gnb()
    secured(phone)
    phone.hear()
    phone.ngap("InitialContextSetupResponse")
    phone.world.advance(12.1)
    phone.finish()
    return phone.world


def t3550_given_up() -> World:
    phone = at_a_gnb()
    secured(phone)
    phone.hear()
    phone.ngap("InitialContextSetupResponse")
    phone.world.advance(40)
    return phone.world


def context_setup_lost() -> World:
    phone = at_a_gnb()
    secured(phone)
    phone.hear()
    phone.say({MESSAGE: "registration-complete"})
    phone.ngap("InitialContextSetupResponse")
    return phone.world


def context_setup_failure() -> World:
    phone = at_a_gnb()
    secured(phone)
    phone.hear()
    phone.ngap("InitialContextSetupFailure", Cause={"radioNetwork": "unspecified"})
    phone.ngap("UEContextReleaseComplete")
    return phone.world


# Rejections, by the 5GMM cause


def refused(**changes: Any) -> Scenario:
    """An authenticated UE is rejected because of its subscription."""

    def run() -> World:
        phone = at_a_gnb(World(subscriber(1, **changes)))
        secured(phone)
        phone.hear()
        phone.ngap("UEContextReleaseComplete")
        return phone.world

    return run


def refused_at_once(**changes: Any) -> Scenario:
    """The request itself is rejected."""

    def run() -> World:
        phone = at_a_gnb()
        request = {k: v for k, v in phone.request(**changes).items() if v is not None}
        phone.initial(wire.nas_encode(request))
        phone.hear()
        phone.ngap("UEContextReleaseComplete")
        return phone.world

    return run


def unsubscribed() -> World:
    network = replace(NETWORK, causes=Causes(unknown_subscriber=3))
    phone = at_a_gnb(World(network=network), number=77)
    asked(phone)
    return phone.world


def unserved_area() -> World:
    network = replace(NETWORK, causes=Causes(unknown_tracking_area=12))
    phone = at_a_gnb(World(network=network), tac=99)
    secured(phone)
    return phone.world


def no_common_algorithm() -> World:
    policy = SecurityPolicy(integrity=(3,))
    phone = at_a_gnb(World(network=replace(NETWORK, security=policy)))
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    return phone.world


def not_implemented() -> World:
    """5GMM STATUS for unsupported messages, and payloads that are not forwarded."""
    phone = at_a_gnb()
    phone.register()
    phone.say({MESSAGE: "configuration-update-complete"})
    container = {"payload-container": {"octets": "0102"}, "pdu-session-id": 1}
    phone.say({MESSAGE: "ul-nas-transport", "payload-container-type": "sms", **container})
    phone.hear()
    return phone.world


# PDU sessions


def with_session(then: Callable[[Site, str], None] | None = None) -> Scenario:
    def run() -> World:
        site = Site()
        address = site.establish()
        if then is not None:
            then(site, address)
        return site.world

    return run


def session_modified(site: Site, _: str) -> None:
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 5}
    site.say(1, {MESSAGE: "pdu-session-modification-request", **head})
    site.hear()
    site.say(1, {MESSAGE: "pdu-session-modification-complete", **head})


def upf_silent() -> World:
    """The UPF answers neither the request nor any repetition."""
    site = Site()
    site.upfs.silent = True
    site.ask()
    site.world.advance(100)
    return site.world


def upf_full() -> World:
    """The UPF has no resources."""
    site = Site()
    site.upfs.full = True
    site.ask()
    return site.world


def with_options() -> World:
    """The UE requests DNS servers and the link MTU of a data network without configuration."""
    site = Site()
    wanted: Any = ["dns-server-ipv4-address-request", "ipv4-link-mtu-request"]
    site.establish(**{"extended-protocol-configuration-options": wanted})
    return site.world


def idle_and_back(site: Site, _: str) -> None:
    site.idle()
    site.service_request(**{"uplink-data-status": [1], "pdu-session-status": [1]})
    site.set_up("InitialContextSetup")


def paged(site: Site, address: str) -> None:
    site.idle()
    site.upfs.downlink_data(address)
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")


def paged_in_vain(site: Site, address: str) -> None:
    site.idle()
    site.upfs.downlink_data(address)
    site.world.advance(200)


def interrupted() -> World:
    """The connection ends before the gNB has answered, and the UE has the session."""
    site = Site()
    site.ask()
    site.idle()
    site.service_request(**{"uplink-data-status": [1], "pdu-session-status": [1]})
    site.set_up("InitialContextSetup")
    return site.world


def released_in_turn() -> World:
    """Two sessions are released: the gNB gets the second release after its answer to the first."""
    site = Site()
    for psi in (1, 2):
        site.establish(psi, pti=psi)
    site.release(1)
    site.release(2)
    site.released(1)
    site.released(2)
    return site.world


def session_released(site: Site, _: str) -> None:
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 5}
    site.say(1, {MESSAGE: "pdu-session-release-request", **head})
    site.hear()
    site.say(1, {MESSAGE: "pdu-session-release-complete", **head})


def deregistered_with_session(site: Site, _: str) -> None:
    site.phone.say(site.phone.deregistration())
    site.upfs.serve()


def restored_twice(site: Site, address: str) -> None:
    """A second restart is reported while the session is being restored."""
    site.restore_twice(address)
    site.upfs.silent = False
    site.upfs.serve()


def upf_restarted(site: Site, address: str) -> None:
    name, _ = site.upfs.session(address)
    site.upfs.tables[name].clear()
    site.upfs.recovery += 1
    site.world.path("up", name, site.upfs.recovery)
    site.upfs.serve()


def upf_kept_sessions(site: Site, address: str) -> None:
    """The UPF has lost the association only, and refuses to restore a session that it has."""
    site.upfs.keeps = True
    name, _ = site.upfs.session(address)
    site.world.path("unknown", name, site.upfs.recovery)
    site.upfs.serve()


def upf_refuses_f_teid(site: Site, _: str) -> None:
    site.upfs.restart(other=7)
    site.upfs.needs_choice = True
    site.upfs.heartbeat()
    site.upfs.serve()
    site.released()
    site.set_up()


def upf_restart_ends_a_request(site: Site, _: str) -> None:
    """The gateway ends the modification; the association is set up after that."""
    site.upfs.silent = True
    site.phone.idle()
    upf, key, number, pdu = site.world.pfcp.popleft()
    site.upfs.silent = False
    site.upfs.restart()
    site.world.ended(upf, key, number, pdu, site.upfs.recovery)
    site.upfs.serve()
    site.upfs.heartbeat()
    site.upfs.serve()


def upf_lost_association(site: Site, address: str) -> None:
    """The UPF does not answer heartbeats, then ignores sessions."""
    name, _ = site.upfs.session(address)
    site.world.path("down", name)
    site.world.advance(11)
    site.upfs.serve()
    site.world.path("ignoring", name, site.upfs.recovery)
    site.upfs.serve()


# Deregistration


def deregistration(*, switch_off: bool) -> Scenario:
    def run() -> World:
        phone = at_a_gnb()
        phone.register()
        phone.say(phone.deregistration(switch_off=switch_off))
        phone.ngap("UEContextReleaseComplete")
        return phone.world

    return run


def deregistration_from_idle() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.idle()
    phone.open_again(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def deregistration_unproved(*, switch_off: bool) -> Scenario:
    """A request without a MAC: ignored at switch-off, otherwise the UE is authenticated first."""

    def run() -> World:
        phone = at_a_gnb()
        phone.register()
        phone.idle()
        phone.ran_id = 9
        phone.initial(wire.nas_encode(phone.deregistration(switch_off=switch_off)))
        if switch_off:
            phone.hear()
        else:
            phone.authenticate()
            phone.hear()
            phone.say(COMPLETE, 4)
        phone.ngap("UEContextReleaseComplete")
        return phone.world

    return run


# The connection


def released() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.idle()
    return phone.world


def release_unanswered() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.world.advance(60)
    return phone.world


def released_while_registering() -> World:
    phone = at_a_gnb()
    asked(phone)
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "radio-connection-with-ue-lost"})
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def wrong_ids() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.ran_id += 1
    phone.uplink(b"\x7e\x00\x64\x6f")
    phone.ran_id -= 1
    phone.ngap("ErrorIndication", Cause={"radioNetwork": "unknown-local-UE-NGAP-ID"})
    phone.uplink(b"\x7e\x00\x64\x6f")
    return phone.world


# The RAN node


def ng_setup_refused() -> World:
    world = World()
    world.uplink(setup_request(plmn="999-99"))
    world.uplink(setup_request(tac=99))
    world.uplink(setup_request(slice_={"s-NSSAI": {"sST": 77}}))
    world.uplink(reset())
    ng_setup(world)
    return world


def ng_reset() -> World:
    """An NG RESET of a part of the interface, then of all, with two UEs."""
    one = at_a_gnb()
    two = Phone(one.world, 2)
    two.k = OTHER_K
    one.register()
    two.register()
    one.world.uplink(reset([{"aMF-UE-NGAP-ID": one.amf_id, "rAN-UE-NGAP-ID": one.ran_id}]))
    one.world.uplink(reset())
    return one.world


def association_lost() -> World:
    phone = at_a_gnb()
    phone.register()
    phone.world.lose()
    ng_setup(phone.world, "a2")
    return phone.world


def ran_configuration() -> World:
    world = World()
    ng_setup(world)
    world.uplink(update(RANNodeName="renamed", SupportedTAList=supported(2)))
    world.uplink(update(SupportedTAList=supported(99)))
    world.uplink({"message": "ErrorIndication", "ies": [{"Cause": {"misc": "unspecified"}}]})
    world.uplink({"message": "AMFConfigurationUpdate", "ies": []})
    world.uplink_pdu(b"\x00\x15\x00")
    return world


SCENARIOS: Final[dict[str, Scenario]] = {
    "suci-null": suci("null"),
    "suci-profile-a": suci("A"),
    "suci-profile-b": suci("B"),
    "suci-unopenable": suci_unopenable,
    "guti-known": guti_known,
    "guti-known-wrong-mac": guti_known_wrong_mac,
    "guti-unknown": guti_unknown("null"),
    "guti-unknown-concealed": guti_unknown("B"),
    "guti-of-another": guti_of_another,
    "identity-unanswered": identity_unanswered,
    "moved-while-registered": moved_while_registered,
    "requested-nssai": requested_nssai,
    "synch-failure": synch_failure,
    "synch-failure-twice": synch_failure_twice,
    "mac-failure": authentication_failure("mac-failure"),
    "non-5g-authentication": authentication_failure("non-5g-authentication-unacceptable"),
    "ngksi-in-use": ngksi_in_use,
    "wrong-res-star": wrong_res_star,
    "t3560-authentication": t3560_authentication,
    "t3560-security-mode": t3560_security_mode,
    "security-mode-reject": security_mode_reject,
    "null-ciphering": null_ciphering,
    "t3550": t3550,
    "t3550-given-up": t3550_given_up,
    "context-setup-lost": context_setup_lost,
    "context-setup-failure": context_setup_failure,
    "cause-3": unsubscribed,
    "cause-5": refused_at_once(**{"5gs-mobile-identity": {"imei": "490154203237518"}}),
    "cause-7": refused(barred=True),
    "cause-12-subscription": refused(forbidden_tacs=(1,)),
    "cause-12-network": unserved_area,
    "cause-23": no_common_algorithm,
    "cause-27": refused(nr_allowed=False),
    "cause-62": refused(slices=(SubscribedSlice(OTHER_SLICE, default=True),)),
    "cause-96": refused_at_once(**{"ue-security-capability": None}),
    "not-implemented": not_implemented,
    "session": with_session(),
    "session-options": with_options,
    "session-idle-and-back": with_session(idle_and_back),
    "session-paged": with_session(paged),
    "session-paged-in-vain": with_session(paged_in_vain),
    "session-modified": with_session(session_modified),
    "session-upf-silent": upf_silent,
    "session-upf-full": upf_full,
    "session-interrupted": interrupted,
    "session-released-in-turn": released_in_turn,
    "session-released": with_session(session_released),
    "session-deregistered": with_session(deregistered_with_session),
    "session-upf-restarted": with_session(upf_restarted),
    "session-upf-kept": with_session(upf_kept_sessions),
    "session-upf-refuses-f-teid": with_session(upf_refuses_f_teid),
    "session-upf-restart-ends-request": with_session(upf_restart_ends_a_request),
    "session-upf-lost-association": with_session(upf_lost_association),
    "session-restored-twice": with_session(restored_twice),
    "deregistration": deregistration(switch_off=False),
    "deregistration-switch-off": deregistration(switch_off=True),
    "deregistration-from-idle": deregistration_from_idle,
    "deregistration-unproved": deregistration_unproved(switch_off=False),
    "deregistration-unproved-switch-off": deregistration_unproved(switch_off=True),
    "released": released,
    "release-unanswered": release_unanswered,
    "released-while-registering": released_while_registering,
    "wrong-ids": wrong_ids,
    "ng-setup-refused": ng_setup_refused,
    "ng-reset": ng_reset,
    "association-lost": association_lost,
    "ran-configuration": ran_configuration,
    **scenarios_assistance.SCENARIOS,
    **scenarios_network.SCENARIOS,
    **scenarios_plmns.SCENARIOS,
    **scenarios_sessions.SCENARIOS,
    **scenarios_first_contact.SCENARIOS,
    **scenarios_hostile.SCENARIOS,
    **scenarios_n4.SCENARIOS,
}
