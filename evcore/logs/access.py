"""Open the event log of a data directory or of a configuration, for the tools."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from evcore.local.data import DataDirectory
from evcore.swap.kept import Kept
from schemas.config import reading as configuration
from schemas.config.reading import ConfigError
from statestore.log import EventLog
from statestore.open import open_store
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault


class Access(NamedTuple):
    """The log and the subscriptions of one store, and the variants that were swapped in."""

    log: EventLog
    subscribers: SubscriberStore
    variants: Kept


@asynccontextmanager
async def opened(
    data: Path,
    config: Path | None = None,
    secrets: Path | None = None,
    *,
    read_only: bool = False,
) -> AsyncGenerator[Access]:
    """Open the store of `config`, or the embedded store of the data directory.

    With `read_only`, an embedded store must exist and is not changed.

    Raises:
        ConfigError: the store or its key does not exist.
        StoreError: the store cannot be opened.
    """
    directory = DataDirectory(data)
    default = _default_secrets(directory)
    if config is not None:
        url = configuration.load(config).store.url
    elif default is not None or directory.database.exists():
        url = directory.store_url
    else:
        raise ConfigError(
            f"there is no evcore data in {data}: `evcore up` creates it, --data names another"
        )
    if config is None and read_only and not directory.database.exists():
        raise ConfigError(f"there is no log in {data} yet: `evcore up` writes it")
    keys = configuration.load_secrets(secrets or default)
    master_key = configuration.key_of(keys.master_key, "master_key")
    engine = await open_store(url, read_only=read_only)
    try:
        vault = Vault(master_key)
        yield Access(EventLog(engine, vault), SubscriberStore(engine, vault), Kept(directory))
    finally:
        await engine.close()


def _default_secrets(directory: DataDirectory) -> Path | None:
    path = directory.secrets_file
    try:
        return path if path.exists() else None
    except OSError as err:
        raise ConfigError(f"{path} cannot be read: {err.strerror}") from None
