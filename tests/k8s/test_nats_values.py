"""The liveness probe of nats-server in k8s/nats/values.yaml, with the programs of Alpine."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from evcore.local.broker import Broker, free_port
from eventing.jetstream.connection import BusError, connected
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.streams import BusConfig, ensure_streams, publish_once
from tests import disks
from tests.eventing.brokers import until

VALUES = Path(__file__).parents[2] / "k8s" / "nats" / "values.yaml"

pytestmark = pytest.mark.slow


def probe() -> str:
    patches = yaml.safe_load(VALUES.read_text())["container"]["patch"]
    (found,) = [one["value"]["command"] for one in patches if "exec" in one["path"]]
    shell, option, script = found
    assert (shell, option) == ("sh", "-c")
    return script


def is_alive(monitor: int, disk: Path, folder: Path) -> bool:
    """Run the probe with busybox alone, as in the pod of a broker."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("there is no busybox")
    programs = folder / "bin"
    if not programs.exists():
        programs.mkdir()
        for name in ("sh", "nc", "grep", "df", "awk", "printf", "test"):
            (programs / name).symlink_to(busybox)
    script = probe().replace("8222", str(monitor))
    script = script.replace("/data/jetstream", str(disk))
    command = [str(programs / "sh"), "-c", script]
    done = subprocess.run(command, env={"PATH": str(programs)}, check=False, capture_output=True)
    assert b"not found" not in done.stderr, done.stderr
    return not done.returncode


async def test_a_broker_that_stores_nothing_is_restarted_once_there_is_room(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 48) as disk:
        monitor = free_port()
        broker = await Broker.start(disk / "jetstream", tmp_path / "nats.log", monitor_port=monitor)
        try:
            async with connected(broker.url, "test") as client:
                await ensure_streams(client, BusConfig(max_bytes=4 * disks.MIB))
                assert is_alive(monitor, disk, tmp_path)
                filler = disks.fill(disk)

                async def refused() -> bool:
                    message = Outgoing("ue.0.registration.1", bytes(50_000), {})
                    try:
                        await publish_once(client, message, 0.5)
                    except BusError:
                        return True
                    return False

                await until(refused)
                assert is_alive(monitor, disk, tmp_path), "a restart without room does not help"
                filler.unlink()
                assert not is_alive(monitor, disk, tmp_path)
                await broker.stop()
                assert not is_alive(monitor, disk, tmp_path)
                await broker.run()
                assert is_alive(monitor, disk, tmp_path)
        finally:
            await broker.stop()
