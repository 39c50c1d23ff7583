"""The switches of the emulated gNB: what a core gets (`loadgen.gnb.behaviour`)."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

import wire
from loadgen.errors import ConfigError
from loadgen.gnb.behaviour import GnbBehaviour, reordered
from loadgen.load.scenario import read_scenario
from loadgen.ue.model import Procedure
from tests.loadgen.world import World

SCENARIO = """
description: gNBs of another maker
gnb_behaviour: {ie_order: random, lost_ue: context-failure}
phases: [{name: one, mix: [{procedures: [register]}], arrivals: {kind: closed}, repeat: 1}]
"""


def test_reordered_ies_are_the_same_ies() -> None:
    world = World()
    ue = world.ue()
    world.begin(ue, Procedure.REGISTER)
    world.settle()
    rng, orders = Random(1), set[bytes]()
    for pdu in world.sent:
        changed = reordered(pdu, rng)
        before, after = wire.ngap_decode(pdu), wire.ngap_decode(changed)
        assert before["message"] == after["message"]
        assert sorted(map(str, before["ies"])) == sorted(map(str, after["ies"]))
        orders.add(changed)
    assert any(wire.ngap_check(pdu) is not None for pdu in orders)
    assert reordered(b"\x00", rng) == b"\x00"


def test_a_gnb_says_by_a_failure_that_it_has_lost_its_ue() -> None:
    """It then expects UE CONTEXT RELEASE COMMAND, as after a UE CONTEXT RELEASE REQUEST."""
    world = World()
    ue = world.ue()
    world.begin(ue, Procedure.REGISTER)
    world.settle()
    cell = world.gnb.cell
    cell.config = replace(cell.config, behaviour=GnbBehaviour(lost_ue="context-failure"))
    world.begin(ue, Procedure.IDLE)
    world.settle()
    assert world.amf.received[-1] == "InitialContextSetupFailure"
    assert "UEContextReleaseRequest" not in world.amf.received
    (context,) = cell.contexts.by_ran.values()
    assert context.release_cause is not None


def test_a_gnb_that_recommends_its_cell_expects_it_in_the_paging() -> None:
    """The AMF of these tests forgets the recommendation."""
    world = World()
    ue = world.ue()
    cell = world.gnb.cell
    cell.config = world.gnb.config = replace(
        cell.config, behaviour=GnbBehaviour(recommends_cells=True)
    )
    world.run(ue, Procedure.REGISTER, Procedure.IDLE)
    assert ue.recommended
    (complete,) = (
        pdu for pdu in world.sent if "UEContextReleaseComplete" in str(wire.ngap_decode(pdu))
    )
    assert wire.ngap_check(complete) is None
    assert "recommendedCellList" in str(wire.ngap_decode(complete))
    assert ue.s_tmsi is not None
    amf_set, pointer, tmsi = ue.s_tmsi
    identity = {"aMFSetID": amf_set, "aMFPointer": pointer, "fiveG-TMSI": tmsi}
    area = {"tAI": {"pLMNIdentity": "001-01", "tAC": 1}}
    cells = {"recommendedCellList": [{"nGRAN-CGI": CGI, "timeStayedInCell": 60}]}
    data = {"assistanceDataForRecommendedCells": {"recommendedCellsForPaging": cells}}
    ies: list[dict[str, Any]] = [
        {"UEPagingIdentity": {"fiveG-S-TMSI": identity}},
        {"TAIListForPaging": [area]},
    ]
    for more, expected in (([{"AssistanceDataForPaging": data}], 0), ([], 1)):
        ue.recommended = True
        world.violations.clear()
        pdu = wire.ngap_encode({"message": "Paging", "ies": [*ies, *more]})
        world.gnb.receive(0, pdu, world.now)
        assert len(world.violations) == expected, world.violations


CGI: dict[str, Any] = {"nR-CGI": {"pLMNIdentity": "001-01", "nRCellIdentity": 1 << 12 | 1}}


def test_a_scenario_has_the_behaviour(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(SCENARIO)
    asked = read_scenario(path).load()["gnb_behaviour"]
    assert asked == GnbBehaviour(ie_order="random", lost_ue="context-failure")
    path.write_text(SCENARIO.replace("random", "any"))
    with pytest.raises(ConfigError, match="any"):
        read_scenario(path)
