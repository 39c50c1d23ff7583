"""The arithmetic of address pools."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.runtime.pools import BLOCK, Pool, pools_of
from schemas.ue.index import address_index_key
from tests.functions.world import N4_NETWORK


@pytest.mark.parametrize(
    ("network", "size", "blocks", "first", "last"),
    [
        ("10.45.0.0/30", 1, 1, "10.45.0.2", "10.45.0.2"),
        ("10.45.0.0/31", 0, 0, "", ""),
        ("10.45.0.1/32", 0, 0, "", ""),
        ("10.45.0.0/24", 253, 1, "10.45.0.2", "10.45.0.254"),
        ("10.45.0.9/24", 253, 1, "10.45.0.2", "10.45.0.254"),
        ("10.45.0.128/25", 125, 1, "10.45.0.130", "10.45.0.254"),
        ("10.45.0.0/16", 65_533, 256, "10.45.0.2", "10.45.255.254"),
        ("10.0.0.0/8", (1 << 24) - 3, 1 << 16, "10.0.0.2", "10.255.255.254"),
        ("2001:db8:1:7::/64", 1, 1, "2001:db8:1:7::", "2001:db8:1:7::"),
        ("2001:db8:1::/48", 65_535, 256, "2001:db8:1:1::", "2001:db8:1:ffff::"),
        ("2001:db8:1:ff00::/56", 255, 1, "2001:db8:1:ff01::", "2001:db8:1:ffff::"),
        ("2001:db8::/32", (1 << 32) - 1, 1 << 24, "2001:db8:0:1::", "2001:db8:ffff:ffff::"),
        ("2001:db8::/72", 0, 0, "", ""),
    ],
)
def test_what_a_pool_has(network: str, size: int, blocks: int, first: str, last: str) -> None:
    pool = Pool("upf-1", "internet", network)
    assert (pool.size, pool.blocks) == (size, blocks)
    if size:
        assert (pool.text(pool.first), pool.text(pool.last)) == (first, last)
        assert pool.numbers(0)[0] == pool.first
        assert pool.numbers(blocks - 1)[-1] == pool.last


@given(st.data())
def test_an_address_is_in_one_block_and_found_by_its_key(data: st.DataObject) -> None:
    network = data.draw(st.sampled_from(["10.45.0.64/26", "10.44.0.0/14", "2001:db8:1::/48"]))
    pool, other = Pool("u", "internet", network), Pool("u", "ims", network)
    number = data.draw(st.integers(pool.first, pool.last))
    block = pool.block_of(number)
    assert block is not None
    assert number in pool.numbers(block)
    assert len(pool.numbers(block)) <= BLOCK
    key = pool.key(number)
    assert key == address_index_key("internet", pool.text(number))
    assert key.startswith(pool.scan_prefix(block))
    near = data.draw(st.integers(0, pool.blocks - 1))
    assert key.startswith(pool.scan_prefix(near)) is (near == block)
    assert (pool.number_of(key), other.number_of(key)) == (number, None)
    wide = IPv4Address if pool.version == 4 else IPv6Address
    assert wide(pool.text(number)) in ip_network(network)


@pytest.mark.parametrize("network", ["10.45.0.0/24", "2001:db8:1::/48"])
def test_the_case_of_a_dnn_makes_no_other_pool(network: str) -> None:
    """TS 23.003 9.1: a session has the DNN as its subscription writes it."""
    pool = Pool("u", "Internet", network)
    key = address_index_key("INTERNET", pool.text(pool.first))
    assert (pool.key(pool.first), pool.number_of(key)) == (key, pool.first)
    assert key.startswith(pool.scan_prefix(0))


@pytest.mark.parametrize("key", ["internet/0a2d0000", "internet/0a2dffff", "internet/0a2d00", "x"])
def test_a_key_of_no_address_of_the_pool(key: str) -> None:
    assert Pool("u", "internet", "10.45.0.0/16").number_of(key) is None


@given(st.integers(1, 40), st.integers(1, 16), st.data())
def test_partitions_prefer_blocks_of_their_own_and_come_to_all(
    blocks: int, partitions: int, data: st.DataObject
) -> None:
    pool = Pool("u", "internet", "10.0.0.0/8")
    pool.blocks = blocks
    orders = [list(pool.preference(p, partitions)) for p in range(partitions)]
    assert all(sorted(order) == list(range(blocks)) for order in orders)
    share = blocks // partitions
    own = [block for order in orders for block in order[:share]]
    assert len(own) == len(set(own))
    del data


def test_the_pools_of_a_network() -> None:
    found = pools_of(N4_NETWORK)
    assert sorted(found) == [
        ("10.9.0.1", "internet", 4),
        ("10.9.0.1", "internet", 6),
        ("upf-2.example", "ims", 4),
        ("upf-2.example", "internet", 4),
    ]
