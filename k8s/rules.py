"""Rules that schemas cannot express: errors that KEDA, Knative and the cluster report late."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from k8s.pods import Manifest
from k8s.references import pod_of
from schemas.config.reading import HTTP_TOKENS

VISIBILITY: Final = "networking.knative.dev/visibility"
AUTOSCALING: Final = "autoscaling.knative.dev/"
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_FORMULA: Final = re.compile(r"[a-z][a-z0-9_]*(?: \+ [a-z][a-z0-9_]*)*")
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|m|s|ms))+")

JETSTREAM: Final = ("account", "natsServerMonitoringEndpoint", "stream", "consumer")
"""Mandatory metadata of the scaler (KEDA 2.16, nats_jetstream_scaler.go)."""
JETSTREAM_NUMBERS: Final = ("lagThreshold", "activationLagThreshold")


def faults(manifest: Manifest, consumers: set[str], partitions: int) -> list[str]:
    """Return a sentence for each fault of one manifest.

    Args:
        manifest: in the form in which it is applied.
        consumers: the consumers that evcore creates.
        partitions: the number of partitions of the streams.
    """
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    group = manifest["apiVersion"].partition("/")[0]
    found: list[str] = []
    if kind == "ScaledObject":
        found += _scaled_object(manifest["spec"], consumers, partitions)
    if kind == "Service" and group == "serving.knative.dev":
        found += _knative_service(manifest["spec"]["template"])
        if manifest["metadata"].get("labels", {}).get(VISIBILITY) != "cluster-local":
            found.append(
                f"without the label {VISIBILITY}: cluster-local it is reached from outside"
            )
    pod = pod_of(manifest)
    if pod is not None:
        found += _pod(pod)
    return [f"{kind} {name}: {fault}" for fault in found]


def _scaled_object(spec: Manifest, consumers: set[str], partitions: int) -> Iterator[str]:
    """See KEDA's apis/keda/v1alpha1/scaledobject_webhook.go. Some checks go further."""
    names: list[str] = []
    for number, trigger in enumerate(spec["triggers"]):
        names.append(trigger.get("name", ""))
        if trigger["type"] != "nats-jetstream":
            yield f"trigger {number}: {trigger['type']!r} is not nats-jetstream"
            continue
        for fault in _trigger(trigger["metadata"], consumers):
            yield f"trigger {number}: {fault}"
    if sorted(names) != sorted(set(names)) or not all(map(_NAME.fullmatch, names)):
        yield "each trigger needs a unique name of lower-case letters, digits and underscores"
    modifiers = spec.get("advanced", {}).get("scalingModifiers", {})
    formula = modifiers.get("formula", "")
    if not _FORMULA.fullmatch(formula) or sorted(formula.split(" + ")) != sorted(names):
        yield "the formula must be the sum of all triggers, each once"
    if not _positive(modifiers.get("target", "")):
        yield f"the target {modifiers.get('target')!r} is not a number above 0"
    if modifiers.get("activationTarget") != "0":
        yield "activationTarget must be 0: one event wakes a worker"
    if modifiers.get("metricType") != "AverageValue":
        yield "metricType must be AverageValue: the target applies to one worker"
    least, most = spec.get("minReplicaCount", 0), spec.get("maxReplicaCount", 100)
    if not 0 <= least <= most:
        yield f"minReplicaCount {least} is above maxReplicaCount {most}"
    if most > partitions:
        yield f"maxReplicaCount {most} is above the number of partitions, {partitions}"
    if spec.get("idleReplicaCount", -1) >= least > 0:
        yield "idleReplicaCount must be below minReplicaCount"


def _trigger(metadata: Manifest, consumers: set[str]) -> Iterator[str]:
    for key in JETSTREAM:
        if not metadata.get(key):
            yield f"the scaler needs {key}"
    for key in JETSTREAM_NUMBERS:
        if key in metadata and not _COUNT.fullmatch(metadata[key]):
            yield f"{key} {metadata[key]!r} is not a number"
    for key in metadata.keys() - {*JETSTREAM, *JETSTREAM_NUMBERS, "useHttps"}:
        yield f"the scaler does not know {key}"
    consumer = metadata.get("consumer")
    if consumer and consumer not in consumers:
        # Without its consumer KEDA takes the last sequence number of the stream as the lag.
        yield f"there is no consumer {consumer}"


