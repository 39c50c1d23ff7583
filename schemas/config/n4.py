"""The tables [n4], [[upf]] and [[data_network]] of the configuration."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from schemas.config.values import (
    ConfigError,
    Port,
    Text,
    address_of,
    check_source,
    is_name,
    is_number,
    slice_of,
)
from schemas.network import DataNetwork, UpfNode, UpfPool, UpProtection

PFCP_PORT: Final = 8805
"""TS 29.244 4.2.2."""
LONGEST_DNN: Final = 99
"""Maximum characters of a DNN: its encoding has at most 100 octets (TS 23.003 9.1)."""
LONGEST_PREFIX: Final = 64
"""Bits of the IPv6 prefix that a session gets (TS 23.501 5.8.2.2.3)."""

IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class N4Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [n4]: the PFCP endpoint of the core."""

    host: Text = "127.0.0.1"
    port: Port = PFCP_PORT
    address: str = ""
    """The core's address as UPFs see it, in Node ID and F-SEIDs; `host` if empty."""
    t1: Annotated[float, Meta(gt=0, le=60)] = 1.0
    """Seconds before a request without a response is repeated (TS 29.244 6.4)."""
    n1: Annotated[int, Meta(ge=0, le=10)] = 3
    """Number of repetitions."""
    heartbeat: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    """Seconds between heartbeats (6.2.2)."""
    max_requests: Annotated[int, Meta(ge=1, le=1 << 16)] = 1024
    """Maximum number of pending requests to one UPF. More requests wait in a bounded queue."""
    max_under_way: Annotated[int, Meta(ge=1)] = 8192
    """Maximum number of published events without acknowledgement. Beyond it, requests of UPFs are
    not accepted."""


class DnnConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[upf.dnn]]: the addresses of a data network that are routed to the UPF."""

    name: Text
    ipv4: str = ""
    """As ``"10.45.0.0/16"``."""
    ipv6: str = ""
    """As ``"2001:db8::/48"``."""


class UpfConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[upf]]."""

    node_id: Text
    """An IP address or a domain name, as the UPF sends it (TS 29.244 8.2.38)."""
    host: str = ""
    """The address for requests; the Node ID if empty."""
    port: Port = PFCP_PORT
    slices: Annotated[tuple[str, ...], Meta(max_length=1024)] = ()
    """The slices that it serves, as ``"1-010203"`` or ``"1"``; empty for all slices."""
    capacity: Annotated[int, Meta(ge=0, le=65_535)] = 100
    n3: str = ""
    """Its address on N3, if it does not allocate F-TEIDs (FTUP). The core then allocates them."""
    addresses: Annotated[tuple[str, ...], Meta(max_length=64)] = ()
    """The addresses and networks that it sends from, as ``"10.9.0.7"`` or ``"10.244.0.0/16"``,
    beside that of `host`. The Node ID if empty, provided that it is an address."""
    n3_instance: str = ""
    """The Network Instance of its N3 interface, a domain name or DNN; the DNN of each session if
    empty."""
    dnn: Annotated[tuple[DnnConfig, ...], Meta(max_length=1024)] = ()


class DataNetworkConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[data_network]]: the configuration that UEs are sent."""

    name: Text
    dns: Annotated[tuple[str, ...], Meta(max_length=8)] = ()
    p_cscf: Annotated[tuple[str, ...], Meta(max_length=8)] = ()
    """Addresses of P-CSCFs, for IMS."""
    mtu: Annotated[int, Meta(ge=1280, le=65_535)] | None = None
    up_integrity: UpProtection = ""
    """The policy for the integrity protection of user data; empty to let the gNB decide."""
    up_confidentiality: UpProtection = ""
    """The policy for the encryption of user data; empty to let the gNB decide."""


def advertised(n4: N4Config) -> str:
    """Return the core's own address on N4."""
    return address_of(n4.address or n4.host)


def node_id_of(text: str) -> str:
    """Return a Node ID in its canonical form."""
    return address_of(text) or text.lower().removesuffix(".")


def upf_node(upf: UpfConfig) -> UpfNode:
    """Return a UPF as procedures see it."""
    return UpfNode(
        node_id=node_id_of(upf.node_id),
        pools=tuple(UpfPool(d.name, _written(d.ipv4), _written(d.ipv6)) for d in upf.dnn),
        slices=tuple(map(slice_of, upf.slices)),
        capacity=upf.capacity,
        n3=address_of(upf.n3),
        n3_instance=upf.n3_instance,
    )


def _written(network: str) -> str:
    return str(ipaddress.ip_network(network)) if network else ""


def data_network(network: DataNetworkConfig) -> DataNetwork:
    """Return a data network as procedures see it."""
    return DataNetwork(
        network.name,
        tuple(map(address_of, network.dns)),
        network.mtu or 0,
        tuple(map(address_of, network.p_cscf)),
        network.up_integrity,
        network.up_confidentiality,
    )


