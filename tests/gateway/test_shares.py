"""The requests that a gNB may have under way, and the reduction that it is asked for."""

from functools import partial
from typing import Any

import pytest

import wire
from gateway.n2 import shares
from gateway.n2.limits import BURST, HANDOVERS, RATE, UE_MESSAGES, NodeLimit, UeLimit
from gateway.n2.routing import N2Route
from gateway.n2.shares import (
    GRACE,
    HELD,
    LIFETIME,
    LONGEST,
    OCTETS,
    OF_ONE,
    OVERHEAD,
    STRANGERS,
    WAITING,
    RequestShare,
    WaitingRoom,
    reductions,
)
from loadgen.gnb import messages as ngap
from loadgen.gnb.messages import GnbConfig
from schemas.procedures import Procedure
from tests.gateway.edge import downlink_nas

STRANGER = N2Route(Procedure.IDENTIFICATION, "conn-1-1", 1)
KNOWN = N2Route(Procedure.SERVICE_REQUEST, "tmsi-01020304", 1)
SWITCHED_OFF = N2Route(Procedure.DEREGISTRATION, "tmsi-01020304", 1)
CIPHERED = wire.ngap_peek(downlink_nas(1, 1, b"\x7e\x02" + bytes(5) + b"\x7e\x00\x42"))
CHALLENGE = wire.ngap_peek(downlink_nas(1, 1, b"\x7e\x00\x56"))
RELEASE = wire.ngap_peek(
    wire.ngap_encode(
        {
            "message": "UEContextReleaseCommand",
            "ies": [
                {"UE-NGAP-IDs": {"uE-NGAP-ID-pair": {"aMF-UE-NGAP-ID": 1, "rAN-UE-NGAP-ID": 1}}},
                {"Cause": {"nas": "normal-release"}},
            ],
        }
    )
)


