"""The UPFs that a gateway serves."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final, TypeAlias

from gateway.n4.endpoint import Address
from gateway.n4.path import LoadControl, Path
from gateway.n4.rate import Bucket, Rate
from gateway.n4.requests import Requests
from schemas.config.n4 import UpfConfig, node_id_of
from schemas.config.values import address_of
from schemas.identity import slot_of

NODE_REQUESTS: Final = Rate(5, 20)
"""Requests of a UPF about its association: a second, and at once. A UPF sends few, and repeats
them."""
REPORTS: Final = Rate(1000, 4000)
"""Its requests about sessions, likewise."""
UNMATCHED: Final = Rate(50, 2000)
"""Responses without a request that say that a session was established, likewise: a UPF that was
stopped for a minute sends many."""

IpNetwork: TypeAlias = IPv4Network | IPv6Network


class UpfPeer:
    """A UPF."""

    requests: Requests
    path: Path

    def __init__(self, upf: UpfConfig) -> None:
        """The gateway adds `requests` and `path`."""
        self.node_id = node_id_of(upf.node_id)
        self.host = upf.host or self.node_id
        self.port = upf.port
        self.address: Address | None = None
        """The destination of requests; None while the host has no address."""
        sources = upf.addresses or (self.node_id,) * bool(address_of(self.node_id))
        self.networks: tuple[IpNetwork, ...] = tuple(map(ip_network, sources))
        """The networks that it sends from, beside `address`."""
        self.load = LoadControl()
        self.key = f"upf/{self.node_id}"
        """The partition key of its events: the name of its aggregate."""
        self.slot = slot_of(self.node_id)
        self.source = f"/n4/{self.node_id}"
        """The `source` attribute of its events."""
        self.sources = [self.source]
        """`source`, and the `source` attributes of messages that it or another UPF has sent."""
        self.node_requests = Bucket(NODE_REQUESTS)
        self.reports = Bucket(REPORTS)
        self.unmatched = Bucket(UNMATCHED)
