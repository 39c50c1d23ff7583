"""5G-AKA from the UE's side (TS 24.501 5.4.1.3)."""

from itertools import pairwise
from typing import Any

import pytest

import wire
from tests.functions.phone import Phone
from tests.functions.world import World, subscriber

MESSAGE = "message-type"


def test_a_synch_failure_is_re_synchronised_once() -> None:
    world = World()
    phone = Phone(world)
    phone.sqn = 10_000_000
    phone.initial(wire.nas_encode(phone.request()))

    phone.say(phone.synch_failure(phone.hear()[-1]), 0)
    assert world.ue().sqn > phone.sqn
    phone.authenticate()
    phone.secure(phone.request())
    assert world.ue().registered

    again = World()
    phone = Phone(again)
    phone.sqn = 10_000_000
    phone.initial(wire.nas_encode(phone.request()))
    for _ in range(2):
        phone.say(phone.synch_failure(phone.hear()[-1]), 0)
    assert [m[MESSAGE] for m in phone.hear()][-2:] == [
        "authentication-reject",
        "UEContextReleaseCommand",
    ]
    again.verify()


def test_a_forged_auts_is_no_re_synchronisation() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    failure = {
        MESSAGE: "authentication-failure",
        "5gmm-cause": "synch-failure",
        "authentication-failure-parameter": {"octets": "00" * 14},
    }
    phone.say(failure, 0)
    assert phone.hear()[-2][MESSAGE] == "authentication-reject"


def test_ngksi_in_use_gets_the_same_challenge_under_another() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    first = phone.hear()[-1]
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"}, 0)
    second = phone.hear()[-1]
    rand = "authentication-parameter-rand"
    assert second[rand] == first[rand]
    assert second["ngksi"] != first["ngksi"]
    phone.say(phone.answer(second), 0)
    phone.secure(phone.request())
    assert world.ue().registered
    world.verify()


@pytest.mark.parametrize("cause", ["mac-failure", "non-5g-authentication-unacceptable"])
def test_a_mac_failure_of_a_suci_is_rejected(cause: str) -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": cause}, 0)
    assert [m[MESSAGE] for m in phone.hear()] == [
        "authentication-reject",
        "UEContextReleaseCommand",
    ]
    assert not world.ue().registered


def test_a_mac_failure_of_a_guti_asks_who_it_is() -> None:
    """5.4.1.3.7 c): another UE may have the 5G-GUTI; its SUCI leads to the right keys."""
    world = World(subscriber(1), subscriber(2, k=bytes(16)))
    mine = Phone(world, 1)
    mine.register()
    mine.idle()
    other = Phone(world, 2)
    other.k, other.guti = bytes(16), mine.guti
    other.initial(wire.nas_encode(other.request()))
    other.hear()
    other.say({MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}, 0)
    assert other.hear()[-1][MESSAGE] == "identity-request"
    other.say({MESSAGE: "identity-response", "mobile-identity": other.identity("null")}, 0)
    other.authenticate()
    other.secure(other.request())
    assert world.ue(2).registered
    assert world.ue(1).registered, "whose 5G-GUTI it was is not harmed"
    assert world.ue(1).security is not None
    world.verify()


def test_a_wrong_res_star_is_rejected_and_harms_no_ue() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    impostor = Phone(world)
    impostor.ran_id = 99
    impostor.initial(wire.nas_encode(impostor.request()))
    impostor.hear()
    wrong = {"octets": "00" * 16}
    answer = {MESSAGE: "authentication-response", "authentication-response-parameter": wrong}
    impostor.say(answer, 0)
    heard = [m[MESSAGE] for m in impostor.hear()]
    assert heard == ["authentication-reject", "UEContextReleaseCommand"]
    impostor.ngap("UEContextReleaseComplete")
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == phone.ran_id, "the connection is the UE's again"
    phone.idle()
    world.verify()


def test_t3560_repeats_the_challenge_four_times() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    heard = phone.hear()
    for _ in range(4):
        world.advance(6.1)
        heard += phone.hear()
    assert [m[MESSAGE] for m in heard] == ["authentication-request"] * 5
    assert len({m["authentication-parameter-rand"]["octets"] for m in heard}) == 1
    world.advance(6.1)
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    world.verify()


@pytest.mark.parametrize(
    ("change", "why"),
    [({"ngksi": {"native": 5}}, "another key"), ({"ngksi": "no-key"}, "no key")],
)
def test_a_request_that_names_another_key_is_authenticated(
    change: dict[str, Any], why: str
) -> None:
    phone = Phone(World())
    phone.register()
    phone.idle()
    phone.open_again(phone.request(**change))
    assert phone.hear()[-1][MESSAGE] == "authentication-request", why


def test_an_ngksi_in_use_is_never_offered_again() -> None:
    """5.4.1.3.2: neither that of the current context nor that of the request; all others are
    tried."""
    phone = Phone(World())
    phone.register()
    current = phone.ngksi
    phone.say(phone.request("mobility-registration-updating", ngksi="no-key"))
    seen = [phone.hear()[-1]["ngksi"]["native"]]
    for _ in range(6):
        phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"})
        seen.append(phone.hear()[-1]["ngksi"]["native"])
    assert current not in seen
    assert all(a != b for a, b in pairwise(seen))
    assert len(set(seen)) == 6
    phone.world.verify()
