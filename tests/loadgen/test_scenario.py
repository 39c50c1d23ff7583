"""Scenario files: those that come with evcore, and errors with file and field."""

from pathlib import Path

import pytest

from loadgen import ConfigError, LoadConfig, Population, find_scenario, read_scenario
from loadgen.load.arrivals import Empirical, Mmpp
from loadgen.load.scenario import FOLDER, scenario_names

GOOD = """
description: A test.
phases:
  - name: attach
    mix: [{procedures: [register, session, idle]}]
    arrivals: {kind: poisson, rate: 50}
  - name: report
    mix: [{procedures: [service-request, idle]}]
    arrivals: {kind: mmpp, rates: [1, 9], sojourns: [5, 1]}
    repeat: null
    duration: 10
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "test.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", scenario_names())
def test_those_that_come_with_evcore(name: str) -> None:
    scenario = read_scenario(find_scenario(name))
    assert scenario.description.endswith(".")
    population = Population(count=scenario.ues)
    config = LoadConfig(population=population, gnbs=scenario.gnbs, **scenario.load())
    config.check()
    assert config.pages is (name in ("city.yaml", "paging.yaml", "procedures.yaml"))
    assert {"iot-burst.yaml", "mixed.yaml"} <= set(scenario_names())


def test_they_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert (
        find_scenario("iot-burst") == find_scenario("iot-burst.yaml") == FOLDER / "iot-burst.yaml"
    )
    path = write(tmp_path, GOOD)
    assert find_scenario(str(path)) == path
    with pytest.raises(
        ConfigError, match=r"no scenario iot: use a path, or one of city\.yaml, iot-burst\.yaml"
    ):
        find_scenario("iot")
    with pytest.raises(ConfigError, match="no scenario"):
        find_scenario("../config.py")


def test_what_a_file_says(tmp_path: Path) -> None:
    scenario = read_scenario(write(tmp_path, GOOD))
    attach, report = scenario.phases
    assert attach.once
    assert report.arrivals == Mmpp((1.0, 9.0), (5.0, 1.0))
    assert (report.repeat, report.duration) == (None, 10.0)


def test_times_of_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "gaps.txt").write_text("0.5\n1.5\n")
    text = GOOD.replace("kind: poisson, rate: 50", "kind: file, file: gaps.txt")
    arrivals = read_scenario(write(tmp_path, text)).phases[0].arrivals
    assert isinstance(arrivals, Empirical)
    assert arrivals.samples == (0.5, 1.5)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "rate: 50",
            "rate: fast",
            r"Expected `float`, got `str` - at `\$.phases\[0\].arrivals.rate`",
        ),
        ("rate: 50", "speed: 50", r"`\$.phases\[0\].arrivals`"),
        ("poisson", "poison", r"Invalid value 'poison' - at `\$.phases\[0\].arrivals.kind`"),
        ("rate: 50", "rate: 0", "phase attach: rate is 0.0"),
        ("session, idle", "sesion, idle", r"Invalid enum value 'sesion' - at `\$.phases\[0\].mix"),
        ("description", "describtion", r"unknown field `describtion`|required field `description`"),
        ("duration: 10", "duration: -1", "phase report: duration is -1.0"),
        ("    duration: 10\n", "", "phase report: repeat or duration must be set"),
        ("repeat: null", "repeat: 0", "phase report: repeat is 0"),
        ("rates: [1, 9]", "rates: [1]", "Expected `array` of length 2, got 1"),
        ("rates: [1, 9]", "rates: [0, 0]", "phase report: rates are"),
        ("[register, session, idle]", "[]", "phase attach: a programme of mix is empty"),
        ("[service-request, idle]", "[page]", "phase report: page: page is for an idle UE"),
        (
            "[register, session, idle]",
            "[register, idle, session]",
            "phase report: service-request,idle: service-request has nothing to request for",
        ),
        (
            "[service-request, idle]",
            "[release-session, idle]",
            "phase report: release-session,idle: release-session needs a PDU session",
        ),
        ("kind: poisson, rate: 50", "kind: file, file: none.txt", "cannot read .*none.txt"),
        ("mix: [{procedures", "mix: [{weight: 0, procedures", "phase attach: weight is 0.0"),
        ("phases:", "phases: [", "line 4, column 3: did not find"),
        ("description: A test.", "\tx", "line 2, column 1: "),
        (GOOD, "description: x\nphases: []\n", "phases is empty"),
        (GOOD, "- 1", r"Expected `object`, got `array`"),
    ],
)
def test_faults_name_the_file_and_the_field(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError, match=says) as caught:
        read_scenario(path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_scenario(tmp_path)
