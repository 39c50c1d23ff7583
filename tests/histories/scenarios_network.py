"""Recorded histories of mobility, of network-initiated procedures, and of two senders with one
identity."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

import wire
from schemas.network import SecurityPolicy
from schemas.subscriber import AuthMethod
from tests.functions import operator
from tests.functions.gnb import ng_setup
from tests.functions.handover_site import Mobile
from tests.functions.ngap_messages import OF_UE, indicated, of_ue
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.test_eap import EapPhone
from tests.functions.world import ASSOCIATION, GNB, NETWORK, World, subscriber

Scenario = Callable[[], World]

IDLE_UNTIL_DEREGISTERED: Final = 3 * (3600 + 240)
"""Seconds without contact after which a UE is deregistered (24.501 5.3.7)."""
REAUTHENTICATE_AFTER: Final = 4


# Mobility


def handover() -> World:
    site = Mobile()
    target = site.command(2)
    site.notify(target, 2)
    site.phone.ngap("UEContextReleaseComplete")
    site.upfs.serve()
    site.arrive(2, 21, target)
    site.register_again()
    return site.world


def handover_cancelled() -> World:
    site = Mobile()
    target = site.command(2)
    site.phone.ngap("HandoverCancel", Cause={"radioNetwork": "handover-cancelled"})
    site.from_target(target, "UEContextReleaseComplete", 2)
    return site.world


def handover_refused() -> World:
    site = Mobile()
    site.handover_required(9)
    site.handover_required(2, tac=99)
    return site.world


def handover_unanswered() -> World:
    site = Mobile()
    site.handover_required(2)
    site.world.advance(60)
    return site.world


def path_switch() -> World:
    """With two sessions, one of which the new gNB cannot serve."""
    site = Mobile(2)
    site.path_switch_request(2, 21, sessions=(1,), failed=(2,))
    site.upfs.serve()
    site.arrive(2, 21)
    site.path_switch_request(3, 31)
    site.upfs.serve()
    return site.world


def path_switch_failed() -> World:
    """The UPF does not respond."""
    site = Mobile()
    site.upfs.silent = True
    site.path_switch_request(2, 21)
    site.world.advance(5)
    return site.world


def path_switch_without_sessions() -> World:
    """The only session ends before the UPF has answered, and the gNB sends a MODIFY INDICATION."""
    site = Mobile()
    site.path_switch_request(2, 21)
    items: dict[str, Any] = {"PDUSessionResourceModifyListModInd": [indicated(1, 77)]}
    site.from_target(site.phone.amf_id or 0, "PDUSessionResourceModifyIndication", **items)
    site.release(1)
    site.upfs.serve()
    return site.world


def path_switch_in_another_order() -> World:
    """The IEs are in another order, which is accepted; then one is repeated, which is not."""
    site = Mobile()
    uplink = site.world.uplink

    def turned(tree: dict[str, Any], gnb: str = GNB, association: str = ASSOCIATION) -> None:
        uplink({**tree, "ies": tree["ies"][::-1]}, gnb, association)

    def repeated(tree: dict[str, Any], gnb: str = GNB, association: str = ASSOCIATION) -> None:
        ies = [*tree["ies"][:3], *tree["ies"][2:]]
        uplink({**tree, "ies": ies}, gnb, association)

    site.world.uplink = turned
    site.path_switch_request(2, 21)
    site.upfs.serve()
    site.world.uplink = repeated
    site.path_switch_request(3, 31)
    return site.world


def handover_with_early_status() -> World:
    """DAPS: the source goes on sending to the UE."""
    site = Mobile()
    amf_id = site.command()
    (early,) = OF_UE["UplinkRANEarlyStatusTransfer"]
    site.phone.ngap("UplinkRANEarlyStatusTransfer", **early)
    told: dict[str, Any] = {"NotifySourceNGRANNode": "notifySource"}
    location = {"UserLocationInformation": site.location(2)}
    site.from_target(amf_id, "HandoverNotify", **location, **told)
    return site.world


def lost_by_its_gnb() -> World:
    """INITIAL CONTEXT SETUP FAILURE without a request; the gNB recommends cells for paging."""
    site = Site()
    address = site.establish()
    cause = {"radioNetwork": "radio-connection-with-ue-lost"}
    site.phone.ngap("InitialContextSetupFailure", Cause=cause)
    cell = {"nR-CGI": {"pLMNIdentity": "001-01", "nRCellIdentity": 16}}
    cells = {"recommendedCellList": [{"nGRAN-CGI": cell, "timeStayedInCell": 5}]}
    node = {"tAI": {"pLMNIdentity": "001-01", "tAC": 1}}
    nodes = {"recommendedRANNodeList": [{"aMFPagingTarget": node}]}
    paging = {"recommendedCellsForPaging": cells, "recommendRANNodesForPaging": nodes}
    told: dict[str, Any] = {"InfoOnRecommendedCellsAndRANNodesForPaging": paging}
    site.phone.ngap("UEContextReleaseComplete", **told)
    site.upfs.serve()
    site.upfs.downlink_data(address)
    return site.world


def handover_not_heard_of() -> World:
    """The gNB refuses a session because of a handover, and does not deliver NAS."""
    site = Mobile()
    site.ask(2)
    site.upfs.serve()
    cause = {"radioNetwork": "xn-handover-triggered"}
    name = "pDUSessionResourceSetupUnsuccessfulTransfer"
    items = [{"pDUSessionID": 2, name: {"cause": cause}}]
    lists = {"PDUSessionResourceFailedToSetupListSURes": items}
    site.phone.ngap("PDUSessionResourceSetupResponse", **lists)
    site.phone.ngap("NASNonDeliveryIndication", **{"NAS-PDU": "7e", "Cause": cause})
    site.path_switch_request(2, 21)
    site.upfs.serve()
    return site.world


def downlink_moved() -> World:
    """The gNB moves the downlink tunnel, and reports the usage of a secondary RAT."""
    site = Site()
    site.establish()
    items = {"PDUSessionResourceModifyListModInd": [indicated(1, 77)]}
    site.phone.ngap("PDUSessionResourceModifyIndication", **items)
    site.upfs.serve()
    report = of_ue("SecondaryRATDataUsageReport", site.phone.amf_id or 0, site.phone.ran_id)
    site.world.uplink(report)
    return site.world


# Network-initiated procedures


def paged() -> Site:
    """A UE that was paged gets a new 5G-GUTI."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    return site


