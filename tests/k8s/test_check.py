"""`make k8s-check` accepts the manifests of this tree, and finds deliberate faults."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from k8s import check

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prepared")]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of all checked files, which a test may break."""
    shutil.copytree(ROOT / "k8s", tmp_path / "k8s", ignore=shutil.ignore_patterns("*.py*"))
    shutil.copy(ROOT / "Containerfile", tmp_path)
    return tmp_path


@pytest.fixture
def small(clone: Path) -> Path:
    """A copy with two procedures, which is faster."""
    for mode in ("pull", "knative"):
        path = clone / "k8s" / "functions" / mode / "kustomization.yaml"
        head, _, _ = path.read_text().partition("resources:\n")
        path.write_text(f"{head}resources:\n- registration.yaml\n- session.yaml\n")
    return clone


def broken(clone: Path, file: str, old: str, new: str) -> None:
    path = clone / "k8s" / file
    text = path.read_text()
    assert old in text, f"{file} has no {old!r} any more"
    path.write_text(text.replace(old, new, 1))


def faults(clone: Path, overlay: str) -> str:
    return "\n".join(check.overlay(clone / "k8s" / "overlays" / overlay))


def run(clone: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "k8s.check", str(clone)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_what_is_here_is_valid(clone: Path) -> None:
    done = run(clone)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pull" in done.stdout


def test_the_command_fails_on_a_broken_manifest(clone: Path) -> None:
    broken(clone, "base/gateway-n2.yaml", "replicas: 2", "replicas: two")
    done = run(clone)
    assert done.returncode == 1
    assert "Deployment gateway-n2: at '/spec/replicas': " in done.stderr


PULL = "functions/pull/registration.yaml"
PULL_2 = "functions/pull/session.yaml"
KNATIVE = "functions/knative/registration.yaml"
KNATIVE_2 = "functions/knative/session.yaml"
BROKER = "components/domain-events/broker.yaml"
ANNOUNCER = "components/domain-events/announcer.yaml"

UNKNOWN_FIELDS = [
    (PULL, "pollingInterval: 5", "pollInterval: 5", "'pollInterval' not allowed"),
    (PULL_2, "formula:", "formulae:", "'formulae' not allowed"),
    (PULL, "maxSurge: 1", "maxSurges: 1", "'maxSurges' not allowed"),
    ("foundationdb/cluster.yaml", "redundancy_mode", "redundancy", "'redundancy' not allowed"),
    ("base/network-policies.yaml", "podSelector", "podSelect", "'podSelect' not allowed"),
    ("base/rbac.yaml", "verbs", "verb", "'verb' not allowed"),
]
UNKNOWN_FIELDS_OF_KNATIVE = [
    (KNATIVE, "containerConcurrency", "concurrency", "'concurrency' not allowed"),
    (KNATIVE, "  sink:", "  sinks:", "ContainerSource registration: at '/spec'"),
    (BROKER, "retry: 10", "retries: 10", "'retries' not allowed"),
    # The pod of a ContainerSource, which its own CRD does not check.
    (ANNOUNCER, "serviceAccountName", "accountName", "Pod source-announcer: at '/spec'"),
]
WRONG_TYPES = [
    (PULL, "maxReplicaCount: 16", "maxReplicaCount: many", "/spec/maxReplicaCount"),
    (PULL_2, "consumer: session-0003", "consumer: 3", "/spec/triggers/3/metadata/consumer"),
    ("foundationdb/cluster.yaml", "storage: 3", "storage: three", "/spec/processCounts/storage"),
    ("base/gateway-n4.yaml", "replicas: 1", "replicas: [1]", "/spec/replicas"),
]
WRONG_TYPES_OF_KNATIVE = [
    (KNATIVE, "timeoutSeconds: 30", "timeoutSeconds: 30s", "/spec/template/spec/timeoutSeconds"),
    (KNATIVE_2, "periodSeconds: 1\n", "periodSeconds: soon\n", "Pod source-session"),
]
# Faults that KEDA finds only at run time, or never.
TRIGGERS = [
    (PULL, "natsServerMonitoringEndpoint", "endpoint", "the scaler needs natsServerMonitoringEn"),
    (PULL, "account: $G", "accounts: $G", "the scaler needs account"),
    (PULL, "consumer: registration-0007", "consumer: registration-7", "no consumer"),
    (PULL_2, "type: nats-jetstream", "type: nats-jetstrem", "'nats-jetstrem' is not"),
    (PULL, "lagThreshold: '125'", "lagThreshold: high", "lagThreshold 'high' is not a number"),
]
FORMULA = [
    (PULL, "name: p05", "name: p04", "needs a unique name"),
    (PULL_2, "p03 + p04", "p03", "ScaledObject session: the formula must be the sum"),
    (PULL, "target: '125'", "target: ten", "the target 'ten' is not a number above 0"),
    (PULL, "activationTarget: '0'", "activationTarget: '5'", "activationTarget must be 0"),
    (PULL, "metricType: Average", "metricType: ", "metricType must be AverageValue"),
    (PULL, "minReplicaCount: 0", "minReplicaCount: 17", "minReplicaCount 17 is above"),
    (PULL_2, "maxReplicaCount: 16", "maxReplicaCount: 17", "above the number of partitions, 16"),
]
# Faults that Knative's webhook would reject.
ANNOTATIONS = [
    (KNATIVE, "min-scale: '0'", "min-scale: '-1'", "min-scale: '-1' is not a valid value"),
    (KNATIVE_2, "min-scale: '0'", "min-scale: '99'", "max-scale 16 is below min-scale 99"),
    (KNATIVE, "dev/window", "dev/windows", "dev/windows is not an annotation of the autoscaler"),
    (KNATIVE_2, "window: 30s", "window: soon", "window: 'soon' is not a valid value"),
    (KNATIVE, "          periodSeconds: 5\n", "", "timeoutSeconds and failureThreshold need"),
]
DOORS = [
    (KNATIVE, "visibility: cluster-local", "visibility: no", "without the label"),
    (
        KNATIVE_2,
        "name: EVCORE_HTTP_TOKENS",
        "name: TOKENS",
        "a function without EVCORE_HTTP_TOKENS",
    ),
]
REFERENCES = [
    (PULL, "kind: Deployment\n    name: reg", "kind: Deployment\n    name: req", "no Deployment"),
    (PULL, "serviceAccountName: evcore-f", "serviceAccountName: f", "no ServiceAccount function"),
    (PULL, "name: evcore-keys", "name: evcore-key", "there is no Secret evcore-key"),
    (PULL, "name: evcore-config", "name: evcore-conf", "there is no ConfigMap evcore-conf"),
    ("base/gateway-n2.yaml", "name: n2, con", "name: ngap, con", "has a port n2"),
    ("base/network-policies.yaml", "component: worker", "component: w", "the pods of worker"),
    ("base/network-policies.yaml", "port: 4222", "port: 4223", "gateway-n2: its pods cannot reach"),
]
PRIVILEGES = [
    (PULL, "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot must be True"),
    (PULL_2, "cpu: 250m", "storage: 1Gi", "no CPU or no memory request"),
    ("overlays/pull/kustomization.yaml", "0.1.0", "latest", "has no version"),
    ("base/gateway-n4.yaml", "automountServiceAccountToken: false", "", "must be false"),
]


@pytest.mark.parametrize(
    ("overlay", "breaks"),
    [
        pytest.param("pull", UNKNOWN_FIELDS, id="unknown fields"),
        pytest.param("knative", UNKNOWN_FIELDS_OF_KNATIVE, id="unknown fields of Knative"),
        pytest.param("pull", WRONG_TYPES, id="wrong types"),
        pytest.param("knative", WRONG_TYPES_OF_KNATIVE, id="wrong types of Knative"),
        pytest.param("pull", TRIGGERS, id="triggers"),
        pytest.param("pull", FORMULA, id="formula"),
        pytest.param("knative", ANNOTATIONS, id="annotations"),
        pytest.param("knative", DOORS, id="doors"),
        pytest.param("pull", REFERENCES, id="references"),
        pytest.param("pull", PRIVILEGES, id="privileges"),
    ],
)
def test_broken_on_purpose(
    small: Path, overlay: str, breaks: list[tuple[str, str, str, str]]
) -> None:
    assert not faults(small, overlay)
    for file, old, new, _ in breaks:
        broken(small, file, old, new)
    found = faults(small, overlay)
    for file, old, _, says in breaks:
        assert says in found, f"{file}: {old}"


def test_a_kind_without_a_schema_is_an_error(clone: Path) -> None:
    """An unknown kind is not skipped."""
    broken(clone, PULL, "keda.sh/v1alpha1", "keda.sh/v1")
    done = run(clone)
    assert done.returncode == 1
    assert "could not find schema for ScaledObject" in done.stderr


def test_generated_files_out_of_date_are_found(clone: Path) -> None:
    broken(clone, "base/evcore.toml", "partitions = 16", "partitions = 32")
    done = run(clone)
    assert done.returncode == 1
    assert "functions/pull/registration.yaml is outdated" in done.stderr


def test_a_fault_of_the_containerfile_is_found(clone: Path) -> None:
    path = clone / "Containerfile"
    path.write_text(path.read_text().replace("USER 10001:10001", "USER root\nADD . /src"))
    done = run(clone)
    assert done.returncode == 1
    assert "DL3002" in done.stderr
