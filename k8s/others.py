"""Manifests that belong to no group of procedures: the announcer and the toolbox."""

from eventing.access.roles import Role
from k8s import pods
from k8s.pods import Manifest


def announcer() -> Manifest:
    """Return the ContainerSource of domain events: from the feed of the log to a Broker."""
    marks = pods.labels("announcer", "announcer")
    needs = pods.Needs(keys=("EVCORE_MASTER_KEY",), roles=(Role.ANNOUNCER,))
    container = pods.container(
        "announcer",
        ["announce"],
        needs,
        resources={
            "requests": {"cpu": "100m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
    )
    broker = {"apiVersion": "eventing.knative.dev/v1", "kind": "Broker", "name": "evcore"}
    return {
        "apiVersion": "sources.knative.dev/v1",
        "kind": "ContainerSource",
        "metadata": {"name": "announcer", "labels": marks},
        "spec": {
            "sink": {"ref": broker},
            "template": {
                "metadata": {"labels": marks},
                "spec": pods.pod(pods.beating(container), "evcore-source", needs),
            },
        },
    }


def toolbox() -> Manifest:
    """Return a pod that waits for ``kubectl exec``, with the store and the keys."""
    marks = pods.labels("toolbox", "toolbox")
    needs = pods.Needs(roles=(Role.CONSOLE, Role.OPERATOR, Role.SETUP))
    container = pods.container(
        "toolbox",
        [],
        needs,
        resources={
            "requests": {"cpu": "10m", "memory": "32Mi"},
            "limits": {"memory": "512Mi"},
        },
    )
    container = {**container, "command": ["sleep", "infinity"]}
    del container["args"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "toolbox", "labels": marks},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": marks},
            "template": {
                "metadata": {"labels": marks},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    **pods.pod(container, "evcore-function", needs),
                },
            },
        },
    }
