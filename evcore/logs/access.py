"""Opening the event log of a data directory, or of a configuration, for the tools."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from evcore.local.data import DataDirectory
from schemas import config as configuration
from schemas.config import ConfigError
from statestore.log import EventLog
from statestore.open import open_store
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault


class Access(NamedTuple):
    """The log and the subscriptions of one store."""

    log: EventLog
    subscribers: SubscriberStore


@asynccontextmanager
async def opened(
    data: Path, config: Path | None = None, secrets: Path | None = None
) -> AsyncGenerator[Access]:
    """The store of `config`, or else the embedded one of the data directory.

    Raises:
        ConfigError: there is no store there, or no key to it.
        StoreError: it cannot be opened.
    """
    directory = DataDirectory(data)
    if config is not None:
        url = configuration.load(config).store.url
    elif directory.secrets_file.exists():
        url = directory.store_url
    else:
        raise ConfigError(f"there is no evcore data in {data}: start with `evcore up` or --data")
    default = directory.secrets_file if directory.secrets_file.exists() else None
    keys = configuration.load_secrets(secrets or default)
    engine = await open_store(url)
    try:
        vault = Vault(configuration.key_of(keys.master_key, "master_key"))
        yield Access(EventLog(engine, vault), SubscriberStore(engine, vault))
    finally:
        await engine.close()