def _knative_service(template: Manifest) -> Iterator[str]:
    """See knative.dev/serving pkg/apis/autoscaling/annotation_validation.go."""
    annotations = template["metadata"].get("annotations", {})
    for key, value in annotations.items():
        if not key.startswith(AUTOSCALING):
            continue
        valid = _ANNOTATIONS.get(key.removeprefix(AUTOSCALING))
        if valid is None:
            yield f"{key} is not an annotation of the autoscaler"
        elif not valid(value):
            yield f"{key}: {value!r} is not a valid value"
    least = annotations.get(AUTOSCALING + "min-scale", "0")
    most = annotations.get(AUTOSCALING + "max-scale", "0")
    if _COUNT.fullmatch(least) and _COUNT.fullmatch(most) and 0 < int(most) < int(least):
        yield f"max-scale {most} is below min-scale {least}"
    for container in template["spec"]["containers"]:
        names = {one["name"] for one in container.get("env", ())}
        if container.get("args", ())[:2] == ["function", "serve"] and HTTP_TOKENS not in names:
            yield f"a function without {HTTP_TOKENS}"
        probe = container.get("readinessProbe", {})
        if not probe.get("periodSeconds") and {"timeoutSeconds", "failureThreshold"} & probe.keys():
            yield "readinessProbe: timeoutSeconds and failureThreshold need periodSeconds"
    if len(template["spec"]["containers"]) > 1:
        yield "only one container: several would need ports that select one"
    for key in ("initContainers", "hostNetwork", "nodeSelector", "affinity", "securityContext"):
        if key in template["spec"]:
            yield f"{key} is behind a feature flag of Knative (config-features)"


def _positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _count(text: str) -> bool:
    return _COUNT.fullmatch(text) is not None


def _duration(text: str) -> bool:
    return text == "0" or _DURATION.fullmatch(text) is not None


_ANNOTATIONS: Final[dict[str, Callable[[str], bool]]] = {
    "class": lambda text: text == "kpa.autoscaling.knative.dev",
    "metric": lambda text: text in ("concurrency", "rps"),
    "target": lambda text: _positive(text) and float(text) >= 0.01,
    "min-scale": _count,
    "max-scale": _count,
    "initial-scale": _count,
    "activation-scale": lambda text: _count(text) and int(text) > 0,
    "target-burst-capacity": lambda text: text == "-1" or _count(text),
    "target-utilization-percentage": lambda text: _positive(text) and float(text) <= 100,
    "window": _duration,
    "scale-down-delay": _duration,
    "scale-to-zero-pod-retention-period": _duration,
}
"""The annotations that evcore uses or may use, and their valid values."""


def _pod(spec: Manifest) -> Iterator[str]:
    """Check for no privileges, no tokens, known resources, and a probe that shows whether the
    process is alive."""
    if spec.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken must be false"
    if spec.get("serviceAccountName", "default") == "default":
        yield "the pod runs under the default ServiceAccount"
    volumes = {volume["name"] for volume in spec.get("volumes", ())}
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        for fault in _container(container, volumes):
            yield f"container {container['name']}: {fault}"


def _container(container: Manifest, volumes: set[str]) -> Iterator[str]:
    security: dict[str, Any] = container.get("securityContext", {})
    wanted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for key, value in wanted.items():
        if security.get(key) != value:
            yield f"securityContext.{key} must be {value}"
    resources = container.get("resources", {})
    if not {"cpu", "memory"} <= resources.get("requests", {}).keys():
        yield "no CPU or no memory request"
    if "memory" not in resources.get("limits", {}):
        yield "no memory limit"
    _, _, tag = container["image"].rpartition("/")[2].partition(":")
    if "@sha256:" not in container["image"] and tag in ("", "latest"):
        yield f"the image {container['image']} has no version"
    for mount in container.get("volumeMounts", ()):
        if mount["name"] not in volumes:
            yield f"there is no volume {mount['name']}"
