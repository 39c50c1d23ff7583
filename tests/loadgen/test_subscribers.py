"""The population depends only on its seed and an index."""

import json

import pytest

from loadgen.load.subscribers import MIXED_ALGORITHMS, Population
from loadgen.ue.profile import Algorithms, HomeKey
from tests.loadgen.world import HOME_KEYS, population


def test_a_population_is_a_function_of_its_seed() -> None:
    assert list(population(5)) == list(population(5))
    assert population(5).profile(3).k == population(9).profile(3).k
    assert population(5, seed=1).profile(3).k != population(5).profile(3).k
    secrets = {p.k for p in population(50)} | {p.opc for p in population(50)}
    assert len(secrets) == 100


def test_supis_count_up_from_the_first_imsi() -> None:
    supis = [p.supi for p in population(3, first_imsi="001010000000099")]
    assert supis == ["imsi-001010000000099", "imsi-001010000000100", "imsi-001010000000101"]


def test_every_scheme_meets_every_algorithm() -> None:
    mixed = Population(
        count=18, schemes=("null", "A", "B"), algorithms=MIXED_ALGORITHMS, home_keys=HOME_KEYS
    )
    assert mixed.problem() is None
    assert len({(p.scheme, p.algorithms) for p in mixed}) == 18
    pairs = {(a.ea[-1], a.ia[-1]) for a in MIXED_ALGORITHMS}
    assert pairs == {(nea, nia) for nea in (0, 1, 2) for nia in (1, 2)}


def test_the_records_for_the_core() -> None:
    people = population(2)
    records = json.loads(json.dumps(people.to_json()))
    first = people.profile(0)
    dnn = {"name": "internet", "session_types": ["IPV4V6", "IPV4", "IPV6"]}
    assert records[0] == {
        "supi": "imsi-001010000000001",
        "k": first.k.hex(),
        "opc": first.opc.hex(),
        "amf": "8000",
        "sqn": 0,
        "slices": [{"sst": 1, "sd": "010203", "default": True, "dnns": [dnn]}],
    }
    assert len(records) == 2


def test_some_usims_are_ahead_of_the_core() -> None:
    ahead = [p.sqn > 0 for p in population(6, sqn_ahead=3)]
    assert ahead == [True, False, False, True, False, False]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"plmn": "1-1"}, "MCC-MNC"),
        ({"first_imsi": "00101"}, "15 digits"),
        ({"first_imsi": "208930000000001"}, "is not in PLMN"),
        ({"count": 0}, "must be at least 1"),
        ({"count": 2, "first_imsi": "001019999999999"}, "exceed the MSINs"),
        ({"schemes": ("A",), "home_keys": ()}, "SUCI scheme A"),
        ({"schemes": ()}, "must each have an entry"),
        ({"algorithms": (Algorithms((1,), (1,)),)}, "with 0 (mandatory)"),
        ({"algorithms": (Algorithms((0,), (0,)),)}, "NIA0"),
        ({"home_keys": (HomeKey("A", 1, "xy"),), "schemes": ("A",)}, "home_keys"),
        ({"home_keys": (HomeKey("B", 0, "02" * 33),)}, "key_id"),
    ],
)
def test_a_faulty_population_is_refused_in_a_sentence(
    changes: dict[str, object], says: str
) -> None:
    fault = population(**{"count": 1, **changes}).problem()  # pyright: ignore[reportArgumentType]
    assert fault is not None
    assert says in fault
