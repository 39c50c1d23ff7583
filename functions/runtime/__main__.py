"""`python -m functions.runtime`: a worker process, which imports little so as to start fast."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

import uvloop

from eventing.bus import BusError, connected
from eventing.streams import BusConfig
from functions.identification import HomeNetworkKey
from functions.runtime.worker import Worker, WorkerConfig
from schemas import config as configuration
from schemas.config import Config, ConfigError, Secrets
from schemas.procedures import Procedure
from schemas.version import VERSION
from statestore.contract import StoreError
from statestore.log import EventLog
from statestore.open import open_store
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault


def worker_config(
    config: Config, secrets: Secrets, procedures: tuple[Procedure, ...]
) -> WorkerConfig:
    """What a worker is, of the configuration files.

    Raises:
        ConfigError: a key is missing or wrong.
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
        bus=BusConfig(nats.partitions, nats.replicas, nats.max_bytes),
        network=configuration.network_of(config, tmsi_key),
        home_network_keys=keys,
        version=VERSION,
    )


async def work(config: Config, secrets: Secrets, procedures: tuple[Procedure, ...]) -> None:
    """Run a worker until SIGTERM or SIGINT."""
    settings = worker_config(config, secrets, procedures)
    vault = Vault(configuration.key_of(secrets.master_key, "master_key"))
    engine = await open_store(config.store.url)
    try:
        async with connected(config.nats.url, "evcore-worker") as client:
            events = EventLog(engine, vault)
            worker = Worker(settings, client, events, SubscriberStore(engine, vault))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, worker.stop)
            await worker.run()
    finally:
        await engine.close()


def main(arguments: list[str] | None = None) -> int:
    """The process; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m functions.runtime", description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--secrets", type=Path)
    parser.add_argument("--procedures", default=",".join(Procedure))
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    try:
        procedures = tuple(Procedure(name) for name in options.procedures.split(","))
        config = configuration.load(options.config)
        secrets = configuration.load_secrets(options.secrets)
        uvloop.run(work(config, secrets, procedures))
    except (ConfigError, StoreError, BusError, ValueError) as err:
        sys.stderr.write(f"evcore worker: {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
