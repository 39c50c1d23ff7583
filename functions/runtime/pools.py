"""Address pools: the addresses of a pool, its blocks, and their index keys."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from schemas.network import Network
from schemas.ue.index import address_index_key

BLOCK: Final = 256
"""Number of adjacent addresses in a block: a /24 of addresses, or a /56 of /64 prefixes."""

_PREFIX_BITS: Final = 64
"""The length of the IPv6 prefix of a UE (TS 23.501 5.8.2.2.3)."""


class Pool:
    """The addresses of one IP version that a UPF has for a data network.

    An address is represented by a number: the IPv4 address, or the upper 64 bits of the IPv6
    prefix. The addresses of one block differ in the last octet.
    """

    __slots__ = ("_first_block", "blocks", "dnn", "first", "last", "upf", "version")

    def __init__(self, upf: str, dnn: str, network: str) -> None:
        """Create a pool.

        Raises:
            ValueError: the text is not an IP network.
        """
        found = ip_network(network, strict=False)
        self.upf = upf
        self.dnn = dnn.lower()
        self.version = found.version
        self.first, self.last = _usable(found)
        self._first_block = self.first // BLOCK
        self.blocks = max(0, self.last // BLOCK - self._first_block + 1) if self.size else 0
        """The number of blocks. The first and the last may be incomplete."""

    @property
    def size(self) -> int:
        """The number of addresses."""
        return max(0, self.last - self.first + 1)

    def block_of(self, number: int) -> int | None:
        """Return the block of an address; None if it is not in this pool."""
        return number // BLOCK - self._first_block if self.first <= number <= self.last else None

    def numbers(self, block: int) -> range:
        """Return the addresses of a block."""
        start = (self._first_block + block) * BLOCK
        return range(max(start, self.first), min(start + BLOCK - 1, self.last) + 1)

    def text(self, number: int) -> str:
        """Return an address as text: ``"10.45.0.2"``, or the prefix as ``"2001:db8:0:7::"``."""
        if self.version == 4:
            return str(IPv4Address(number))
        return str(IPv6Address(number << _PREFIX_BITS))

    def key(self, number: int) -> str:
        """Return the index key of an address."""
        return address_index_key(self.dnn, self.text(number))

    def scan_prefix(self, block: int) -> str:
        """Return the key prefix of exactly the addresses of a block, for this IP version."""
        start = (self._first_block + block) * BLOCK
        digits = 8 if self.version == 4 else 16
        return f"{self.dnn}/{start:0{digits}x}"[:-2]

    def number_of(self, key: str) -> int | None:
        """Return the address of an index key; None if it is not in this pool."""
        dnn, _, packed = key.rpartition("/")
        if dnn != self.dnn or len(packed) != (8 if self.version == 4 else 32):
            return None
        number = int(packed if self.version == 4 else packed[:16], 16)
        return number if self.block_of(number) is not None else None

    def preference(self, partition: int, partitions: int) -> Iterator[int]:
        """Yield all blocks, in the order in which a partition uses them.

        Each partition has its own blocks, every `partitions`-th one. The blocks of other partitions
        follow. So partitions share a block only if one has filled its own. The order needs no list
        of all blocks.
        """
        for distance in range(partitions):
            yield from range((partition + distance) % partitions, self.blocks, partitions)


def pools_of(network: Network) -> dict[tuple[str, str, int], Pool]:
    """Return the pools of a network by Node ID, DNN and IP version."""
    found: dict[tuple[str, str, int], Pool] = {}
    for upf in network.upfs:
        for pool in upf.pools:
            for cidr in (pool.ipv4, pool.ipv6):
                if cidr:
                    made = Pool(upf.node_id, pool.dnn, cidr)
                    found[upf.node_id, pool.dnn, made.version] = made
    return found


def _usable(network: IPv4Network | IPv6Network) -> tuple[int, int]:
    """Return the first and the last address for UEs; last < first if there is none.

    IPv4: without the network address, the UPF's own address (the first host) and the broadcast
    address. IPv6: without the UPF's own prefix, which is the first of several.
    """
    first, last = int(network.network_address), int(network.broadcast_address)
    if isinstance(network, IPv4Network):
        return first + 2, last - 1
    if network.prefixlen > _PREFIX_BITS:
        return 1, 0
    first, last = first >> _PREFIX_BITS, last >> _PREFIX_BITS
    return (first + 1 if last > first else first), last
