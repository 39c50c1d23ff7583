"""UPFs of loadgen that run on the machine of a core: for the demo, and for loads."""

import asyncio
import contextlib
import errno
import ipaddress
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from loadgen.session_model import Tunnel
from loadgen.upf.config import UpfConfig as Emulated
from loadgen.upf.upf import Upf
from schemas.config.n4 import DnnConfig
from schemas.config.reading import Config, DataNetworkConfig, UpfConfig

DNN = "internet"
DATA_NETWORK = DataNetworkConfig(DNN, ("10.0.0.53", "2001:db8::53"), mtu=1400)

_FEATURES = ("BUCP", "FTUP", "MNOP", "EMPU")
"""UP Function Features: the defaults of an emulated UPF, and End Markers."""


def tables(count: int) -> tuple[UpfConfig, ...]:
    """Return `count` tables [[upf]] with loopback addresses from 127.0.0.8 on."""
    return tuple(
        UpfConfig(
            node_id=f"127.0.0.{8 + index}",
            dnn=(DnnConfig(DNN, f"10.{45 + index}.0.0/16", f"2001:db8:{45 + index:x}::/48"),),
        )
        for index in range(count)
    )


def core_of(config: Config) -> tuple[str, int]:
    """Return the N4 address of the core for UPFs on the same machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.n4.host, config.n4.host)  # noqa: S104
    return host, config.n4.port


def on_this_machine(config: Config) -> tuple[UpfConfig, ...]:
    """Return the UPFs of a configuration with loopback addresses: this machine can emulate them."""
    return tuple(upf for upf in config.upf if _is_loopback(upf.host or upf.node_id))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class EmulatedUpfs:
    """A set of emulated UPFs."""

    def __init__(self, upfs: Sequence[Upf]) -> None:
        self._upfs = upfs

    async def associated(self, seconds: float = 10.0) -> bool:
        """Wait until all UPFs are associated. Return False after the timeout."""
        waiting = asyncio.gather(*(upf.associated() for upf in self._upfs))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, seconds)
            return True
        return False

    def downlink_data(self, address: str) -> None:
        """Deliver a downlink packet for a UE address at the UPF that has the session."""
        for upf in self._upfs:
            if upf.downlink_data(address).outcome != "no-session":
                return

    def downlink_tunnel(self, address: str) -> Tunnel | None:
        """Return the tunnel that packets for a UE address are sent into; None if there is none."""
        for upf in self._upfs:
            found = upf.downlink_tunnel(address)
            if found is not None:
                return Tunnel(found.ipv4 or found.ipv6 or "", found.number)
        return None

    @property
    def end_markers(self) -> int:
        """Number of tunnels that the core requested an End Marker for."""
        return sum(upf.counts.end_markers for upf in self._upfs)

    @property
    def rules_left(self) -> int:
        """Number of PDRs, FARs, QERs and URRs in all tables."""
        return sum(upf.rules_left for upf in self._upfs)

    @property
    def sessions(self) -> int:
        """Number of PFCP session establishments since the start."""
        return sum(upf.counts.received["SessionEstablishmentRequest"] for upf in self._upfs)

    @property
    def violations(self) -> list[str]:
        """The errors of the core that the UPFs found, one sentence each."""
        return [
            f"UPF {upf.config.node_id}: {one.text} (TS 29.244 {one.clause}; {one.who})"
            for upf in self._upfs
            for one in upf.violations
        ]


@asynccontextmanager
async def running_upfs(
    upfs: Sequence[UpfConfig], core: tuple[str, int] | None = None
) -> AsyncGenerator[EmulatedUpfs]:
    """Run UPFs for the duration of a block.

    They set up their associations with the core at the N4 address `core`, or wait for the core to
    do so. A UPF is skipped if another process uses its port.

    Raises:
        OSError: an address is not available on this machine.
    """
    async with AsyncExitStack() as stack:
        running: list[Upf] = []
        for upf in upfs:
            host = upf.host or upf.node_id
            made = Upf(
                Emulated(node_id=upf.node_id, host=host, port=upf.port, cp=core, features=_FEATURES)
            )
            try:
                await made.start()
            except OSError as err:
                if err.errno == errno.EADDRINUSE:
                    continue
                raise
            stack.callback(made.close)
            running.append(made)
        yield EmulatedUpfs(running)


def free_udp_port() -> int:
    """Return a free UDP port of the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
