"""IEs in another order than in TS 38.413 9.4, and the failure messages of clause 10.3.

10.3.6 makes another order an error of the sender. The setting `ie_order` accepts it, for all RAN
nodes or for one. Repeated and missing IEs are errors with either setting.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from msgspec.structs import replace

import wire
from schemas.network import GnbNode, IeOrder
from tests.functions.gnb import gnb, setup_request
from tests.functions.handover_site import Mobile, gnb_of
from tests.functions.test_path_switch import ACK, FAILURE, causes, notes
from tests.functions.world import World

FALSELY_CONSTRUCTED: Final = {"protocol": "abstract-syntax-error-falsely-constructed-message"}
NOT_COMPREHENDED: Final = {"protocol": "abstract-syntax-error-reject"}

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


class Changed(Mobile):
    """A UE with gNBs that change the IEs of their messages before they send them."""

    def __init__(self, change: Change, **network: Any) -> None:
        super().__init__()
        changed = replace(self.world.network, **network)
        self.world.network, self.world.networks["changed"] = changed, changed
        self.change = change
        uplink = self.world.uplink

        def changing(tree: dict[str, Any], *to: str, **more: str) -> None:
            uplink({**tree, "ies": self.change(tree["ies"])}, *to, **more)

        self.world.uplink = changing


def turned(ies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return ies[::-1]


def shuffled(seed: int) -> Change:
    def change(ies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return Random(seed).sample(ies, len(ies))

    return change


def without(name: str) -> Change:
    return lambda ies: [item for item in ies if name not in item]


def twice(name: str, order: Change = list) -> Change:
    def change(ies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return order([one for item in ies for one in ([item, item] if name in item else [item])])

    return change


@pytest.mark.parametrize("change", [turned, *map(shuffled, range(6))])
def test_a_path_switch_request_in_another_order(change: Change) -> None:
    site = Changed(change)
    site.path_switch_request(2, 21)
    said = notes(site)
    site.upfs.serve()
    ack = site.one("a2", ACK)
    assert [item["pDUSessionID"] for item in ack["PDUSessionResourceSwitchedList"]] == [1]
    assert len(said) == 1
    assert "PathSwitchRequest: any order is accepted" in said[0]


@pytest.mark.parametrize("change", [turned, *map(shuffled, range(6))])
def test_a_handover_with_messages_in_another_order(change: Change) -> None:
    """HANDOVER REQUIRED, HANDOVER REQUEST ACKNOWLEDGE and HANDOVER NOTIFY."""
    site = Changed(change)
    amf_id = site.command()
    site.notify(amf_id)
    (command,) = site.heard()
    assert command[:2] == (site.phone.association, "UEContextReleaseCommand")
    here = site.world.ue().connection
    assert here is not None
    assert (here.gnb, here.amf_ue_ngap_id) == (gnb_of(2), amf_id)
    site.world.verify()


def test_any_order_in_a_whole_life_of_a_ue() -> None:
    """Registration, a session, idle and a deregistration; NG SETUP REQUEST too."""
    site = Changed(turned)
    world = site.world
    world.uplink(setup_request(), gnb_of(1), "a9")
    (answer,) = world.sent()
    assert answer["message"] == "NGSetupResponse"
    world.downlink.clear()
    site.phone.association = "a9"
    site.phone.ran_id += 1
    site.phone.guti, site.phone.security, site.phone.ngksi = None, None, 7
    site.phone.register()
    site.establish(2)
    site.idle()
    assert world.ue().connection is None
    assert world.ue().registered
    world.verify()


def test_strict_for_all() -> None:
    """10.3.6, 8.4.4.3, 8.4.1.3: each gets the failure message of its procedure."""
    site = Changed(turned, ie_order="strict")
    site.path_switch_request(2, 21)
    failure = site.one("a2", FAILURE)
    assert (failure["AMF-UE-NGAP-ID"], failure["RAN-UE-NGAP-ID"]) == (site.phone.amf_id, 21)
    (item,) = failure["PDUSessionResourceReleasedListPSFail"]
    assert item["pDUSessionID"] == 1
    cause = item["pathSwitchRequestUnsuccessfulTransfer"]["cause"]
    assert cause == FALSELY_CONSTRUCTED
    site.handover_required()
    failure = site.one(site.phone.association, "HandoverPreparationFailure")
    assert failure["Cause"] == FALSELY_CONSTRUCTED
    assert site.world.ue().handover is None


@pytest.mark.parametrize(("network", "one"), [("strict", "lenient"), ("lenient", "strict")])
def test_the_order_for_one_gnb(network: IeOrder, one: IeOrder) -> None:
    nodes = (GnbNode(gnb_of(3)), GnbNode(gnb_of(2), one))
    site = Changed(turned, ie_order=network, gnbs=nodes)
    site.path_switch_request(2, 21)
    site.upfs.serve()
    assert site.heard()[-1][:2] == ("a2", ACK if one == "lenient" else FAILURE)
    site.path_switch_request(3, 31)
    site.upfs.serve()
    assert site.heard()[-1][:2] == ("a3", ACK if network == "lenient" else FAILURE)


@pytest.mark.parametrize(
    "change",
    [
        twice("UserLocationInformation"),
        twice("PDUSessionResourceToBeSwitchedDLList"),
        twice("RAN-UE-NGAP-ID", turned),
    ],
)
def test_an_ie_of_a_path_switch_request_twice(change: Change) -> None:
    """10.3.6, with the failure message, whatever the order is."""
    site = Changed(change)
    site.path_switch_request(2, 21)
    failure = site.one("a2", FAILURE)
    (item,) = failure["PDUSessionResourceReleasedListPSFail"]
    cause = item["pathSwitchRequestUnsuccessfulTransfer"]["cause"]
    assert cause == FALSELY_CONSTRUCTED
    here = site.world.ue().connection
    assert here is not None
    assert here.gnb == gnb_of(1)


def test_mandatory_ies_of_the_failure_that_the_request_does_not_have() -> None:
    """10.3.5: an ERROR INDICATION if the failure message cannot be filled."""
    for name in ("RAN-UE-NGAP-ID", "PDUSessionResourceToBeSwitchedDLList"):
        site = Changed(without(name))
        site.path_switch_request(2, 21)
        found = site.one("a2", "ErrorIndication")
        assert found["Cause"] == NOT_COMPREHENDED
        (item,) = found["CriticalityDiagnostics"]["iEsCriticalityDiagnostics"]
        assert item["typeOfError"] == "missing"


def test_handover_required_without_a_mandatory_ie() -> None:
    """10.3.5: HANDOVER PREPARATION FAILURE; without an id, ERROR INDICATION."""
    site = Changed(without("TargetID"))
    site.handover_required()
    failure = site.one(site.phone.association, "HandoverPreparationFailure")
    assert failure["Cause"] == NOT_COMPREHENDED
    site = Changed(without("RAN-UE-NGAP-ID"))
    site.handover_required()
    assert site.one(site.phone.association, "ErrorIndication")["Cause"] == NOT_COMPREHENDED


def test_a_faulty_path_switch_request_about_an_unknown_ue() -> None:
    """10.5: the id is the first error; the failure message says so (8.4.4.3)."""
    site = Changed(twice("UserLocationInformation"))
    unknown: dict[str, Any] = {"SourceAMF-UE-NGAP-ID": 77}
    site.path_switch_request(2, 21, **unknown)
    failure = site.one("a2", FAILURE)
    assert causes(failure["PDUSessionResourceReleasedListPSFail"]) == {
        1: "unknown-local-UE-NGAP-ID"
    }
    assert failure["AMF-UE-NGAP-ID"] == 77


def test_an_ng_setup_request_in_another_order() -> None:
    tree = setup_request()
    tree["ies"] = turned(tree["ies"])
    for order, expected in (("lenient", "NGSetupResponse"), ("strict", "NGSetupFailure")):
        world = World()
        world.network = replace(world.network, ie_order=order)
        world.networks["changed"] = world.network
        world.uplink(tree)
        (answer,) = world.sent()
        assert answer["message"] == expected
        if order == "lenient":
            assert gnb(world).association
    assert wire.ngap_check(wire.ngap_encode(tree)) is not None
