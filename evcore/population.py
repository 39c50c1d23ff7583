"""The subscribers of a load, put into the store of a local core that the load is run against."""

import json
from pathlib import Path

import wire
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from loadgen import HomeKey, Population
from schemas.config import Secrets
from statestore.importers import Format, read_subscribers


def home_keys(secrets: Secrets) -> tuple[HomeKey, ...]:
    """The public keys that UEs conceal their SUPIs with, of the private ones of a core."""
    return tuple(
        HomeKey(
            profile="A" if key.profile == "A" else "B",
            key_id=key.id,
            public_key=wire.suci_public_key(key.profile, bytes.fromhex(key.private_key)).hex(),
        )
        for key in secrets.home_network_keys
    )


def schemes_of(secrets: Secrets) -> tuple[str, ...]:
    """The SUCI schemes that UEs of a core can use: the null scheme, and those with a key."""
    return ("null", *sorted({key.profile for key in secrets.home_network_keys}))


async def provision(data: Path, population: Population) -> int:
    """Store the subscribers of a population; how many."""
    DataDirectory(data).prepare()
    found = read_subscribers(json.dumps(population.to_json()).encode(), Format.JSON)
    async with opened(data) as access:
        return len(await access.subscribers.put_all(found.subscribers))
