"""The generated manifests of the functions."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from evcore.commands.function import app
from evcore.commands.up import groups_of
from eventing import subjects
from k8s import generate
from k8s.generate import FOLDER, differences, files, main
from k8s.sizing import Sizing
from schemas.config.objectives import ObjectiveConfig, objectives_of
from schemas.procedures import Procedure


def documents(made: dict[Path, str], path: str) -> list[dict[str, Any]]:
    text = made[Path("functions", path)]
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@pytest.mark.parametrize("partitions", [1, 16, 101])
def test_there_is_a_trigger_for_each_consumer(partitions: int) -> None:
    sizing = Sizing(partitions)
    made = files(groups_of("each", sizing.replicas), sizing)
    for procedure in Procedure:
        scaled = documents(made, f"pull/{procedure}.yaml")[1]["spec"]
        assert [one["metadata"]["consumer"] for one in scaled["triggers"]] == [
            subjects.consumer(partition, procedure) for partition in range(partitions)
        ]
        names = [one["name"] for one in scaled["triggers"]]
        assert scaled["advanced"]["scalingModifiers"]["formula"].split(" + ") == names
        assert names[0] == {1: "p00", 16: "p00", 101: "p000"}[partitions]
        assert scaled["maxReplicaCount"] == min(16, partitions)


def test_a_group_sums_all_its_procedures() -> None:
    groups = "registration,service-request;" + ";".join(
        p for p in Procedure if p not in (Procedure.REGISTRATION, Procedure.SERVICE_REQUEST)
    )
    made = files(groups_of(groups, 16), Sizing(2))
    deployment, scaled = documents(made, "pull/registration-service-request.yaml")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][:3] == ["function", "work", "registration,service-request"]
    assert scaled["spec"]["advanced"]["scalingModifiers"]["formula"] == (
        "registration_p00 + registration_p01 + service_request_p00 + service_request_p01"
    )


def test_the_target_comes_of_the_objective() -> None:
    objectives = objectives_of((ObjectiveConfig(50, procedure="session"),))
    sizing = Sizing(objectives=objectives, service_ms=4)
    made = files(groups_of("each", 16), sizing)
    scaled = documents(made, "pull/session.yaml")[1]["spec"]
    assert scaled["advanced"]["scalingModifiers"]["target"] == "3", "messages of four events"
    service, source = documents(made, "knative/session.yaml")
    annotations = service["spec"]["template"]["metadata"]["annotations"]
    assert annotations["autoscaling.knative.dev/target"] == "12"
    args = source["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--concurrency") + 1] == "192", "as all instances are to have"


def test_of_a_group_the_strictest_objective_counts() -> None:
    objectives = objectives_of(
        (
            ObjectiveConfig(50, procedure="session"),
            ObjectiveConfig(30, procedure="paging"),
            ObjectiveConfig(1, slice="1"),
        )
    )
    sizing = Sizing(objectives=objectives, service_ms=2)
    (everything,) = groups_of("all", 16)
    assert sizing.target(everything) == 15
    targets = {group.name: sizing.target(group) for group in groups_of("each", 16)}
    assert (targets["session"], targets["paging"], targets["ran"]) == (25, 15, 500)
    slow = replace(sizing, service_ms=100)
    assert (slow.target(everything), slow.messages(everything)) == (1, 1)


def test_only_identification_has_the_keys_of_the_home_network() -> None:
    made = files(groups_of("each", 16), Sizing())
    with_keys = {
        path.stem for path, text in made.items() if "secretName: evcore-home-network" in text
    }
    assert with_keys == {"identification"}


def test_the_commands_are_those_of_evcore() -> None:
    named = {command.name for command in app.registered_commands}
    made = files(groups_of("each", 16), Sizing())
    for mode in ("pull", "knative"):
        function = documents(made, f"{mode}/upf.yaml")[0]
        container = function["spec"]["template"]["spec"]["containers"][0]
        assert container["args"][0] == "function"
        assert container["args"][1] in named


def test_what_is_committed_is_what_is_generated() -> None:
    assert main(["--check"]) == 0


def test_check_finds_what_is_missing_stale_or_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--output", str(tmp_path)]) == 0
    assert main(["--output", str(tmp_path), "--check"]) == 0
    pull = tmp_path / "functions" / "pull"
    (pull / "ran.yaml").unlink()
    (pull / "old.yaml").write_text("")
    (pull / "upf.yaml").write_text("")
    assert main(["--output", str(tmp_path), "--check"]) == 1
    said = capsys.readouterr().err
    assert "functions/pull/ran.yaml is missing" in said
    assert "functions/pull/old.yaml is no longer generated" in said
    assert "functions/pull/upf.yaml is outdated" in said
    assert main(["--output", str(tmp_path)]) == 0
    sizing = generate.sizing_of(generate.configuration.load(generate.CONFIG))
    assert not differences(tmp_path, files(groups_of("each", 16), sizing))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--groups", "registration"],
        ["--config", "nowhere.toml"],
        ["--service-ms", "0"],
        ["--partitions", "-1"],
        ["--polling", "0"],
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("k8s.generate: ")
    assert not list(tmp_path.iterdir())


def test_the_partitions_are_those_of_the_configuration() -> None:
    assert generate.configuration.load(FOLDER / "base" / "evcore.toml").nats.partitions == 16


def test_a_canary_is_another_image_that_hosts_its_release_as_a_variant() -> None:
    text = files(groups_of("each", 16), Sizing())[Path("components/canary/canary.yaml")]
    deployment, job = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    template = deployment["spec"]["template"]["spec"]
    (worker,) = template["containers"]
    assert worker["image"] == "evcore-canary"
    assert {"name": "EVCORE_VARIANT", "value": "1"} in worker["env"]
    assert {one["image"] for one in template["initContainers"]} == {"evcore"}
    assert deployment["metadata"]["name"] == "registration-canary"
    assert (deployment["spec"]["replicas"], "ScaledObject" in text) == (1, False)
    (judge,) = job["spec"]["template"]["spec"]["containers"]
    overlay = yaml.safe_load((FOLDER / "overlays/pull-canary/kustomization.yaml").read_text())
    (release,) = (one["newTag"] for one in overlay["images"] if one["name"] == "evcore-canary")
    assert judge["args"][:4] == ["swap", "registration", "--to", release]