class Gnb:
    """A gNB's requests, with a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, window: int = 8) -> None:
        monkeypatch.setattr(shares, "WINDOW", window)
        self.now = 100.0
        self.share = RequestShare(WaitingRoom(), lambda: self.now)
        self.connections: list[object] = []

    def offer(self, count: int = 1, route: N2Route = STRANGER, pdu: bytes = b"pdu") -> int:
        """Send requests. Return how many are published at once."""
        found = [object() for _ in range(count)]
        self.connections += found
        return sum(self.share.offer(connection, route, pdu) for connection in found)

    def next(self) -> int:
        """Return how many waiting requests are published now."""
        return sum(1 for _ in iter(self.share.next, None))

    def tell(self, peek: Any, *numbers: int) -> list[bool]:
        return [self.share.told(self.connections[number], peek) for number in numbers]


@pytest.fixture
def gnb(monkeypatch: pytest.MonkeyPatch) -> Gnb:
    return Gnb(monkeypatch)


def test_strangers_that_never_answer_fill_the_share(gnb: Gnb) -> None:
    assert gnb.offer(100) == 8 * STRANGERS
    assert gnb.share.waiting == 94
    assert gnb.tell(CHALLENGE, 0, 1) == [False, False], "a challenge proves nothing"
    assert gnb.next() == 0


def test_known_ues_have_room_that_strangers_have_not(gnb: Gnb) -> None:
    gnb.offer(100)
    assert gnb.offer(5, KNOWN) == 2
    gnb.tell(RELEASE, 0)
    found = gnb.share.next()
    assert found is not None
    assert found.route == KNOWN, "and come before the strangers that wait longer"


@pytest.mark.parametrize(
    ("cause", "first"),
    [
        ("emergency", True),
        ("highPriorityAccess", True),
        ("mt-Access", True),
        ("mo-Signalling", False),
        ("mo-Data", False),
        ("mo-VoiceCall", False),
        ("mo-SMS", False),
        ("mps-PriorityAccess", True),
        ("mcs-PriorityAccess", True),
        ("notAvailable", False),
    ],
)
def test_an_emergency_does_not_wait_behind_strangers(gnb: Gnb, cause: str, first: bool) -> None:
    config = GnbConfig("g", 1)
    place = ngap.location(config, config.plmn)
    pdu = ngap.initial_ue_message(9, bytes(20), place, cause, None, context=True)
    gnb.offer(100)
    assert gnb.offer(1, pdu=pdu) == first


@pytest.mark.parametrize("end", [CIPHERED, RELEASE])
def test_a_proof_or_a_release_makes_room(gnb: Gnb, end: Any) -> None:
    gnb.offer(10)
    assert gnb.tell(end, 0, 1) == [True, True]
    assert gnb.tell(end, 0) == [False]
    assert gnb.next() == 2


def test_honest_ues_do_not_notice(gnb: Gnb) -> None:
    """However many there are, if they prove who they are."""
    for number in range(1000):
        assert gnb.offer() == 1
        gnb.tell(CIPHERED, number)
    assert gnb.share.waiting == gnb.share.unproved == 0


def test_a_request_counts_until_its_ue_gives_up(gnb: Gnb) -> None:
    gnb.offer(6)
    gnb.now += LIFETIME - 0.1
    gnb.offer()
    assert gnb.next() == 0
    gnb.now += 0.1
    assert gnb.next() == 1


def test_what_waits_too_long_is_dropped(gnb: Gnb) -> None:
    gnb.offer(6)
    gnb.now += 6.0
    gnb.offer(5)
    gnb.offer(3, KNOWN)
    gnb.offer(2, SWITCHED_OFF)
    gnb.now += HELD
    assert [gnb.offer(1), gnb.next(), gnb.share.waiting] == [0, 3, 0], "the last one has room"
    assert gnb.share.dropped == 6


def test_a_ue_that_is_switched_off_is_heard_all_the_same(gnb: Gnb) -> None:
    """It does not repeat its DEREGISTRATION REQUEST."""
    gnb.offer(8, KNOWN)
    gnb.offer(1, SWITCHED_OFF)
    gnb.offer(1, KNOWN)
    gnb.now += HELD
    found = gnb.share.next()
    assert found is not None
    assert found.route == SWITCHED_OFF
    assert gnb.share.next() is None
    assert gnb.share.take_dropped() == 1


def test_only_so_many_wait(gnb: Gnb) -> None:
    gnb.offer(WAITING + 100)
    assert gnb.share.waiting == WAITING
    assert gnb.share.take_dropped() == 94
    assert gnb.share.take_dropped() == 0
    gnb.offer(1, KNOWN._replace(procedure=Procedure.REGISTRATION), bytes(1 << 18))
    assert gnb.share.waiting == WAITING


def test_those_of_all_gnbs_that_wait_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gNB has an eighth of it. What a gNB leaves is free for the others."""
    monkeypatch.setattr(shares, "WINDOW", 0)
    room, octets = WaitingRoom(), LONGEST + OVERHEAD
    gnbs = [RequestShare(room, lambda: 100.0) for _ in range(12)]
    for gnb in gnbs:
        for _ in range(2 * OF_ONE // octets):
            gnb.offer(object(), STRANGER, bytes(LONGEST))
    assert [gnb.waiting for gnb in gnbs[:8]] == [OF_ONE // octets] * 8
    assert OCTETS - octets < room.octets <= OCTETS
    before = room.octets
    for gnb in gnbs:
        gnb.forget()
    assert before > room.octets == 0


def test_all_ues_of_a_gnb_may_wait_after_a_power_cut(gnb: Gnb) -> None:
    """Two thousand come at once. Without an answer they would wait for T3510 and T3511, 25 s."""
    gnb.offer(2000, pdu=bytes(200))
    assert gnb.share.dropped == 0
    assert gnb.share.waiting == 1994


def test_a_gnb_that_ignores_overload_start_gains_nothing_by_releases(gnb: Gnb) -> None:
    """The core rejects each of its UEs at once, but that costs too."""
    gnb.share.asked(50)
    gnb.offer(10)
    assert gnb.tell(RELEASE, 0) == [True], "it has had no time to obey"
    gnb.now += GRACE
    assert gnb.tell(RELEASE, 1) == [False]
    assert gnb.tell(CIPHERED, 1) == [True], "but who has proved its identity counts no more"
    gnb.share.asked(0)
    assert gnb.tell(RELEASE, 2) == [True]


def test_a_share_follows_capacity_and_weight(gnb: Gnb) -> None:
    gnb.share.measure(0.5, capacity=50.0, reduction=0, weight=1.0)
    assert gnb.offer(200) == 75
    gnb.share.measure(0.5, capacity=50.0, reduction=0, weight=2.0)
    assert gnb.next() == 75


def test_who_sends_too_many_is_asked_for_a_reduction(gnb: Gnb) -> None:
    found: list[int] = []
    for _ in range(20):
        gnb.offer(500)
        gnb.next()
        gnb.now += 0.5
        gnb.share.measure(0.5, 0.0, found[-1] if found else 0)
        found.append(gnb.share.own_reduction)
        gnb.share.asked(found[-1])
    assert found[0] == 0, "a burst that is over in a moment is no reason"
    assert found[-1] >= 95
    for _ in range(60):
        gnb.now += 0.5
        gnb.next()
        gnb.share.measure(0.5, 0.0, gnb.share.own_reduction)
    assert gnb.share.own_reduction == 0


def test_forgotten_ues_do_not_come_later(gnb: Gnb) -> None:
    gnb.offer(20)
    gnb.share.forget()
    assert (gnb.share.waiting, gnb.share.unproved, gnb.next()) == (0, 0, 0)
    assert gnb.offer(20) == 6


def demands(**rates: float) -> list[tuple[str, RequestShare]]:
    found: list[tuple[str, RequestShare]] = []
    for name, rate in rates.items():
        share = RequestShare(WaitingRoom(), lambda: 0.0)
        share.demand = rate
        found.append((name, share))
    return found


def test_only_the_gnb_that_floods_is_asked() -> None:
    found = demands(hostile=1000.0, a=20.0, b=30.0, idle=0.0)
    assert reductions(found, 150 / 1050, 1050.0) == [90, 0, 0, 0]


def test_a_gnb_within_its_share_of_the_capacity_is_not_asked_to_drain_the_queue() -> None:
    """The core should get 40 requests a second for a moment, of the 150 that it can serve."""
    found = demands(hostile=1000.0, a=50.0)
    assert reductions(found, 40 / 1050, 1050.0, 150.0) == [99, 0]


def test_equal_gnbs_are_asked_for_the_same() -> None:
    assert reductions(demands(a=100.0, b=100.0), 0.5, 200.0) == [50, 50]


def test_a_weight_counts() -> None:
    found = demands(large=100.0, a=100.0)
    assert reductions(found, 0.5, 200.0, 0.0, {"large": 3.0}) == [25, 75]


def test_the_gnbs_of_another_gateway_count_as_one() -> None:
    assert reductions(demands(a=20.0), 150 / 1020, 1020.0) == [0]


def test_without_a_rate_all_are_asked() -> None:
    assert reductions(demands(a=0.0, b=0.0), 0.25, 100.0) == [75, 75]
    assert reductions(demands(a=0.0, b=0.0), 1.0, 100.0) == [0, 0]


@pytest.mark.parametrize("times", [1.0, HANDOVERS])
def test_messages_of_a_node_have_a_bound(times: float) -> None:
    now = 0.0
    limit = NodeLimit(times, lambda: now)
    assert sum(limit.admits() for _ in range(5000)) == BURST * times
    assert limit.dropped == 5000 - BURST * times
    now = 1.0
    assert sum(limit.admits() for _ in range(5000)) == RATE * times
    for _ in range(2000):
        limit.answered()
    found = sum(limit.admits() for _ in range(5000))
    assert found == 2000, "what the core has asked for may be answered"


def test_messages_of_a_ue_have_a_bound() -> None:
    now = 10.0
    limit = UeLimit()
    assert sum(limit.admits(lambda: now) for _ in range(1000)) == UE_MESSAGES
    now = 10.9
    assert not limit.admits(lambda: now)
    now = 11.0
    assert sum(limit.admits(lambda: now) for _ in range(1000)) == UE_MESSAGES


def test_a_ue_below_the_bound_loses_nothing() -> None:
    limit = UeLimit()
    for number in range(1000):
        now = number / (UE_MESSAGES - 1)
        assert limit.admits(partial(float, now))
