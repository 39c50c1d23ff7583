"""`python -m gateway.n4`: a gateway process."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

import uvloop

from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import BusError
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import bus_config, check
from eventing.process import beating, collect_seldom, open_many_files
from gateway.n4.endpoint import EndpointError
from gateway.n4.gateway import N4Gateway
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError


async def serve(config: Config) -> None:
    """Run the gateway until SIGTERM or SIGINT."""
    if not config.upf:
        raise ConfigError("there is no [[upf]] to serve")
    bus = bus_config(config.nats)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with connected_as(Role.GATEWAY_N4, config.nats, "evcore-gateway-n4") as client:
        await check(client, bus)
        publisher = Publisher(client, bus.partitions)
        await publisher.start()
        gateway = N4Gateway(client, publisher, config.n4, config.upf)
        await gateway.start()
        collect_seldom()
        open_many_files()
        count = len(config.upf)
        sys.stderr.write(f"evcore gateway n4: {count} UPF(s) at {gateway.address}\n")
        async with beating():
            await stopped.wait()
        await gateway.stop()


def main(arguments: list[str] | None = None) -> int:
    """Run the process and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gateway.n4", description=__doc__)
    parser.add_argument("--config", type=Path)
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    try:
        uvloop.run(serve(configuration.load(options.config)))
    except (ConfigError, BusError, EndpointError, ValueError) as err:
        sys.stderr.write(f"evcore gateway n4: {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
