"""The switches of the emulated gNB: what a core gets (`loadgen.gnb.behaviour`)."""

from pathlib import Path
from random import Random

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


def test_a_scenario_has_the_behaviour(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(SCENARIO)
    asked = read_scenario(path).load()["gnb_behaviour"]
    assert asked == GnbBehaviour(ie_order="random", lost_ue="context-failure")
    path.write_text(SCENARIO.replace("random", "any"))
    with pytest.raises(ConfigError, match="any"):
        read_scenario(path)
