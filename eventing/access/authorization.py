"""The configuration of nats-server that lets each role do what `eventing.access.roles` allows."""

import json
from collections.abc import Mapping
from typing import Any, Final

from eventing.access.roles import Role, permissions

TIMEOUT: Final = 5.0
"""Seconds for a client to prove its key. Processes of a busy machine take longer than nats-server's
default of two seconds."""


def authorization(public_keys: Mapping[Role, str]) -> dict[str, Any]:
    """Return the block ``authorization`` of nats-server, with one user for each role.

    A connection without a key is refused. No user is of the account ``$SYS``.
    """
    return {"timeout": TIMEOUT, "users": [_user(role, key) for role, key in public_keys.items()]}


def configuration(public_keys: Mapping[Role, str]) -> str:
    """Return the block ``authorization`` as text for the configuration file of nats-server."""
    return f"authorization: {json.dumps(authorization(public_keys), indent=2)}\n"


def helm_values(public_keys: Mapping[Role, str]) -> dict[str, Any]:
    """Return values of NATS's Helm chart with the block ``authorization``."""
    return {"config": {"merge": {"authorization": authorization(public_keys)}}}


def _user(role: Role, key: str) -> dict[str, Any]:
    allowed = permissions(role)
    return {
        "nkey": key,
        "permissions": {
            "publish": {"allow": list(allowed.publish)},
            "subscribe": {"allow": list(allowed.subscribe)},
        },
    }
