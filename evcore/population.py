"""The subscribers of a load, put into the store of a local core that the load is run against."""

import json
from collections.abc import Sequence
from pathlib import Path

import wire
from evcore.local.data import DataDirectory
from evcore.logs.access import Access, opened
from loadgen import HomeKey, Population
from schemas.config.reading import ConfigError, Secrets
from schemas.subscriber import Subscriber
from statestore.importers import Format, read_subscribers


def home_keys(secrets: Secrets) -> tuple[HomeKey, ...]:
    """The public keys that UEs conceal their SUPIs with, of the private ones of a core.

    Raises:
        ConfigError: a private key is none.
    """
    found: list[HomeKey] = []
    for key in secrets.home_network_keys:
        try:
            public = wire.suci_public_key(key.profile, bytes.fromhex(key.private_key))
        except ValueError:
            raise ConfigError(f"home network key {key.id} is no key of profile A or B") from None
        found.append(HomeKey("A" if key.profile == "A" else "B", key.id, public.hex()))
    return tuple(found)


def schemes_of(secrets: Secrets) -> tuple[str, ...]:
    """The SUCI schemes that UEs of a core can use: the null scheme, and those with a key."""
    return ("null", *sorted({key.profile for key in secrets.home_network_keys}))


async def provision(data: Path, population: Population, *, overwrite: bool = False) -> int:
    """Store the subscribers of a population that are not there yet; how many it has.

    Raises:
        ConfigError: one of them is there with other credentials, and `overwrite` does not say
            that these may be lost.
    """
    DataDirectory(data).prepare()
    found = read_subscribers(json.dumps(population.to_json()).encode(), Format.JSON).subscribers
    async with opened(data) as access:
        missing = await _missing(access, found, overwrite=overwrite)
        await access.subscribers.put_all(missing)
    return len(found)


async def _missing(
    access: Access, wanted: Sequence[Subscriber], *, overwrite: bool
) -> list[Subscriber]:
    missing: list[Subscriber] = []
    for one in wanted:
        last = await access.subscribers.get(one.supi)
        there = None if last is None else last.subscriber
        if there is not None and not overwrite and (there.k, there.opc) != (one.k, one.opc):
            raise ConfigError(
                f"{one.supi} is a subscriber with other credentials than the load's: choose "
                "another --first-imsi, or --overwrite"
            )
        if there is None or (there.k, there.opc, there.slices) != (one.k, one.opc, one.slices):
            missing.append(one)
    return missing
