"""`python -m functions.runtime`: a worker process, which imports little so as to start fast."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import uvloop

from eventing.jetstream.connection import BusError, connected
from eventing.process import beating, collect_seldom
from functions.runtime.opening import opened_store, worker_config
from functions.runtime.variants import VariantError, load_all
from functions.runtime.worker import Worker, with_variants
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError, Secrets
from schemas.procedures import Procedure
from statestore.contract import StoreError


async def work(
    config: Config,
    secrets: Secrets,
    procedures: tuple[Procedure, ...],
    variants: Mapping[Procedure, ModuleType] | None = None,
) -> None:
    """Run a worker until SIGTERM or SIGINT, with `variants` in the place of procedures."""
    settings = with_variants(worker_config(config, secrets, procedures), variants or {})
    async with (
        opened_store(config, secrets) as (events, subscribers),
        connected(config.nats.url, "evcore-worker") as client,
        beating(),
    ):
        worker = Worker(settings, client, events, subscribers)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        collect_seldom()
        await worker.run()


def main(arguments: list[str] | None = None) -> int:
    """The process; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m functions.runtime", description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--secrets", type=Path)
    parser.add_argument("--procedures", default=",".join(Procedure))
    parser.add_argument(
        "--with", dest="variants", metavar="PROCEDURE=FILE", action="append", default=[]
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    try:
        procedures = tuple(Procedure(name) for name in options.procedures.split(","))
        config = configuration.load(options.config)
        secrets = configuration.load_secrets(options.secrets)
        uvloop.run(work(config, secrets, procedures, load_all(options.variants)))
    except (ConfigError, StoreError, BusError, VariantError, ValueError) as err:
        sys.stderr.write(f"evcore worker: {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
