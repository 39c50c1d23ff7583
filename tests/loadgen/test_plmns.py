"""The PLMN that a UE selects, and the NSSAIs that it has by PLMN."""

from typing import Any

import pytest

from loadgen import LoadConfig, Procedure
from loadgen.gnb import messages
from loadgen.gnb.messages import GnbConfig
from loadgen.identity import SNssai, serving_network_name
from loadgen.violation import Kind
from tests.loadgen.amf import Amf
from tests.loadgen.steps import attempt, put
from tests.loadgen.world import World, population

OWN, OTHER = "001-01", "310-410"
SHARED = GnbConfig("gnb-1", 1, plmns=(OTHER,))


def ies_of(pdu: bytes) -> dict[str, Any]:
    return messages.ies_of(pdu)


def test_a_gnb_broadcasts_all_plmns_in_its_tracking_area() -> None:
    """TS 38.413 9.2.6.1."""
    (ta,) = ies_of(messages.ng_setup_request(SHARED))["SupportedTAList"]
    assert [item["pLMNIdentity"] for item in ta["broadcastPLMNList"]] == [OWN, OTHER]


def test_the_tai_of_a_ue_has_the_plmn_that_it_has_selected() -> None:
    nr = messages.location(SHARED, OTHER)["UserLocationInformation"]["userLocationInformationNR"]
    assert (nr["tAI"]["pLMNIdentity"], nr["nR-CGI"]["pLMNIdentity"]) == (OTHER, OWN)


def test_a_ue_authenticates_to_the_plmn_that_it_has_selected() -> None:
    """TS 33.501 6.1.1.4.2."""
    ue = World().ue().ue
    ue.plmn = OTHER
    assert ue.authentication.sn_name == serving_network_name(OTHER)
    assert ue.tai == (OTHER, 1)


def test_ues_select_each_plmn_at_each_gnb() -> None:
    config = LoadConfig(gnbs=2, plmns=(OWN, OTHER))
    pairs = {(ue % config.gnbs, config.plmn_of(ue)) for ue in range(4)}
    assert pairs == {(0, OWN), (0, OTHER), (1, OWN), (1, OTHER)}
    assert LoadConfig(plmn=OTHER).broadcast == (OTHER,)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        (
            "tai-list",
            [{"one-plmn-non-consecutive": {"plmn": plmn, "tacs": [1]}} for plmn in (OWN, OTHER)],
            Kind.ACCEPT_TAI_LIST,
        ),
        (
            "5g-guti",
            {
                "guti": {
                    "plmn": OTHER,
                    "amf-region-id": 2,
                    "amf-set-id": 3,
                    "amf-pointer": 4,
                    "tmsi": 9,
                }
            },
            Kind.ACCEPT_GUTI,
        ),
        (
            "rejected-nssai",
            [
                {
                    "s-nssai": {"sst": 1, "sd": "010203"},
                    "cause": "not-available-in-registration-area",
                }
            ],
            Kind.ACCEPT_NSSAI,
        ),
    ],
)
def test_an_accept_that_contradicts_itself(name: str, value: Any, kind: Kind) -> None:
    """A registration area or a 5G-GUTI of a PLMN that the UE has not selected, and a slice that is
    both allowed and rejected."""
    world, _ = attempt(put(name, "registration-accept", value))
    assert world.kinds() == [kind]


def test_a_registration_area_with_an_equivalent_plmn() -> None:
    def change(amf: Amf) -> None:
        amf.trees["registration-accept"] = lambda tree: {
            **tree,
            "equivalent-plmns": [OTHER],
            "tai-list": [
                {"one-plmn-non-consecutive": {"plmn": plmn, "tacs": [1]}} for plmn in (OWN, OTHER)
            ],
        }

    world, camped = attempt(change)
    assert world.kinds() == []
    assert camped.ue.equivalent_plmns == (OTHER,)


def test_the_configured_nssai_is_that_of_the_plmn() -> None:
    """TS 24.501 4.6.2.2, 5.5.1.2.2: without it the UE uses the default one. A change of the
    subscription deletes those of other PLMNs."""
    ue = World(population(slices=(SNssai(1, "010203"), SNssai(2)))).ue().ue
    assert ue.requested_nssai() is None
    ue.configure_slices({"configured-nssai": [{"sst": 2}]})
    assert ue.requested_nssai() == (SNssai(2),)
    ue.plmn = OTHER
    assert ue.requested_nssai() is None
    ue.configure_slices({"configured-nssai": [{"sst": 1, "sd": "010203"}]})
    assert set(ue.configured_nssai) == {OWN, OTHER}
    ue.configure_slices({"network-slicing-indication": {"nssci": True, "dcni": False}})
    assert set(ue.configured_nssai) == {OTHER}


def test_a_session_in_a_slice_that_is_allowed_no_more_is_released() -> None:
    """TS 23.501 5.15.5.2.2: by both sides, without a message about it."""
    world = World()
    camped = world.ue()
    world.run(camped, Procedure.REGISTER, Procedure.SESSION)
    ue = camped.ue
    assert len(ue.sessions.live) == 1
    tree = {"allowed-nssai": [{"sst": 9}], "tai-list": []}
    ue.accepted(tree)
    assert not ue.sessions.live
    assert ue.record.sessions_lost == 0
