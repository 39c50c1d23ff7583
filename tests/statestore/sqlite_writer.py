"""A process that appends to an SQLite store and prints its progress.

    python -m tests.statestore.sqlite_writer STORE AGGREGATE LAST BATCH

Prints "ready" and waits for a line. Then appends steps after the aggregate's head up to `LAST`,
`BATCH` at a time, and prints the head after each batch. Each body repeats its number a hundred
times.
"""

import asyncio
import sys

from statestore.sqlite.engine import SqliteEngine
from tests.statestore.steps import OK, step


def body(seq: int) -> bytes:
    """Return the body of a step. A torn write is visible in it."""
    return b"%d " % seq * 100


async def main(store: str, aggregate: str, last: int, batch: int) -> None:
    """Append, and print the head after each batch."""
    engine = await SqliteEngine.open(store)
    (loaded,) = await engine.load([aggregate])
    head = loaded.head if loaded else 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    while head < last:
        end = min(head + batch, last)
        told = [step(aggregate, seq, body=body(seq)) for seq in range(head + 1, end + 1)]
        outcomes = await engine.append(told)
        if outcomes != [OK] * len(told):
            raise SystemExit(f"not appended: {outcomes}")
        head = end
        sys.stdout.write(f"{head}\n")
        sys.stdout.flush()
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
