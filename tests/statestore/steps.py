"""Short constructors of steps to append."""

from collections.abc import Iterable

from statestore.contract import Append, Appended, Engine, FeedEntry, IndexKey, Quarantined

UE = "ue/imsi-001010000000001"
OTHER = "ue/imsi-001010000000002"
TMSI = IndexKey("tmsi", "tmsi-0badcafe")
NGAP = IndexKey("ngap", "ngap-0000000001")
OK = Appended()


def step(
    aggregate: str,
    seq: int,
    trigger: str = "",
    body: bytes = b"",
    *,
    put: Iterable[IndexKey] = (),
    drop: Iterable[IndexKey] = (),
    take_from: str = "",
    snapshot: bytes = b"",
    at: int = 0,
    give_up: Iterable[IndexKey] = (),
    end_quarantines: Iterable[Quarantined] = (),
) -> Append:
    """Return a step. The default trigger and body are derived from its number."""
    return Append(
        aggregate=aggregate,
        seq=seq,
        trigger=trigger or f"t{seq}",
        body=body or f"{aggregate} {seq}".encode(),
        data_key=f"key of {aggregate}".encode() if seq == 1 else b"",
        put=tuple(put),
        drop=tuple(drop),
        take_from=take_from,
        snapshot=snapshot,
        at=at,
        give_up=tuple(give_up),
        end_quarantines=tuple(end_quarantines),
    )


def steps(aggregate: str, first: int, last: int) -> list[Append]:
    """Return the steps `first` to `last`."""
    return [step(aggregate, seq) for seq in range(first, last + 1)]


async def follow(engine: Engine, after: bytes = b"", page: int = 1000) -> list[FeedEntry]:
    """Return the whole feed after a cursor."""
    entries: list[FeedEntry] = []
    while found := await engine.feed(after, page):
        entries += found
        after = found[-1].cursor
    return entries


async def stored(engine: Engine, aggregate: str) -> list[int]:
    """Return the sequence numbers of an aggregate, after checking that all ways to read them
    agree."""
    records = await engine.read(aggregate, 0, 100_000)
    numbers = [record.seq for record in records]
    (loaded,) = await engine.load([aggregate])
    assert (loaded.head if loaded else 0) == len(numbers)
    assert [e.seq for e in await follow(engine) if e.aggregate == aggregate] == numbers
    listed = dict(await engine.aggregates(aggregate))
    assert listed.get(aggregate, 0) == len(numbers)
    return numbers