def configuration_updated() -> World:
    site = paged()
    site.hear()
    site.phone.say({MESSAGE: "configuration-update-complete"})
    return site.world


def configuration_not_confirmed() -> World:
    site = paged()
    site.world.advance(60)
    return site.world


def deregistered_by_network() -> World:
    site = Site()
    site.establish()
    operator.deregister(site.world, site.phone.supi, reregister=True)
    site.phone.leave()
    site.upfs.serve()
    site.phone.ngap("UEContextReleaseComplete")
    return site.world


def deregistration_overtaken() -> World:
    """The UE registers while the network deregisters it (24.501 5.5.2.3.5 d)."""
    phone = Phone(World())
    ng_setup(phone.world)
    phone.register()
    operator.deregister(phone.world, phone.supi, reregister=True)
    phone.hear()
    phone.say(phone.request())
    return phone.world


def deregistered_implicitly() -> World:
    site = Site()
    site.establish()
    site.idle()
    site.world.advance(IDLE_UNTIL_DEREGISTERED)
    site.upfs.serve()
    return site.world


def reauthenticated(answer: str, **ies: Any) -> Scenario:
    """The gNB accepts the new key, or refuses it."""

    def run() -> World:
        phone = reauthenticating()
        phone.ngap(f"UEContextModification{answer}", **ies)
        return phone.world

    return run


def reauthenticating() -> Phone:
    policy = SecurityPolicy(reauthenticate_after=REAUTHENTICATE_AFTER)
    phone = Phone(World(network=replace(NETWORK, security=policy)))
    ng_setup(phone.world)
    phone.register()
    phone.hear()
    for _ in range(REAUTHENTICATE_AFTER):
        phone.say({MESSAGE: "5gmm-status", "5gmm-cause": 111})
    phone.say(phone.answer(phone.hear()[-1]))
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    return phone


# Identities


def eap_aka_prime() -> World:
    phone = EapPhone(World(subscriber(1, auth_method=AuthMethod.EAP_AKA_PRIME)))
    ng_setup(phone.world)
    phone.register()
    return phone.world


def unproved_beside() -> World:
    """A sender with the UE's 5G-GUTI that is not authenticated changes nothing."""
    phone = Phone(World())
    ng_setup(phone.world)
    phone.register()
    phone.hear()
    other = Phone(phone.world)
    other.ran_id, other.guti, other.ngksi, other.k = 99, phone.guti, phone.ngksi, bytes(16)
    other.initial(wire.nas_encode(other.request()))
    phone.say(phone.request("periodic-registration-updating"))
    phone.hear()
    phone.world.advance(60)
    return phone.world


SCENARIOS: Final[dict[str, Scenario]] = {
    "handover": handover,
    "handover-cancelled": handover_cancelled,
    "handover-refused": handover_refused,
    "handover-unanswered": handover_unanswered,
    "path-switch": path_switch,
    "path-switch-failed": path_switch_failed,
    "path-switch-without-sessions": path_switch_without_sessions,
    "path-switch-in-another-order": path_switch_in_another_order,
    "handover-with-early-status": handover_with_early_status,
    "lost-by-its-gnb": lost_by_its_gnb,
    "handover-not-heard-of": handover_not_heard_of,
    "downlink-moved": downlink_moved,
    "configuration-updated": configuration_updated,
    "configuration-not-confirmed": configuration_not_confirmed,
    "deregistration-overtaken": deregistration_overtaken,
    "deregistered-by-network": deregistered_by_network,
    "deregistered-implicitly": deregistered_implicitly,
    "reauthenticated": reauthenticated("Response"),
    "reauthenticated-in-vain": reauthenticated("Failure", Cause={"radioNetwork": "unspecified"}),
    "eap-aka-prime": eap_aka_prime,
    "unproved-beside": unproved_beside,
}
