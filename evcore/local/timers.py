"""The timers of a core that starts: JetStream gets the wake-ups that its log says it must have."""

from nats.aio.client import Client

from evcore.local.data import DataDirectory
from eventing.jetstream.publisher import Publisher
from functions.runtime.timer_check import make_again
from statestore.open import open_store


async def make_timers(data: DataDirectory, client: Client, partitions: int) -> int:
    """Give JetStream every wake-up in the log of a directory, and return their number.

    All functions are at zero, so none would notice that the log is a restored backup, or that
    JetStream's files are new.

    Raises:
        StoreError: the log cannot be read.
        BusError: JetStream does not answer.
    """
    if not data.database.exists():
        return 0
    engine = await open_store(data.store_url, read_only=True)
    try:
        publisher = Publisher(client, partitions)
        await publisher.start()
        return await make_again(client, engine, publisher)
    finally:
        await engine.close()
