"""The common parts of evcore's pods: image, configuration, keys, and no privileges."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from eventing.access.roles import Role
from schemas.config.reading import HTTP_TOKENS
from schemas.procedures import Procedure

Manifest: TypeAlias = dict[str, Any]

IMAGE: Final = "evcore"
"""The image name. Overlays replace it by an image of a registry."""
CONFIG_FILE: Final = "/etc/evcore/evcore.toml"
HOME_NETWORK_FILE: Final = "/etc/evcore-home-network/secrets.json"
NATS_FOLDER: Final = "/etc/evcore-nats"
ALIVE: Final = "/run/evcore/alive"
CLUSTER_FOLDER: Final = "/run/foundationdb"
HTTP_PORT: Final = 8080
"""Knative's default port. The function reads it from $PORT."""
PATIENCE: Final = 15
"""In seconds. A process is restarted if it does not touch its file for this time."""

UNPRIVILEGED: Final[Manifest] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def labels(component: str, name: str) -> dict[str, str]:
    """Return the labels that Services, policies and users select by."""
    return {
        "app.kubernetes.io/name": "evcore",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/instance": name,
    }


class Needs(Struct, frozen=True):
    """The resources that a process needs."""

    store: bool = True
    """The event log, by its cluster file."""
    keys: tuple[str, ...] = ("EVCORE_MASTER_KEY", "EVCORE_TMSI_KEY")
    """Names in the Secret evcore-keys."""
    home_network: bool = False
    """The private keys that decipher SUCIs."""
    roles: tuple[Role, ...] = (Role.WORKER,)
    """The roles on the bus, each with its nkey in a Secret; see `nats_volume`."""
    http_tokens: bool = False
    """The tokens of functions over HTTP, in the Secret evcore-http."""
    writable: bool = True
    """Whether the FoundationDB client may rewrite the cluster file when the coordinators change. An
    init container copies the file for this. Knative allows no init container by default."""


def needs_of(procedures: Sequence[Procedure], *, writable: bool) -> Needs:
    """Return the needs of the functions of some procedures."""
    return Needs(home_network=Procedure.IDENTIFICATION in procedures, writable=writable)


def account_of(needs: Needs) -> str:
    """Return the ServiceAccount for functions with these needs."""
    return "evcore-identification" if needs.home_network else "evcore-function"


def container(name: str, args: Sequence[str], needs: Needs, **rest: Any) -> Manifest:
    """Return a container of the image that runs ``evcore ARGS``."""
    files = ["--config", CONFIG_FILE]
    mounts = [
        {"name": "config", "mountPath": CONFIG_FILE.rpartition("/")[0], "readOnly": True},
        {"name": "nats", "mountPath": NATS_FOLDER, "readOnly": True},
    ]
    if needs.store:
        mounts.append({"name": "foundationdb", "mountPath": CLUSTER_FOLDER})
    if needs.home_network:
        files += ["--secrets", HOME_NETWORK_FILE]
        folder = HOME_NETWORK_FILE.rpartition("/")[0]
        mounts.append({"name": "home-network", "mountPath": folder, "readOnly": True})
    return {
        "name": name,
        "image": IMAGE,
        "args": [*args, *files],
        "env": [
            *(_secret("evcore-keys", key) for key in needs.keys),
            *([_secret("evcore-http", HTTP_TOKENS)] if needs.http_tokens else []),
        ],
        **rest,
        "securityContext": UNPRIVILEGED,
        "volumeMounts": mounts,
    }


def beating(made: Manifest, *, startup: bool = True) -> Manifest:
    """Return the container with probes that check the file which the process touches.

    Without `startup`, there is only a liveness probe, which begins later.
    """
    test = f"test -n \"$(find {ALIVE} -newermt '-{PATIENCE} seconds')\""
    probe = {"exec": {"command": ["sh", "-c", test]}, "timeoutSeconds": 3}
    begin = {"startupProbe": {**probe, "periodSeconds": 1, "failureThreshold": 60}}
    later = {} if startup else {"initialDelaySeconds": 10}
    mount = {"name": "run", "mountPath": ALIVE.rpartition("/")[0]}
    return {
        **made,
        "env": [*made["env"], {"name": "EVCORE_HEARTBEAT", "value": ALIVE}],
        **(begin if startup else {}),
        "livenessProbe": {**probe, **later, "periodSeconds": 10, "failureThreshold": 2},
        "volumeMounts": [*made["volumeMounts"], mount],
    }


def pod(made: Manifest, account: str, needs: Needs) -> Manifest:
    """Return a pod of one container made for the same needs."""
    volumes: list[Manifest] = [
        {"name": "config", "configMap": {"name": "evcore-config"}},
        nats_volume(needs.roles),
    ]
    spec: Manifest = {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if needs.store and needs.writable:
        spec["initContainers"] = [_copy_cluster_file()]
        volumes += [
            {"name": "cluster-file", "configMap": _CLUSTER_FILE},
            {"name": "foundationdb", "emptyDir": {"sizeLimit": "1Mi"}},
        ]
    elif needs.store:
        volumes.append({"name": "foundationdb", "configMap": _CLUSTER_FILE})
    if needs.home_network:
        volumes.append({"name": "home-network", "secret": {"secretName": "evcore-home-network"}})
    if any(mount["name"] == "run" for mount in made["volumeMounts"]):
        volumes.append({"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}})
    return {**spec, "containers": [made], "volumes": volumes}


def nats_volume(roles: Sequence[Role]) -> Manifest:
    """Return the volume with the nkeys of roles, as ``ROLE.nk``, and the CA of the brokers.

    [nats] of the common evcore.toml names its folder; each process takes the file of its role.
    """
    authority = {"name": "nats-tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [{"secret": {"name": nats_secret(role)}} for role in roles]
    return {"name": "nats", "projected": {"sources": [*sources, {"secret": authority}]}}


def nats_secret(role: Role) -> str:
    """Return the name of the Secret with the nkey of a role."""
    return f"evcore-nats-{role}"


_CLUSTER_FILE: Final = {
    "name": "evcore-fdb-config",
    "items": [{"key": "cluster-file", "path": "cluster-file"}],
}
"""The ConfigMap that the operator maintains for the FoundationDBCluster ``evcore-fdb``."""


def _secret(secret: str, name: str) -> Manifest:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}}


def _copy_cluster_file() -> Manifest:
    return {
        "name": "cluster-file",
        "image": IMAGE,
        "command": ["cp", "/etc/foundationdb/cluster-file", f"{CLUSTER_FOLDER}/cluster-file"],
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"memory": "32Mi"},
        },
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            {"name": "cluster-file", "mountPath": "/etc/foundationdb", "readOnly": True},
            {"name": "foundationdb", "mountPath": CLUSTER_FOLDER},
        ],
    }
