"""Functions that are called: a Knative Service and the ContainerSource that POSTs to it."""

from evcore.local.group import Group
from k8s import pods
from k8s.pods import Manifest
from k8s.sizing import Sizing, name_of

SERVING = "serving.knative.dev/v1"
CONCURRENCY = 128
"""Requests that one instance decides together: the events of one transaction."""
BACKLOG = 1024
"""Events that a dispatcher has at a time, at most, and so requests under way."""


def manifests(group: Group, sizing: Sizing) -> list[Manifest]:
    """The two manifests of a group."""
    return [service(group, sizing), source(group, sizing)]


def target_of(group: Group, sizing: Sizing) -> int:
    """Requests under way for each instance, beyond which more are wanted."""
    return min(sizing.target(group), CONCURRENCY)


def service(group: Group, sizing: Sizing) -> Manifest:
    """The function. Requests under way stand for the events that wait, so the target is as
    many as wait for a worker that pulls, within what an instance takes at a time."""
    name = name_of(group)
    marks = pods.labels("function", name)
    needs = pods.needs_of(group.procedures, writable=False)
    function = pods.container(
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
        livenessProbe={"httpGet": {"path": "/healthz/live"}, "timeoutSeconds": 3},
    )
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
    """The dispatcher: it pulls the group's consumers and POSTs to the Service, in order per UE.

    As many requests at a time as all instances are to have: fewer would keep the autoscaler from
    ever starting them.
    """
    name = name_of(group)
    marks = pods.labels("dispatcher", name)
    needs = pods.Needs(store=False, keys=())
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
