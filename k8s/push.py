"""Push functions: a Knative Service and the ContainerSource that POSTs to it."""

from msgspec.structs import replace

from evcore.local.group import Group
from eventing.access.roles import Role
from k8s import pods
from k8s.pods import Manifest
from k8s.sizing import Sizing, name_of

SERVING = "serving.knative.dev/v1"
CONCURRENCY = 128
"""Requests that one instance decides together: the events of one transaction."""
BACKLOG = 1024
"""The most events that a dispatcher holds at a time, and so the most concurrent requests."""


def manifests(group: Group, sizing: Sizing) -> list[Manifest]:
    """Return the two manifests of a group."""
    return [service(group, sizing), source(group, sizing)]


def target_of(group: Group, sizing: Sizing) -> int:
    """Return the concurrent requests per instance above which Knative adds instances."""
    return min(sizing.target(group), CONCURRENCY)


def service(group: Group, sizing: Sizing) -> Manifest:
    """Return the Knative Service of the function.

    Concurrent requests represent waiting events. The target is therefore the number of events that
    wait for one pull worker, within the concurrency of an instance.

    The function listens on loopback: Knative's queue-proxy, in the same pod, passes requests and
    the readiness probe to 127.0.0.1. The kubelet does not reach it there, so the liveness probe
    checks the file that the function touches.
    """
    name = name_of(group)
    marks = pods.labels("function", name)
    needs = replace(pods.needs_of(group.procedures, writable=False), http_tokens=True)
    made = pods.container(
        "function",
        ["function", "serve", ",".join(group.procedures)],
        needs,
        ports=[{"name": "http1", "containerPort": pods.HTTP_PORT}],
        resources={
            "requests": {"cpu": "250m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        readinessProbe={
            "httpGet": {"path": "/healthz/ready"},
            "periodSeconds": 5,
            "timeoutSeconds": 3,
        },
    )
    function = pods.beating(made, startup=False)
    spec = pods.pod(function, pods.account_of(needs), needs)
    return {
        "apiVersion": SERVING,
        "kind": "Service",
        "metadata": {
            "name": name,
            "labels": {**marks, "networking.knative.dev/visibility": "cluster-local"},
        },
        "spec": {
            "template": {
                "metadata": {
                    "labels": marks,
                    "annotations": {
                        "autoscaling.knative.dev/class": "kpa.autoscaling.knative.dev",
                        "autoscaling.knative.dev/metric": "concurrency",
                        "autoscaling.knative.dev/target": str(target_of(group, sizing)),
                        "autoscaling.knative.dev/min-scale": "0",
                        "autoscaling.knative.dev/max-scale": str(sizing.max_replicas),
                        "autoscaling.knative.dev/window": "30s",
                        "autoscaling.knative.dev/scale-to-zero-pod-retention-period": "30s",
                    },
                },
                "spec": {"containerConcurrency": CONCURRENCY, "timeoutSeconds": 30, **spec},
            }
        },
    }


def source(group: Group, sizing: Sizing) -> Manifest:
    """Return the ContainerSource of the dispatcher. It pulls the group's consumers and POSTs to the
    Service, in order per UE.

    It sends as many concurrent requests as all instances can hold. With fewer, the autoscaler would
    never start them all.
    """
    name = name_of(group)
    marks = pods.labels("dispatcher", name)
    needs = pods.Needs(store=False, keys=(), roles=(Role.DISPATCHER,), http_tokens=True)
    concurrency = min(target_of(group, sizing) * sizing.max_replicas, BACKLOG)
    dispatcher = pods.container(
        "dispatcher",
        ["dispatch", ",".join(group.procedures), "--concurrency", str(concurrency)],
        needs,
        resources={
            "requests": {"cpu": "100m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
    )
    spec = pods.pod(pods.beating(dispatcher), "evcore-source", needs)
    return {
        "apiVersion": "sources.knative.dev/v1",
        "kind": "ContainerSource",
        "metadata": {"name": name, "labels": marks},
        "spec": {
            "sink": {"ref": {"apiVersion": SERVING, "kind": "Service", "name": name}},
            "template": {"metadata": {"labels": marks}, "spec": spec},
        },
    }
