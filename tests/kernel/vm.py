"""Run a command under another kernel: QEMU, a small initramfs, and this machine's files.

The machine sees the root file system of its host read-only over 9p, so the project, its virtual
environment and its Python have the same paths. scripts/setup-kernel-lab.sh fetches the kernel and
its modules. `python -m tests.kernel.vm [--seconds N] command...` runs a command by hand, and ends
with its exit status.
"""

import argparse
import asyncio
import lzma
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evcore" / "kernel"

MODULES = [
    *("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p"),
    *("crc32c_generic", "libcrc32c", "ip6_udp_tunnel", "udp_tunnel", "sctp"),
]
"""In the order of their dependencies. A kernel with a built-in module lacks its file."""

_DONE = "evcore-vm-exit-status"

_INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /host
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
for module in $(/bin/busybox cat /modules/order); do
    /bin/busybox insmod /modules/$module || echo "cannot load $module"
done
options=trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144
if /bin/busybox mount -t 9p -o $options host /host; then
    /bin/busybox mount -t proc proc /host/proc
    /bin/busybox mount -t sysfs sys /host/sys
    /bin/busybox mount -t devtmpfs dev /host/dev
    /bin/busybox mkdir -p /host/dev/shm
    /bin/busybox mount -t tmpfs tmp /host/dev/shm
    /bin/busybox ip link set lo up
    /bin/busybox chroot /host /bin/sh /proc/self/fd/3 3</command
fi
echo "{_DONE} $?"
/bin/busybox poweroff -f
"""


class VmError(Exception):
    """The machine is not available, or did not end in time."""


def why_not() -> str | None:
    """Return why no machine is available; None if one is."""
    if platform.machine() != "x86_64":
        return f"the kernel lab is for x86_64, not {platform.machine()}"
    if shutil.which("qemu-system-x86_64") is None:
        return "no qemu-system-x86_64: run scripts/setup-kernel-lab.sh"
    if _busybox() is None:
        return "no busybox: run scripts/setup-kernel-lab.sh"
    if _kernel() is None:
        return f"no kernel in {LAB}: run scripts/setup-kernel-lab.sh"
    if not site().exists():
        return f"no pysctp in {site()}: run scripts/setup-kernel-lab.sh"
    return None


def site() -> Path:
    """Return the folder in which pysctp was installed for this Python."""
    return LAB / f"site-{sys.implementation.cache_tag}"


async def run(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command in the project's folder under the other kernel.

    Args:
        command: Its path and arguments, as on the host.
        seconds: The time limit of the machine, from its start.
        environment: Variables to add to a bare environment.

    Returns:
        The exit status, and the output of the serial console.

    Raises:
        VmError: no machine is available, or it took too long. The message has the console's output.
    """
    reason, kernel = why_not(), _kernel()
    if reason is not None or kernel is None:
        raise VmError(reason or "no kernel")
    with tempfile.TemporaryDirectory(prefix="evcore-vm-") as folder:
        initramfs = Path(folder) / "initramfs"
        initramfs.write_bytes(_initramfs(kernel, _script(command, environment or {})))
        process = await asyncio.create_subprocess_exec(
            *_qemu(kernel, initramfs),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(seconds):
                status, console = await _watch(process)
        except TimeoutError:
            raise VmError(f"the machine did not end within {seconds:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
    if status is None:
        raise VmError(f"the machine ended before the command did:\n{console}")
    return status, console


async def _watch(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    """Copy the machine's console to this one until it ends."""
    assert process.stdout is not None
    status: int | None = None
    lines: list[str] = []
    async for raw in process.stdout:
        line = raw.decode(errors="replace").rstrip()
        if line.startswith(_DONE):
            status = int(line.split()[1])
            continue
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        lines.append(line)
    await process.wait()
    return status, "\n".join(lines)


def _qemu(kernel: Path, initramfs: Path) -> list[str]:
    # KVM is about ten times as fast, but broken nested KVM hangs the machine, so it is optional.
    accelerator = os.environ.get("EVCORE_VM_ACCELERATOR", "tcg,thread=multi")
    return [
        "qemu-system-x86_64",
        *("-accel", accelerator, "-cpu", "max", "-smp", "2", "-m", "1024"),
        *("-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-kernel", str(kernel), "-initrd", str(initramfs)),
        *("-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on"),
        *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
    ]


def _script(command: Sequence[str], environment: Mapping[str, str]) -> str:
    bare = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "TMPDIR": "/dev/shm",  # noqa: S108 - the one writable folder in the machine
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    settings = [f"{name}={value}" for name, value in {**bare, **environment}.items()]
    line = shlex.join(["env", "-i", *settings, *command])
    return f"cd {shlex.quote(str(ROOT))} && exec {line}\n"


def _busybox() -> Path | None:
    # A busybox without libraries, because the initramfs has none.
    found = [Path(folder) / "busybox" for folder in ("/bin", "/usr/bin")]
    return next((path for path in found if path.exists()), None)


def _kernel() -> Path | None:
    return next(iter(sorted((LAB / "image" / "boot").glob("vmlinuz-*"))), None)


def _initramfs(kernel: Path, script: str) -> bytes:
    busybox = _busybox()
    assert busybox is not None
    archive = _Archive()
    for folder in ("bin", "dev", "modules"):
        archive.add(folder, b"", 0o40755)
    archive.add("dev/console", b"", 0o20600, device=(5, 1))
    archive.add("bin/busybox", busybox.read_bytes(), 0o100755)
    archive.add("init", _INIT.encode(), 0o100755)
    archive.add("command", script.encode(), 0o100644)
    version = kernel.name.removeprefix("vmlinuz-")
    folder = LAB / "image" / "lib" / "modules" / version
    if not folder.exists():
        folder = LAB / "image" / "usr" / "lib" / "modules" / version
    order: list[str] = []
    for name in MODULES:
        for path in folder.glob(f"kernel/**/{name}.ko*"):
            content = path.read_bytes()
            archive.add(
                f"modules/{name}.ko", lzma.decompress(content) if path.suffix == ".xz" else content
            )
            order.append(f"{name}.ko")
    archive.add("modules/order", "\n".join(order).encode())
    return archive.end()


class _Archive:
    """A cpio archive in the format of initramfs: `newc`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._number = 0

    def add(
        self, name: str, content: bytes, mode: int = 0o100644, device: tuple[int, int] = (0, 0)
    ) -> None:
        self._number += 1
        path = name.encode() + b"\0"
        fields = [self._number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._parts += [_padded(head), _padded(content)]

    def end(self) -> bytes:
        self.add("TRAILER!!!", b"", 0)
        return b"".join(self._parts)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kernel.vm", description=run.__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        status, _ = asyncio.run(run(arguments.command, arguments.seconds))
    except VmError as err:
        sys.stderr.write(f"{err}\n")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(_main())
