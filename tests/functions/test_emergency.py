"""Emergency PDU sessions of authenticated UEs (TS 24.501 6.4.1.2, 5.4.5.2.3, TS 23.501 5.16.4)."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.cloudevents import EventType, SubscriptionChanged
from schemas.network import EmergencyServices, UpfPool
from schemas.subscriber import SubscribedSlice
from tests.functions import operator
from tests.functions.site import MESSAGE, Site
from tests.functions.world import N4_NETWORK, OTHER_SLICE, SLICE, subscriber

SERVICES = EmergencyServices("sos", SLICE)
_FIRST = N4_NETWORK.upfs[0]
UPFS = (
    replace(_FIRST, pools=(*_FIRST.pools, UpfPool("sos", "10.99.0.0/24"))),
    *N4_NETWORK.upfs[1:],
)
NETWORK = replace(N4_NETWORK, upfs=UPFS, emergency_services=SERVICES)


def at(network: Any = NETWORK, **more: Any) -> Site:
    return Site(network=network, **more)


def ask(site: Site, psi: int = 5, **request: Any) -> dict[str, Any]:
    """Ask for an emergency PDU session: without a DNN and an S-NSSAI (5.4.5.2.2)."""
    message = {
        MESSAGE: "pdu-session-establishment-request",
        "pdu-session-identity": psi,
        "procedure-transaction-identity": 1,
        "integrity-protection-maximum-data-rate": {"ul": "full-rate", "dl": "full-rate"},
        "pdu-session-type": "ipv4",
        **request,
    }
    site.say(psi, message, **{"request-type": "initial-emergency-request"})
    return (site.hear() or [{}])[-1]


def test_a_registered_ue_gets_one_that_is_not_subscribed() -> None:
    site = at()
    setup = ask(site)
    item = setup["PDUSessionResourceSetupListSUReq"][0]
    accept = item["nas"]
    assert accept[MESSAGE] == "pdu-session-establishment-accept"
    assert accept["dnn"] == "sos"
    assert accept["pdu-address"]["ipv4"].startswith("10.99.0.")
    transfer = item["pDUSessionResourceSetupRequestTransfer"]["protocolIEs"]
    flow = next(
        ie["QosFlowSetupRequestList"][0] for ie in transfer if "QosFlowSetupRequestList" in ie
    )
    qos = flow["qosFlowLevelQosParameters"]
    assert qos["qosCharacteristics"]["nonDynamic5QI"]["fiveQI"] == 5
    assert qos["allocationAndRetentionPriority"]["priorityLevelARP"] == 1
    site.set_up("PDUSessionResourceSetup", 5)
    session = site.session(5)
    assert (session.emergency, session.stage, session.nssai) == (True, "active", SLICE)
    site.world.verify()


@pytest.mark.parametrize("services", [SERVICES, None])
def test_emergency_services_are_announced_only_if_there_are_some(
    services: EmergencyServices | None,
) -> None:
    site = at(replace(NETWORK, emergency_services=services))
    site.phone.idle()
    site.phone.open_again(site.phone.request("mobility-registration-updating"))
    accept = site.phone.finish()
    announced = accept["5gs-network-feature-support"].get("emc", "not-supported")
    assert announced == ("nr-only" if services else "not-supported")
    answer = ask(site)
    got = answer[MESSAGE] == "PDUSessionResourceSetupRequest"
    assert got is (services is not None), "a UE gets what was announced, and nothing else"


def test_in_a_slice_that_is_not_allowed() -> None:
    """5.16.4.1: the slice is that of the configuration, and not one of the subscription."""
    site = at(tac=2, slices=(SubscribedSlice(OTHER_SLICE, default=True),))
    assert ask(site)[MESSAGE] == "PDUSessionResourceSetupRequest"
    assert site.session(5).nssai == SLICE


def test_a_ue_has_one() -> None:
    site = at()
    ask(site, 5)
    site.set_up("PDUSessionResourceSetup", 5)
    ask(site, 6)
    live = [s.id for s in site.world.ue().sessions if s.emergency and s.stage != "released"]
    assert live == [6]


def test_a_ue_that_is_registered_for_emergency_services_gets_no_other() -> None:
    site = at()
    phone = site.phone
    phone.say(phone.deregistration())
    phone.ngap("UEContextReleaseComplete")
    phone.hear()
    site.world.subscribers[phone.supi] = subscriber(1, barred=True)
    phone.guti, phone.ngksi, phone.ran_id, phone.security = None, 7, 9, None
    accept = phone.register(kind="emergency-registration")
    assert accept["5gs-registration-result"]["emergency-registered"]
    assert site.world.ue().allowed_nssai == (SLICE,)
    phone.hear()
    site.ask(1)
    assert site.hear()[-1]["5gmm-cause"] == "payload-was-not-forwarded"
    assert ask(site)[MESSAGE] == "PDUSessionResourceSetupRequest"


def barred(site: Site) -> None:
    one = site.world.subscribers[site.phone.supi]
    site.world.subscribers[site.phone.supi] = replace(one, barred=True)


def test_a_barred_subscription_ends_no_emergency_session() -> None:
    site = at()
    ask(site)
    site.set_up("PDUSessionResourceSetup", 5)
    barred(site)
    told = SubscriptionChanged(2)
    operator.tell(site.world, EventType.SUBSCRIPTION_CHANGED, told, site.phone.supi)
    assert site.phone.hear() == []
    site.idle()
    assert site.service_request("signalling")[0][MESSAGE] == "service-accept"
    assert site.session(5).stage == "active"


def test_a_barred_ue_registers_after_its_emergency_session() -> None:
    """TS 23.501 5.16.4.3: only emergency services are exempt. The registration gets #7."""
    site = at()
    ask(site)
    site.set_up("PDUSessionResourceSetup", 5)
    barred(site)
    told = SubscriptionChanged(2)
    operator.tell(site.world, EventType.SUBSCRIPTION_CHANGED, told, site.phone.supi)
    site.release(5)
    site.hear()
    site.released(5)
    head = {"pdu-session-identity": 5, "procedure-transaction-identity": 0}
    site.say(5, {MESSAGE: "pdu-session-release-complete", **head})
    command = site.phone.update()
    assert command["configuration-update-indication"] == {"ack": True, "red": True}
    assert site.phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"


