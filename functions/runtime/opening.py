"""The settings and the store of a process that hosts procedures, from its configuration files."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from eventing.jetstream.streams import bus_config
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.worker import WorkerConfig
from schemas.config import reading as configuration
from schemas.config.objectives import objectives_of
from schemas.config.reading import Config, Secrets
from schemas.procedures import Procedure
from schemas.version import VERSION
from statestore.log import EventLog
from statestore.open import directory_of, open_store
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault


def worker_config(
    config: Config, secrets: Secrets, procedures: tuple[Procedure, ...]
) -> WorkerConfig:
    """Return the settings of a worker from the configuration files.

    Raises:
        ConfigError: a key is missing or not valid.
    """
    tmsi_key = configuration.key_of(secrets.tmsi_key, "tmsi_key")
    keys = {
        key.id: HomeNetworkKey(
            key.profile, configuration.key_of(key.private_key, f"home network key {key.id}")
        )
        for key in secrets.home_network_keys
    }
    nats = config.nats
    return WorkerConfig(
        procedures=procedures,
        bus=bus_config(nats),
        network=configuration.network_of(config, tmsi_key),
        home_network_keys=keys,
        version=VERSION,
        objectives=objectives_of(config.objective),
        directory=directory_of(config.store.url),
        min_free_bytes=config.store.min_free_bytes,
        strangers=config.strangers,
    )


@asynccontextmanager
async def opened_store(
    config: Config, secrets: Secrets
) -> AsyncGenerator[tuple[EventLog, SubscriberStore]]:
    """Open the event log and the subscribers of a configuration, for the duration of a block.

    Raises:
        ConfigError: the master key is missing or not valid.
        StoreError: the store cannot be opened.
    """
    vault = Vault(configuration.key_of(secrets.master_key, "master_key"))
    engine = await open_store(config.store.url)
    try:
        yield EventLog(engine, vault), SubscriberStore(engine, vault)
    finally:
        await engine.close()
