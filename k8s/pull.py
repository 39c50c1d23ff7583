"""Pull functions: a Deployment and a KEDA ScaledObject for each group of procedures."""

from evcore.local.group import Group
from eventing import subjects
from k8s import pods
from k8s.pods import Manifest
from k8s.sizing import MONITORING, Sizing, name_of, triggers

COOLDOWN = 60
"""Seconds without an event before the last worker of a group is stopped."""


def manifests(group: Group, sizing: Sizing) -> list[Manifest]:
    """Return the two manifests of a group."""
    return [deployment(group), scaled_object(group, sizing)]


def deployment(group: Group) -> Manifest:
    """Return the Deployment of the workers. It sets no number of replicas, because KEDA sets it."""
    name = name_of(group)
    marks = pods.labels("worker", name)
    needs = pods.needs_of(group.procedures, writable=True)
    worker = pods.container(
        "worker",
        ["function", "work", ",".join(group.procedures)],
        needs,
        resources={
            "requests": {"cpu": "250m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
    )
    spec = pods.pod(pods.beating(worker), pods.account_of(needs), needs)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": marks},
        "spec": {
            "selector": {"matchLabels": marks},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": {
                "metadata": {"labels": marks},
                "spec": {"terminationGracePeriodSeconds": 15, **spec},
            },
        },
    }


def scaled_object(group: Group, sizing: Sizing) -> Manifest:
    """Return a ScaledObject with one trigger for each consumer. Their sum is the lag of the
    group."""
    watched = triggers(group, sizing.partitions)
    name = name_of(group)
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "labels": pods.labels("worker", name)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "pollingInterval": sizing.polling,
            "cooldownPeriod": COOLDOWN,
            "minReplicaCount": 0,
            "maxReplicaCount": sizing.replicas,
            "advanced": {
                "scalingModifiers": {
                    "formula": " + ".join(trigger.name for trigger in watched),
                    "target": str(sizing.messages(group)),
                    "activationTarget": "0",
                    "metricType": "AverageValue",
                },
                "horizontalPodAutoscalerConfig": {
                    "behavior": {
                        "scaleUp": {
                            "stabilizationWindowSeconds": 0,
                            "policies": [{"type": "Percent", "value": 300, "periodSeconds": 5}],
                        },
                        "scaleDown": {
                            "stabilizationWindowSeconds": 60,
                            "policies": [{"type": "Percent", "value": 50, "periodSeconds": 15}],
                        },
                    }
                },
            },
            "triggers": [
                {
                    "type": "nats-jetstream",
                    "name": trigger.name,
                    "useCachedMetrics": True,
                    "metadata": {
                        "account": "$G",
                        "natsServerMonitoringEndpoint": MONITORING,
                        "stream": subjects.STREAM,
                        "consumer": trigger.consumer,
                        "lagThreshold": str(sizing.messages(group)),
                        "activationLagThreshold": "0",
                    },
                }
                for trigger in watched
            ],
        },
    }
