"""How often identities may be claimed, and who may replace a live association."""

from gateway.n2.identities import BURST, HOUR, PAUSE, REMEMBERED, Identities

A, B = "192.0.2.1", "192.0.2.2"


def test_new_identities_of_one_host_are_bounded() -> None:
    identities = Identities(100)
    claims = [identities.too_many(f"gnb-{n}", A, 0.0) for n in range(1_000)]
    assert claims.count("") == 100
    assert identities.too_many("gnb-0", B, 0.0) == ""
    assert identities.too_many("gnb-1000", A, HOUR / 100) == ""


def test_repetitions_are_bounded() -> None:
    identities = Identities(100)
    claims = [identities.too_many("gnb", A, 0.0) for _ in range(1_000)]
    assert claims.count("") == BURST
    # Another host does not use up the attempts of the gNB.
    assert identities.too_many("gnb", B, 0.0) == ""
    assert identities.too_many("gnb", A, PAUSE) == ""


def test_only_the_same_address_or_an_earlier_owner_replaces_a_live_association() -> None:
    identities = Identities(100)
    assert identities.may_replace("gnb", A, A)
    assert not identities.may_replace("gnb", B, A)
    identities.owned("gnb", A)
    assert not identities.may_replace("gnb", B, A)
    identities.owned("gnb", B)
    assert identities.may_replace("gnb", A, B)
    assert not identities.may_replace("gnb", B, A)
    assert not identities.may_replace("gnb-2", A, B)


def test_memory_is_bounded() -> None:
    identities = Identities(1 << 30)
    for n in range(100_000):
        identities.too_many(f"gnb-{n}", f"host-{n}", 0.0)
        identities.owned(f"gnb-{n}", f"host-{n}")
    assert identities.remembered <= 3 * REMEMBERED