def test_an_update_where_the_ue_is_barred_keeps_the_emergency_session_alone() -> None:
    """5.5.1.3.4: the UE is then registered for emergency services."""
    site = at()
    site.establish(1)
    ask(site)
    site.set_up("PDUSessionResourceSetup", 5)
    barred(site)
    site.idle()
    phone = site.phone
    more = {"pdu-session-status": [1, 5]}
    phone.open_again(phone.request("mobility-registration-updating", **more))
    accept = phone.finish()
    assert accept["5gs-registration-result"]["emergency-registered"]
    assert accept["pdu-session-status"] == [5]
    assert site.world.ue().emergency


def test_a_changed_subscription_does_not_change_it() -> None:
    """Its AMBR is not that of a subscribed DNN of the same name."""
    site = at(replace(NETWORK, emergency_services=replace(SERVICES, dnn="internet")))
    ask(site)
    site.set_up("PDUSessionResourceSetup", 5)
    before = site.session(5).ambr
    told = SubscriptionChanged(2)
    operator.tell(site.world, EventType.SUBSCRIPTION_CHANGED, told, site.phone.supi)
    assert site.session(5).ambr == before
    assert site.phone.hear() == []


def test_it_gets_no_back_off_timer() -> None:
    """6.4.1.4.2: #26 has T3396 for other sessions only."""
    site = at()
    site.upfs.silent = True
    ask(site)
    site.world.advance(60)
    rejects = [m for m in site.hear() if "payload-container" in m]
    payload = rejects[-1]["payload-container"]
    assert payload["5gsm-cause"] == "insufficient-resources"
    assert "back-off-timer-value" not in payload


def test_a_ue_registered_for_emergency_services_is_deregistered_after_t3512() -> None:
    """5.3.7: it does not register periodically."""
    site = at()
    phone = site.phone
    phone.say(phone.deregistration())
    phone.ngap("UEContextReleaseComplete")
    phone.hear()
    phone.guti, phone.ngksi, phone.ran_id, phone.security = None, 7, 9, None
    phone.register(kind="emergency-registration")
    site.idle()
    site.world.advance(NETWORK.timers.t3512 - 5)
    assert site.world.ue().registered
    site.world.advance(10)
    assert not site.world.ue().registered
