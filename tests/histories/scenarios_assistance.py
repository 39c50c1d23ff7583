"""Scenarios of values that help a gNB to serve a UE, and of user plane security."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

import wire
from schemas.network import DataNetwork
from tests.functions.gnb import ng_setup
from tests.functions.handover_site import Mobile
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK, NETWORK, World, subscriber

Scenario = Callable[[], World]

PERIODIC = "periodic-registration-updating"
PAGING = {"uERadioCapabilityForPagingOfNR": "0102"}
POLICY = DataNetwork("internet", up_integrity="required", up_confidentiality="preferred")


def restrictions_and_drx() -> World:
    """A UE with forbidden areas, an RFSP index and a DRX cycle, without a context and with one."""
    network = replace(NETWORK, equivalent_plmns=("001-02",), rfsp=3)
    phone = Phone(World(subscriber(forbidden_tacs=(2, 77), rfsp=7), network=network))
    ng_setup(phone.world)
    tree = phone.request(**{"requested-drx-parameters": "cycle64"})
    phone.initial(wire.nas_encode(tree), UEContextRequest=None)
    phone.authenticate()
    phone.secure(tree)
    phone.idle()
    phone.open_again(phone.request(PERIODIC), 9)
    phone.finish()
    phone.say(phone.request(PERIODIC))  # modifies the context
    phone.finish()
    phone.hear()
    phone.ngap("UEContextModificationResponse")
    return phone.world


def radio_capability() -> World:
    """Both capabilities: in a context setup and in PAGING, and deleted with the registration."""
    site = Site()
    address = site.establish()
    capability = {"UERadioCapability": "c0ffee", "UERadioCapabilityForPaging": PAGING}
    site.phone.ngap("UERadioCapabilityInfoIndication", **capability)
    site.idle()
    site.upfs.downlink_data(address)
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    site.phone.update()
    site.phone.say(site.phone.deregistration())
    site.upfs.serve()
    site.hear()
    site.phone.ngap("UEContextReleaseComplete")
    site.phone.open_again(site.phone.request(), 12)
    site.phone.finish()
    return site.world


def _secured(site: Site) -> Any:
    site.world.network = replace(N4_NETWORK, data_networks=(POLICY,))
    site.world.networks = {"secured": site.world.network}
    return site


def security_not_possible() -> World:
    """A gNB that refuses a new session, and one that exists, for its security policy."""
    site: Site = _secured(Site())
    name = "pDUSessionResourceSetupUnsuccessfulTransfer"
    cause = {"cause": {"radioNetwork": "up-integrity-protection-not-possible"}}
    items = [{"pDUSessionID": 1, name: cause}]
    site.ask()
    site.hear()
    message = "PDUSessionResourceSetupResponse"
    site.phone.ngap(message, PDUSessionResourceFailedToSetupListSURes=items)
    site.upfs.serve()
    site.hear()
    site.establish(pti=2)
    site.idle()
    site.service_request("data", **{"uplink-data-status": [1]})
    message = "InitialContextSetupResponse"
    site.phone.ngap(message, PDUSessionResourceFailedToSetupListCxtRes=items)
    site.upfs.serve()
    return site.world


def security_of_handovers() -> World:
    """The policy in HANDOVER REQUEST."""
    site: Mobile = _secured(Mobile(sessions=0))
    site.establish()
    site.world.downlink.clear()
    site.handover_required(2)
    return site.world


SCENARIOS: Final[dict[str, Scenario]] = {
    "restrictions-and-drx": restrictions_and_drx,
    "radio-capability": radio_capability,
    "security-not-possible": security_not_possible,
    "security-of-handovers": security_of_handovers,
}
