"""The UE connections that a gateway counts messages of."""

from typing import cast

from gateway.n2.peer import GnbPeer, bound_connections
from gateway.n2.shares import WaitingRoom
from transport import Association


def peer(name: str, connections: int) -> GnbPeer:
    made = GnbPeer(name, cast(Association, None), WaitingRoom())
    for number in range(connections):
        made.opened(number)
    return made


def test_a_flood_of_one_gnb_costs_no_other_its_connections() -> None:
    honest, hostile = peer("1", 100), peer("2", 5_000)
    bound_connections([honest, hostile], 1_000)
    assert len(honest.connections) == 100
    assert 400 < len(hostile.connections) <= 900
    # The newest stay.
    assert max(hostile.connections) == 4_999


def test_connections_within_the_bound_stay() -> None:
    peers = [peer(str(number), 100) for number in range(10)]
    bound_connections(peers, 1_000)
    assert [len(one.connections) for one in peers] == [100] * 10
