"""The table [nats]: the message bus, and how a process connects to it."""

import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from schemas.config.values import ConfigError, Text
from schemas.identity import PARTITIONS, SLOTS


class NatsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [nats]."""

    url: Text = "nats://127.0.0.1:4222"
    """``tls://`` instead of ``nats://`` demands TLS."""
    partitions: Annotated[int, Meta(ge=1, le=SLOTS)] = PARTITIONS
    replicas: Annotated[int, Meta(ge=1, le=5)] = 1
    max_bytes: Annotated[int, Meta(ge=1 << 20)] = 1 << 30
    nkey: str = ""
    """A file with the nkey seed of the process's role, or a folder with ``ROLE.nk`` for each role
    (`eventing.access.roles`). Empty for the environment variable EVCORE_NATS_NKEY, and without it
    for a connection without credentials."""
    ca: str = ""
    """A file with the CA certificates that sign the broker's, in PEM. A CA demands TLS; empty for
    the CAs of the system."""
    cert: str = ""
    """A file with the certificate of this process, in PEM, if the broker asks for one."""
    key: str = ""
    """The private key of `cert`."""
    plaintext: bool = False
    """Whether a connection to another host may be without TLS."""

    @property
    def uses_tls(self) -> bool:
        """Whether connections demand TLS."""
        return bool(self.ca or self.cert) or self.url.startswith("tls://")


def check(nats: NatsConfig) -> None:
    """Check the rules that the types cannot express.

    Raises:
        ConfigError: a connection to another host is without TLS, or the files do not fit.
    """
    if bool(nats.cert) != bool(nats.key):
        raise ConfigError("nats.cert and nats.key go together: one of them is missing")
    if not (nats.uses_tls or nats.plaintext or _is_loopback(nats.url)):
        raise ConfigError(
            f"nats.url {nats.url!r} is another host, and NATS carries identities of UEs: "
            "set nats.ca or a tls:// URL for TLS, or nats.plaintext = true"
        )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url if "://" in url else f"nats://{url}").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
