"""Connections to the bus as a role, with the key, the inboxes and the TLS settings of it."""

import os
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from nats.aio.client import Client

from eventing.access import keys
from eventing.access.roles import Role, inbox
from eventing.jetstream.connection import connected
from schemas.config.nats import NatsConfig
from schemas.config.values import ConfigError

NKEY: Final = "EVCORE_NATS_NKEY"
"""Environment variable: the same as ``nkey`` of [nats], which has priority."""


@asynccontextmanager
async def connected_as(role: Role, bus: NatsConfig, name: str) -> AsyncGenerator[Client]:
    """Connect to NATS as a role for the length of a block; see `eventing.jetstream.connection`.

    Without an nkey the connection has no credentials.

    Raises:
        ConfigError: the key or a file for TLS cannot be used.
        BusError: NATS cannot be reached, or refuses the key.
    """
    async with connected(bus.url, name, **options(role, bus)) as client:
        yield client


def options(role: Role, bus: NatsConfig) -> dict[str, Any]:
    """Return the options of nats-py for a connection as a role.

    Raises:
        ConfigError: the key or a file for TLS cannot be used.
    """
    made: dict[str, Any] = {"inbox_prefix": inbox(role)}
    if nkey := bus.nkey or os.environ.get(NKEY, ""):
        path = keys.file_of(Path(nkey), role)
        keys.public_key(path)
        made["nkeys_seed"] = str(path)
    if bus.uses_tls:
        made["tls"] = _tls(bus)
    return made


def _tls(bus: NatsConfig) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=bus.ca or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if bus.cert:
            context.load_cert_chain(bus.cert, bus.key)
    except (OSError, ssl.SSLError) as err:
        files = ", ".join(one for one in (bus.ca, bus.cert, bus.key) if one)
        reason = err.strerror or err
        raise ConfigError(f"TLS for NATS: {files} cannot be used: {reason}") from None
    return context
