"""UPFs of loadgen beside a core on the same machine: for the demo, and for loads."""

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
DATA_NETWORK = DataNetworkConfig(DNN, ("10.0.0.53", "2001:db8::53"), 1400)

_FEATURES = ("BUCP", "FTUP", "MNOP", "EMPU")
"""UP Function Features: those of an emulated UPF by default, and End Markers."""


def tables(count: int) -> tuple[UpfConfig, ...]:
    """The tables [[upf]] of so many UPFs on loopback addresses, from 127.0.0.8."""
    return tuple(
        UpfConfig(
            node_id=f"127.0.0.{8 + index}",
            dnn=(DnnConfig(DNN, f"10.{45 + index}.0.0/16", f"2001:db8:{45 + index:x}::/48"),),
        )
        for index in range(count)
    )


def core_of(config: Config) -> tuple[str, int]:
    """Where the core of a configuration is on N4, for UPFs of the same machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.n4.host, config.n4.host)  # noqa: S104
    return host, config.n4.port


def on_this_machine(config: Config) -> tuple[UpfConfig, ...]:
    """The UPFs of a configuration that can be emulated: those on loopback addresses."""
    return tuple(upf for upf in config.upf if _is_loopback(upf.host or upf.node_id))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class EmulatedUpfs:
    """Emulated UPFs, as one."""

    def __init__(self, upfs: Sequence[Upf]) -> None:
        self._upfs = upfs

    async def associated(self, seconds: float = 10.0) -> bool:
        """Wait until all of them are associated; whether they are."""
        waiting = asyncio.gather(*(upf.associated() for upf in self._upfs))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, seconds)
            return True
        return False

    def downlink_data(self, address: str) -> None:
        """Have a packet arrive for the UE of an address, at the UPF that has its session."""
        for upf in self._upfs:
            if upf.downlink_data(address).outcome != "no-session":
                return

    def downlink_tunnel(self, address: str) -> Tunnel | None:
        """Where packets for the UE of an address go now; None for nowhere."""
        for upf in self._upfs:
            found = upf.downlink_tunnel(address)
            if found is not None:
                return Tunnel(found.ipv4 or found.ipv6 or "", found.number)
        return None

    @property
    def end_markers(self) -> int:
        """Tunnels that were to get an End Marker."""
        return sum(upf.counts.end_markers for upf in self._upfs)

    @property
    def rules_left(self) -> int:
        """PDRs, FARs, QERs and URRs in all tables."""
        return sum(upf.rules_left for upf in self._upfs)

    @property
    def sessions(self) -> int:
        """PFCP sessions that were established, since the start."""
        return sum(upf.counts.received["SessionEstablishmentRequest"] for upf in self._upfs)

    @property
    def violations(self) -> list[str]:
        """What the core did wrong, in a sentence each."""
        return [
            f"UPF {upf.config.node_id}: {one.text} (TS 29.244 {one.clause}; {one.who})"
            for upf in self._upfs
            for one in upf.violations
        ]


@asynccontextmanager
async def running_upfs(
    upfs: Sequence[UpfConfig], core: tuple[str, int] | None = None
) -> AsyncGenerator[EmulatedUpfs]:
    """UPFs for the length of a block.

    They set up their associations with the `core` whose N4 address this is, or wait for it to.
    One whose port another process has is left to that.

    Raises:
        OSError: an address of one is not to be had.
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
    """A UDP port of the loopback interface that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
