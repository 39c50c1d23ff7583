"""Bodies of any size in values of at most 100 kB.

The first value holds the number of further parts, in one octet, and the start of the body. The
parts are in a separate key range, so a range of first values has one row for each body.
"""

from statestore.contract import StoreDamaged, StoreError
from statestore.foundationdb.api import Reader, Transaction
from statestore.foundationdb.client import Client
from statestore.foundationdb.keys import Keys, end_below, pack_int

PART_OCTETS = 90_000
MAX_BODY = 8_000_000
"""The largest body. One transaction must hold it, with its keys and conflict ranges."""


def check_size(what: str, body: bytes) -> None:
    """Reject a body that no transaction can hold.

    Raises:
        StoreError: the body is larger than `MAX_BODY`.
    """
    if len(body) > MAX_BODY:
        raise StoreError(
            f"{what} has {len(body)} octets; the FoundationDB engine stores up to {MAX_BODY}"
        )


def put_blob(transaction: Transaction, keys: Keys, key: bytes, head: bytes, body: bytes) -> None:
    """Write `body` at `key`, after `head`."""
    count = max(0, len(body) - 1) // PART_OCTETS
    transaction.set(key, head + bytes((count,)) + body[:PART_OCTETS])
    parts = keys.parts(key)
    for number in range(1, count + 1):
        start = number * PART_OCTETS
        transaction.set(parts + pack_int(number), body[start : start + PART_OCTETS])


async def get_blob(
    client: Client, reader: Reader, keys: Keys, key: bytes, value: bytes, head_octets: int = 0
) -> bytes:
    """Return the body that starts in `value`, the value of `key`.

    Raises:
        StoreDamaged: a part is missing.
    """
    body = value[head_octets + 1 :]
    if value[head_octets]:
        body += await _rest(client, reader, keys.parts(key), value[head_octets])
    return body


async def _rest(client: Client, reader: Reader, parts: bytes, count: int) -> bytes:
    found: list[bytes] = []
    begin, more = parts, True
    while more:
        page, more = await client.page(reader, begin, end_below(parts), count - len(found))
        found.extend(row.value for row in page)
        if page:
            begin = page[-1].key + b"\0"
    if len(found) != count:
        raise StoreDamaged(f"{count - len(found)} of {count} parts of a body are missing")
    return b"".join(found)
