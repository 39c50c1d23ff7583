"""The cache of a worker: bounded, and evicted by whole aggregates."""

from functions.runtime.cache import Cache
from statestore.contract import Append, IndexKey
from statestore.log import Aggregate
from statestore.vault import Vault

VAULT = Vault(bytes(32))
ONE, OTHER = "ue/imsi-1", "ue/imsi-2"
ENTRY, NEXT = IndexKey("ngap", "ngap-1"), IndexKey("ngap", "ngap-2")


def aggregate(name: str) -> Aggregate:
    key = VAULT.new_data_key()
    return Aggregate(name, VAULT.sealer(key, name), key)


def cache(*names: str, capacity: int = 10) -> Cache:
    made = Cache(capacity)
    for name in names:
        made.put(aggregate(name))
    return made


def append(name: str, put: tuple[IndexKey, ...] = (), drop: tuple[IndexKey, ...] = ()) -> Append:
    return Append(name, 1, "t", b"", put=put, drop=drop)


def test_the_least_recently_used_goes_first_and_its_entries_with_it() -> None:
    made = cache(ONE, OTHER, capacity=2)
    made.own(ENTRY, ONE)
    made.own(NEXT, OTHER)
    made.get(ONE)
    made.put(aggregate("ue/imsi-3"))
    assert made.get(OTHER) is None
    assert (made.owner(ENTRY), made.owner(NEXT)) == (ONE, None)


def test_an_entry_follows_the_steps_that_put_it_and_drop_it() -> None:
    made = cache(ONE, OTHER)
    made.appended(append(ONE, put=(ENTRY,)))
    made.appended(append(OTHER, put=(ENTRY, NEXT)))
    assert (made.owner(ENTRY), made.owner(NEXT)) == (OTHER, OTHER)
    made.appended(append(ONE, drop=(ENTRY,)))
    assert made.owner(ENTRY) == OTHER, "whose it is no more cannot drop it"
    made.drop(ONE)
    assert made.owner(ENTRY) == OTHER
    made.appended(append(OTHER, drop=(ENTRY,)))
    assert (made.owner(ENTRY), made.owner(NEXT)) == (None, OTHER)
    made.drop(OTHER)
    assert made.owner(NEXT) is None


def test_an_entry_of_an_aggregate_that_is_not_here_is_asked_of_the_store() -> None:
    """Its state would be read again, and an entry that has moved in between would be wrong."""
    made = cache(ONE)
    made.own(ENTRY, ONE)
    made.own(NEXT, OTHER)
    made.appended(append(OTHER, put=(ENTRY,)))
    assert (made.owner(ENTRY), made.owner(NEXT)) == (None, None)
    made.put(aggregate(OTHER))
    assert made.owner(ENTRY) is None
