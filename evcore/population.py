"""Store the subscribers of a load in the store of a local core."""

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
    """Return the public keys for SUPI concealment that belong to the private keys of a core.

    Raises:
        ConfigError: a private key is not valid.
    """
    found: list[HomeKey] = []
    for key in secrets.home_network_keys:
        try:
            public = wire.suci_public_key(key.profile, bytes.fromhex(key.private_key))
        except ValueError:
            raise ConfigError(f"home network key {key.id} is not a key of profile A or B") from None
        found.append(HomeKey("A" if key.profile == "A" else "B", key.id, public.hex()))
    return tuple(found)


def schemes_of(secrets: Secrets) -> tuple[str, ...]:
    """Return the SUCI schemes of a core: the null scheme, and the profiles with a key."""
    return ("null", *sorted({key.profile for key in secrets.home_network_keys}))


async def provision(data: Path, population: Population, *, overwrite: bool = False) -> int:
    """Store the missing subscribers of a population. Return the size of the population.

    Raises:
        ConfigError: a subscriber exists with other credentials, and `overwrite` is false.
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
        stored = None if last is None else last.subscriber
        if stored is not None and not overwrite and (stored.k, stored.opc) != (one.k, one.opc):
            raise ConfigError(
                f"{one.supi} exists with credentials that differ from the load's: choose another "
                "--first-imsi, or --overwrite"
            )
        if stored is None or (stored.k, stored.opc, stored.slices) != (one.k, one.opc, one.slices):
            missing.append(one)
    return missing
