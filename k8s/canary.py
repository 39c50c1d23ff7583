"""A canary of another release: a Deployment for some partitions, and a Job that judges it."""

from typing import Final

from evcore.local.group import Group
from eventing.access.roles import Role
from k8s import pods, pull
from k8s.pods import Manifest
from schemas.procedures import Procedure

IMAGE: Final = "evcore-canary"
"""The image name of the other release. The overlay replaces it, and names a tag."""
RELEASE: Final = "0.2.0"
"""The version of the other release, by which the Job finds its workers."""
PROCEDURE: Final = Procedure.REGISTRATION
SHARE: Final = "1/8"
WAIT: Final = "600"
"""Seconds that a node may take to pull the image of the other release."""


def deployment() -> Manifest:
    """Return the Deployment of the other release's workers.

    KEDA does not scale it: its share is small, and starts from zero would make it seem slow.
    """
    made = pull.deployment(Group(f"{PROCEDURE}-canary", (PROCEDURE,)))
    (worker,) = made["spec"]["template"]["spec"]["containers"]
    worker["image"] = IMAGE
    worker["env"].append({"name": "EVCORE_VARIANT", "value": "1"})
    return {**made, "spec": {"replicas": 1, **made["spec"]}}


def judge() -> Manifest:
    """Return the Job that begins the swap, judges the canary, and rolls it back if it is worse.

    A pod that is lost is replaced, and goes on. The exit status of a roll-back is 1: the Job fails.
    """
    name = f"swap-{PROCEDURE}"
    marks = pods.labels("swap", name)
    needs = pods.Needs(store=False, keys=(), roles=(Role.OPERATOR,))
    container = pods.container(
        "swap",
        ["swap", str(PROCEDURE), "--to", RELEASE, "--partitions", SHARE, "--wait", WAIT],
        needs,
        resources={"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    )
    refused = {"operator": "In", "values": [1, 2]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": marks},
        "spec": {
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": refused}]},
            "template": {
                "metadata": {"labels": marks},
                "spec": {"restartPolicy": "Never", **pods.pod(container, "evcore-source", needs)},
            },
        },
    }