def check(
    n4: N4Config, upfs: tuple[UpfConfig, ...], networks: tuple[DataNetworkConfig, ...]
) -> None:
    """Check the rules that the types cannot express.

    Raises:
        ConfigError: the tables contradict themselves or each other.
    """
    if n4.address and not address_of(n4.address):
        raise ConfigError(f"n4.address {n4.address!r} is not an IP address")
    own = advertised(n4)
    if upfs and not (own and not ipaddress.ip_address(own).is_unspecified):
        raise ConfigError(
            f"n4.address must be set: UPFs cannot send to n4.host, which is {n4.host!r}"
        )
    _check_nodes(upfs)
    pools: defaultdict[tuple[str, int], list[tuple[IpNetwork, str]]] = defaultdict(list)
    for upf in upfs:
        for dnn, network in _pools(upf):
            taken = pools[dnn.lower(), network.version]
            for other, node_id in taken:
                if network.overlaps(other):
                    raise ConfigError(
                        f"{network} of {dnn} at upf {upf.node_id} overlaps {other} at {node_id}"
                    )
            taken.append((network, upf.node_id))
    seen: set[str] = set()
    for one in networks:
        _check_network(one)
        if one.name.lower() in seen:
            raise ConfigError(f"data_network {one.name} is configured twice")
        seen.add(one.name.lower())


def _check_nodes(upfs: tuple[UpfConfig, ...]) -> None:
    nodes: set[str] = set()
    places: dict[tuple[str, int], str] = {}
    for upf in upfs:
        node_id = node_id_of(upf.node_id)
        if not (address_of(node_id) or is_name(node_id)):
            raise ConfigError(
                f"upf.node_id {upf.node_id!r} is neither an IP address nor a domain name"
            )
        if node_id in nodes:
            raise ConfigError(f"two UPFs have the node_id {upf.node_id}")
        nodes.add(node_id)
        host = upf.host or node_id
        place = (address_of(host) or host.lower(), upf.port)
        if place in places:
            raise ConfigError(
                f"the UPFs {places[place]} and {upf.node_id} are both at {host}, port {upf.port}"
            )
        places[place] = upf.node_id
        n3 = address_of(upf.n3)
        if upf.n3 and not (n3 and not ipaddress.ip_address(n3).is_unspecified):
            raise ConfigError(f"upf {upf.node_id}: n3 {upf.n3!r} is not an IP address of a host")
        if upf.n3_instance and not is_name(upf.n3_instance, LONGEST_DNN):
            raise ConfigError(
                f"upf {upf.node_id}: n3_instance {upf.n3_instance!r} is neither a domain name nor "
                "a DNN"
            )
        for text in upf.slices:
            slice_of(text)
        for text in upf.addresses:
            check_source(f"upf {upf.node_id}: addresses has", text)


def _pools(upf: UpfConfig) -> Iterator[tuple[str, IpNetwork]]:
    """Return the networks of a UPF's pools, each with its DNN."""
    seen: set[str] = set()
    for dnn in upf.dnn:
        where = f"upf {upf.node_id}, dnn {dnn.name}"
        if not is_name(dnn.name, LONGEST_DNN):
            raise ConfigError(f"upf {upf.node_id}: {dnn.name!r} is not a DNN")
        if dnn.name.lower() in seen:
            raise ConfigError(f"{where} is configured twice")
        seen.add(dnn.name.lower())
        if not (dnn.ipv4 or dnn.ipv6):
            raise ConfigError(f"{where} has neither ipv4 nor ipv6")
        if dnn.ipv4:
            yield dnn.name, _network(where, "ipv4", dnn.ipv4)
        if dnn.ipv6:
            network = _network(where, "ipv6", dnn.ipv6)
            if network.prefixlen > LONGEST_PREFIX:
                raise ConfigError(f"{where}: {dnn.ipv6} is too small for a /{LONGEST_PREFIX}")
            yield dnn.name, network


def _network(where: str, version: str, text: str) -> IpNetwork:
    kind = ipaddress.IPv4Network if version == "ipv4" else ipaddress.IPv6Network
    try:
        network = kind(text, strict=False)
    except ValueError:
        network = None
    if network is None or not is_number(text.partition("/")[2]):
        example = "10.45.0.0/16" if version == "ipv4" else "2001:db8::/48"
        raise ConfigError(f'{where}: {version} {text!r} is not a network such as "{example}"')
    if kind(text.partition("/")[0]).network_address != network.network_address:
        raise ConfigError(f"{where}: {text} has host bits set; the network is {network}")
    return network


def _check_network(one: DataNetworkConfig) -> None:
    if not is_name(one.name, LONGEST_DNN):
        raise ConfigError(f"data_network.name {one.name!r} is not a DNN")
    for key, addresses in (("dns", one.dns), ("p_cscf", one.p_cscf)):
        for text in addresses:
            if not address_of(text):
                raise ConfigError(f"data_network {one.name}: {key} {text!r} is not an IP address")
