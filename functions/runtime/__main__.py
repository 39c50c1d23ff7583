"""`python -m functions.runtime`: a worker process. It imports few modules, so that it starts
fast."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import uvloop
from msgspec.structs import replace

from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import BusError
from eventing.process import beating, collect_seldom, open_many_files
from functions.runtime.hosting import NO_VARIANTS
from functions.runtime.opening import opened_store, worker_config
from functions.runtime.variants import Variant, VariantError, load_all
from functions.runtime.worker import Worker
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError, Secrets
from schemas.procedures import Procedure
from statestore.contract import StoreError

AS_VARIANT: Final = "EVCORE_VARIANT"
"""The environment variable that is 1 if this process hosts its release as a variant."""


async def work(
    config: Config,
    secrets: Secrets,
    procedures: tuple[Procedure, ...],
    variants: Mapping[Procedure, Variant] = NO_VARIANTS,
    *,
    as_variant: bool = False,
) -> None:
    """Run a worker until SIGTERM or SIGINT.

    `variants` decide for some procedures. With `as_variant`, the worker hosts this release as a
    variant, and decides only in the partitions that `evcore swap` assigns to it.
    """
    made = worker_config(config, secrets, procedures)
    settings = replace(made, variants=variants, as_variant=as_variant)
    async with (
        opened_store(config, secrets) as (events, subscribers),
        connected_as(Role.WORKER, config.nats, "evcore-worker") as client,
        beating(),
    ):
        worker = Worker(settings, client, events, subscribers)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        collect_seldom()
        open_many_files()
        await worker.run()


def hosts_as_variant() -> bool:
    """Whether the environment sets this process to host its release as a variant."""
    return os.environ.get(AS_VARIANT, "").lower() in ("1", "true", "yes")


def main(arguments: list[str] | None = None) -> int:
    """Run the process and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m functions.runtime", description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--secrets", type=Path)
    parser.add_argument("--procedures", default=",".join(Procedure))
    parser.add_argument(
        "--with", dest="variants", metavar="PROCEDURE=PATH", action="append", default=[]
    )
    parser.add_argument("--variant", action="store_true", default=hosts_as_variant())
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    try:
        procedures = tuple(Procedure(name) for name in options.procedures.split(","))
        config = configuration.load(options.config)
        secrets = configuration.load_secrets(options.secrets)
        variants = load_all(options.variants)
        uvloop.run(work(config, secrets, procedures, variants, as_variant=options.variant))
    except (ConfigError, StoreError, BusError, VariantError, ValueError) as err:
        sys.stderr.write(f"evcore worker: {err}\n")
        return 1
    except MemoryError:
        sys.stderr.write("evcore worker: there is not enough memory\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
