"""Check that every reference between manifests has a target."""

from collections.abc import Iterator
from typing import Any

from eventing.access.roles import Role
from k8s.pods import Manifest, nats_secret

OUTSIDE = {
    ("Secret", "nats-tls"),
    *(("Secret", nats_secret(role)) for role in Role),
    ("Secret", "evcore-http"),
    ("Secret", "evcore-keys"),
    ("Secret", "evcore-home-network"),
    ("ConfigMap", "evcore-fdb-config"),
}
"""Resources that users create (docs/kubernetes.md) or that the FoundationDB operator creates."""

SPEAK_NATS = ("streams", "gateway", "function", "dispatch", "announce", "swap")
"""The evcore commands that connect to NATS."""
NATS_PORT = 4222


def pod_of(manifest: Manifest) -> Manifest | None:
    """Return the pod specification of an evcore manifest that has one."""
    if manifest["kind"] == "FoundationDBCluster":
        return None
    template: Manifest = manifest.get("spec", {}).get("template", {})
    found: Manifest | None = template.get("spec")
    return found


def pods(manifests: list[Manifest]) -> list[Manifest]:
    """Return the pods that the ContainerSources create. Their CRD does not check the pod
    template."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"source-{manifest['metadata']['name']}",
                **manifest["spec"]["template"]["metadata"],
            },
            "spec": manifest["spec"]["template"]["spec"],
        }
        for manifest in manifests
        if manifest["kind"] == "ContainerSource"
    ]


def dangling(manifests: list[Manifest]) -> list[str]:
    """Return a sentence for each reference without a target."""
    there = {(one["kind"], one["metadata"]["name"]) for one in manifests} | OUTSIDE
    found: list[str] = []
    for manifest in manifests:
        name = f"{manifest['kind']} {manifest['metadata']['name']}"
        wanted = [*_of_pod(pod_of(manifest) or {}), *_of_spec(manifest)]
        found += [
            f"{name}: there is no {kind} {what}"
            for kind, what in wanted
            if (kind, what) not in there
        ]
    found += _selectors(manifests)
    return found


def _of_pod(spec: Manifest) -> Iterator[tuple[str, str]]:
    if "serviceAccountName" in spec:
        yield "ServiceAccount", spec["serviceAccountName"]
    for volume in spec.get("volumes", ()):
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"]
        for source in volume.get("projected", {}).get("sources", ()):
            yield "Secret", source["secret"]["name"]
        if "persistentVolumeClaim" in volume:
            yield "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        for variable in container.get("env", ()):
            secret: dict[str, Any] = variable.get("valueFrom", {}).get("secretKeyRef", {})
            if secret:
                yield "Secret", secret["name"]


def _of_spec(manifest: Manifest) -> Iterator[tuple[str, str]]:
    spec: dict[str, Any] = manifest.get("spec", {})
    if "scaleTargetRef" in spec:
        yield spec["scaleTargetRef"].get("kind", "Deployment"), spec["scaleTargetRef"]["name"]
    if manifest["kind"] == "ContainerSource":
        yield spec["sink"]["ref"]["kind"], spec["sink"]["ref"]["name"]


def _selectors(manifests: list[Manifest]) -> Iterator[str]:
    """Find Services, budgets and policies of evcore that select no pod, and ports that do not
    exist."""
    templates = [
        (one["spec"]["template"].get("metadata", {}).get("labels", {}), pod_of(one) or {})
        for one in manifests
        if pod_of(one)
    ]
    components = {labels.get("app.kubernetes.io/component") for labels, _ in templates}
    for one in manifests:
        name = f"{one['kind']} {one['metadata']['name']}"
        if one["apiVersion"] == "v1" and one["kind"] == "Service":
            selected = [
                pod
                for labels, pod in templates
                if one["spec"]["selector"].items() <= labels.items()
            ]
            ports = {
                port["name"]
                for pod in selected
                for container in pod["containers"]
                for port in container.get("ports", ())
            }
            for port in one["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    yield f"{name}: no selected pod has a port {port['targetPort']}"
        elif one["kind"] == "PodDisruptionBudget":
            wanted = one["spec"]["selector"]["matchLabels"]
            if not any(wanted.items() <= labels.items() for labels, _ in templates):
                yield f"{name}: selects no pod"
        elif one["kind"] == "Deployment":
            wanted = one["spec"]["selector"]["matchLabels"]
            labels = one["spec"]["template"]["metadata"]["labels"]
            if not wanted.items() <= labels.items():
                yield f"{name}: does not select its own pods"
    policies = {
        one["spec"]["podSelector"].get("matchLabels", {}).get("app.kubernetes.io/component"): one
        for one in manifests
        if one["kind"] == "NetworkPolicy"
    }
    for component in sorted(components - policies.keys() - {None}):
        yield f"no NetworkPolicy for the pods of {component}"
    speakers = {
        labels.get("app.kubernetes.io/component")
        for labels, pod in templates
        for container in pod.get("containers", ())
        if container.get("args", [""])[0] in SPEAK_NATS
    }
    for component in sorted(speakers & policies.keys() - {None}):
        if not _reaches(policies[component], NATS_PORT):
            yield f"NetworkPolicy {component}: its pods cannot reach NATS, port {NATS_PORT}"


def _reaches(policy: Manifest, port: int) -> bool:
    rules: list[dict[str, Any]] = policy["spec"].get("egress", [])
    return any(one.get("port") == port for rule in rules for one in rule.get("ports", ()))
