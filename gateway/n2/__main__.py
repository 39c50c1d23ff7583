"""`python -m gateway.n2`: a gateway process."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Final

import uvloop

import wire
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import BusError
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkOpener
from eventing.jetstream.streams import bus_config, check
from eventing.process import beating, collect_seldom, open_many_files
from gateway.n2.admission import Places
from gateway.n2.gateway import N2Gateway
from gateway.n2.routing import Router
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError, Secrets
from transport import Limits, Mode, TransportError, listen

SPARE: Final = 128
"""Associations above `max_associations` that SCTP may accept: the gateway must see an association
to decide whether another one gives way to it."""


async def serve(config: Config, secrets: Secrets, path: Path | None) -> None:
    """Run the gateway until SIGTERM or SIGINT.

    On SIGHUP it reads the PLMNs of the AMF from the file at `path` again. It recognises their
    5G-GUTIs.
    """
    n2 = config.n2
    tmsi_key = configuration.key_of(secrets.tmsi_key, "tmsi_key")
    network = configuration.network_of(config, tmsi_key)
    router = Router(network.guamis, wire.TmsiCipher(tmsi_key))
    bus = bus_config(config.nats)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, serve_plmns_of, router, path, tmsi_key)
    async with connected_as(Role.GATEWAY_N2, config.nats, "evcore-gateway-n2") as client:
        await check(client, bus)
        publisher = Publisher(client, bus.partitions)
        await publisher.start()
        after = network.congestion.after
        opener = DownlinkOpener(tmsi_key)
        places = Places(
            max_associations=n2.max_associations,
            max_per_address=n2.max_per_address,
            setup_within=n2.setup_within,
            gnbs={gnb.id: gnb.addresses for gnb in config.gnb},
        )
        gateway = N2Gateway(
            client,
            publisher,
            router,
            opener,
            n2.max_under_way,
            bus.max_bytes,
            after,
            places=places,
            weights=network.weights,
        )
        limits = Limits(max_associations=n2.max_associations + SPARE)
        transport = await listen(
            Mode(n2.transport), n2.host, n2.port, gateway, udp_port=n2.udp_port, limits=limits
        )
        gateway.start(transport)
        collect_seldom()
        open_many_files()
        sys.stderr.write(f"evcore gateway n2: {transport.mode} at {transport.address}\n")
        async with beating():
            await stopped.wait()
        await gateway.stop()


def serve_plmns_of(router: Router, path: Path | None, tmsi_key: bytes) -> None:
    """Set the PLMNs that the router recognises to those of a configuration file.

    An invalid file changes nothing.
    """
    try:
        router.serve(configuration.network_of(configuration.load(path), tmsi_key).guamis)
    except ConfigError as err:
        sys.stderr.write(f"evcore gateway n2: the PLMNs stay as they are: {err}\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the process and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gateway.n2", description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--secrets", type=Path)
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    try:
        config = configuration.load(options.config)
        secrets = configuration.load_secrets(options.secrets)
        uvloop.run(serve(config, secrets, options.config))
    except (ConfigError, BusError, TransportError, ValueError) as err:
        sys.stderr.write(f"evcore gateway n2: {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
