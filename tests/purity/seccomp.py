"""Linux refuses system calls to this process (seccomp(2)): no native code can evade it."""

import ctypes
import platform
import struct
from typing import Final

CALLS: Final = {
    "x86_64": {"open": 2, "openat": 257, "openat2": 437, "getrandom": 318},
    "aarch64": {"openat": 56, "openat2": 437, "getrandom": 278},
}
"""The numbers of system calls, by machine."""

OPENING: Final = ("open", "openat", "openat2")
DRAWING: Final = ("getrandom",)

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO_EPERM = 0x7FFF0000, 0x00050001


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def is_possible() -> bool:
    return platform.system() == "Linux" and platform.machine() in CALLS


def refuse(*calls: str) -> None:
    """Let system calls of this thread, and of those it starts, fail with EPERM."""
    numbers = CALLS[platform.machine()]
    wanted = [numbers[call] for call in calls if call in numbers]
    program = [(LOAD, 0, 0, 0)]
    for left, number in zip(range(len(wanted), 0, -1), wanted, strict=True):
        program.append((JUMP_IF_EQUAL, left, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO_EPERM)]
    octets = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(octets, len(octets))
    filtering = Program(len(program), ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtering), 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")
