"""Who gets a place for an association, who gives way, and who must end."""

from itertools import count

import pytest

from gateway.n2.admission import ANSWER_WITHIN, REFUSALS, Admission, Places, host_of

A, B, C = "192.0.2.1", "192.0.2.2", "2001:db8::1"


class Site:
    """Admits associations at time `now`."""

    def __init__(self, **places: float) -> None:
        self.admission = Admission(Places(**places))  # type: ignore[arg-type]
        self.now = 100.0
        self._numbers = count()

    def admit(self, address: str, number: int = 1, *, set_up: bool = False) -> list[str]:
        """Return the names of the admitted associations."""
        names: list[str] = []
        for _ in range(number):
            name = f"{address}-{next(self._numbers)}"
            refusal, leaves = self.admission.admit(name, address, self.now)
            if leaves:
                self.admission.left(leaves)
            if refusal:
                continue
            names.append(name)
            if set_up:
                self.admission.asked(name, self.now)
                self.admission.accepted(name)
        return names


def test_one_address_has_a_share() -> None:
    site = Site(max_associations=100, max_per_address=20)
    assert len(site.admit(A, 100, set_up=True)) == 20
    assert len(site.admit(B, 100, set_up=True)) == 20


def test_half_of_the_share_may_be_without_ng_setup() -> None:
    site = Site(max_associations=100, max_per_address=20)
    assert len(site.admit(A, 100)) == 10
    assert len(site.admit(B, 100)) == 10


def test_ipv6_hosts_share_by_their_network() -> None:
    site = Site(max_associations=100, max_per_address=20)
    names = [name for n in range(100) for name in site.admit(f"2001:db8::{n:x}")]
    assert len(names) == 10
    assert site.admit("2001:db8:0:1::1")
    assert host_of("::ffff:192.0.2.1") == A


def test_places_are_kept_for_addresses_with_a_setup_before() -> None:
    site = Site(max_associations=40, max_per_address=40)
    (gnb,) = site.admit(A, set_up=True)
    site.admission.left(gnb)
    strangers = [site.admit(f"198.51.100.{n}") for n in range(100)]
    assert sum(map(len, strangers)) == 30
    assert site.admit("203.0.113.1") == []
    assert len(site.admit(A, 10, set_up=True)) == 10


def test_a_stranger_without_setup_gives_way() -> None:
    site = Site(max_associations=4, max_per_address=4)
    (gnb,) = site.admit(A, set_up=True)
    site.admit(B, 2, set_up=True)
    (stranger,) = site.admit("198.51.100.1")
    site.admission.left(gnb)
    (other,) = site.admit("198.51.100.2")
    refusal, leaves = site.admission.admit("back", A, site.now)
    assert (refusal, leaves) == ("", stranger)
    assert stranger != other


def test_the_largest_host_gives_way_if_all_are_set_up() -> None:
    site = Site(max_associations=4, max_per_address=4)
    (gnb,) = site.admit(A, set_up=True)
    site.admission.left(gnb)
    hostile = site.admit(B, 4, set_up=True)
    refusal, leaves = site.admission.admit("back", A, site.now)
    assert (refusal, leaves) == ("", hostile[-1])
    site.admission.left(leaves)
    assert site.admission.admit("more", A, site.now) == ("", hostile[-2])
    site.admission.left(hostile[-2])
    # Both hosts have two: no host gives way.
    refusal, leaves = site.admission.admit("again", A, site.now)
    assert refusal
    assert not leaves


def test_configured_addresses_are_known_from_the_start() -> None:
    site = Site(max_associations=8, max_per_address=8)
    places = Places(
        max_associations=8, gnbs={"gnb": (), "other": ("192.0.2.0/24", "2001:db8::/32")}
    )
    site.admission = Admission(places)
    for n in range(20):
        site.admit(f"198.51.100.{n}")
    assert len(site.admit(A, 2)) == len(site.admit(C, 1)) + 1 == 2
    site.admit(B, 5)
    assert len(site.admit("::ffff:192.0.2.9")) == 1


def test_a_full_core_refuses_strangers() -> None:
    site = Site(max_associations=4, max_per_address=4)
    site.admit(A, 4, set_up=True)
    assert site.admit(B) == []


def test_an_association_without_setup_ends() -> None:
    site = Site(setup_within=5.0)
    (idle,) = site.admit(A)
    (ready,) = site.admit(A, set_up=True)
    (asked,) = site.admit(A)
    site.admission.asked(asked, site.now + 4)
    assert site.admission.overdue(site.now + 4.9) == []
    assert site.admission.overdue(site.now + 5) == [idle]
    assert site.admission.overdue(site.now + 4 + ANSWER_WITHIN) == [idle, asked]
    assert ready not in site.admission.overdue(site.now + 1e6)


def test_a_refused_gnb_may_repeat_some_times() -> None:
    """A gNB waits for the Time to Wait before it repeats (TS 38.413 8.7.1.3)."""
    site = Site(setup_within=5.0)
    (gnb,) = site.admit(A)
    now = site.now
    for _ in range(REFUSALS):
        site.admission.asked(gnb, now)
        site.admission.refused(gnb, now)
        now += 60
        assert site.admission.overdue(now) == []
    site.admission.refused(gnb, now)
    assert site.admission.overdue(now + 10) == [gnb]


def test_the_time_does_not_count_while_nothing_is_read() -> None:
    site = Site(setup_within=5.0)
    (gnb,) = site.admit(A)
    site.admission.postpone(100)
    assert site.admission.overdue(site.now + 50) == []
    assert site.admission.overdue(site.now + 106) == [gnb]


@pytest.mark.parametrize("places", [1, 2, 3])
def test_the_smallest_cores_still_take_a_gnb(places: int) -> None:
    site = Site(max_associations=places, max_per_address=1)
    assert site.admit(A, set_up=True)
