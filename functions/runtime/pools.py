"""Address pools as arithmetic: which addresses a pool has, in which blocks, under which keys."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from schemas.network import Network
from schemas.ue.index import address_index_key

BLOCK: Final = 256
"""Neighbours that are looked up together: a /24 of addresses, or a /56 of /64 prefixes."""

_PREFIX_BITS: Final = 64
"""The length of the IPv6 prefix of a UE (TS 23.501 5.8.2.2.3)."""


class Pool:
    """The addresses of one IP version that a UPF has for a data network.

    An address is known by its number: that of the IPv4 address, or the upper 64 bits of the IPv6
    prefix. Those of one block differ in the last octet.
    """

    __slots__ = ("_first_block", "blocks", "dnn", "first", "last", "upf", "version")

    def __init__(self, upf: str, dnn: str, network: str) -> None:
        """Raises ValueError for what is no network."""
        found = ip_network(network, strict=False)
        self.upf = upf
        self.dnn = dnn
        self.version = found.version
        self.first, self.last = _usable(found)
        self._first_block = self.first // BLOCK
        self.blocks = max(0, self.last // BLOCK - self._first_block + 1) if self.size else 0
        """How many blocks there are, the first and the last perhaps in part."""

    @property
    def size(self) -> int:
        """How many addresses there are."""
        return max(0, self.last - self.first + 1)

    def block_of(self, number: int) -> int | None:
        """The block of an address, None for one of another pool."""
        return number // BLOCK - self._first_block if self.first <= number <= self.last else None

    def numbers(self, block: int) -> range:
        """The addresses of a block."""
        start = (self._first_block + block) * BLOCK
        return range(max(start, self.first), min(start + BLOCK - 1, self.last) + 1)

    def text(self, number: int) -> str:
        """An address as text: ``"10.45.0.2"``, or the prefix as ``"2001:db8:0:7::"``."""
        if self.version == 4:
            return str(IPv4Address(number))
        return str(IPv6Address(number << _PREFIX_BITS))

    def key(self, number: int) -> str:
        """The key of an address in the index."""
        return address_index_key(self.dnn, self.text(number))

    def scan_prefix(self, block: int) -> str:
        """How the keys of all addresses of a block begin, and of no other of this IP version."""
        start = (self._first_block + block) * BLOCK
        digits = 8 if self.version == 4 else 16
        return f"{self.dnn}/{start:0{digits}x}"[:-2]

    def number_of(self, key: str) -> int | None:
        """The address of a key of the index, None for that of another pool."""
        dnn, _, packed = key.rpartition("/")
        if dnn != self.dnn or len(packed) != (8 if self.version == 4 else 32):
            return None
        number = int(packed if self.version == 4 else packed[:16], 16)
        return number if self.block_of(number) is not None else None

    def preference(self, partition: int, partitions: int) -> Iterator[int]:
        """All blocks, in the order in which a partition takes from them.

        Each partition has blocks of its own, every `partitions`-th; those of its neighbours come
        after them. So partitions meet only where one has filled its share, and the order of a
        pool of any size is known without making a list of it.
        """
        for distance in range(partitions):
            yield from range((partition + distance) % partitions, self.blocks, partitions)


def pools_of(network: Network) -> dict[tuple[str, str, int], Pool]:
    """The pools of a network by Node ID, DNN and IP version."""
    found: dict[tuple[str, str, int], Pool] = {}
    for upf in network.upfs:
        for pool in upf.pools:
            for cidr in (pool.ipv4, pool.ipv6):
                if cidr:
                    made = Pool(upf.node_id, pool.dnn, cidr)
                    found[upf.node_id, pool.dnn, made.version] = made
    return found


def _usable(network: IPv4Network | IPv6Network) -> tuple[int, int]:
    """The first and the last address that a UE may have; the last is before the first for none.

    Of IPv4, not the network's, the UPF's own, which is the first of a host, nor the broadcast
    address. Of IPv6, not the first of several prefixes, which is the UPF's own.
    """
    first, last = int(network.network_address), int(network.broadcast_address)
    if isinstance(network, IPv4Network):
        return first + 2, last - 1
    if network.prefixlen > _PREFIX_BITS:
        return 1, 0
    first, last = first >> _PREFIX_BITS, last >> _PREFIX_BITS
    return (first + 1 if last > first else first), last
