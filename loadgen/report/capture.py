"""A record of every NGAP PDU, as JSON lines."""

import os
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from loadgen.errors import ConfigError


class Captured(msgspec.Struct, frozen=True):
    """One PDU that was sent or received."""

    at: float
    """Seconds on the clock of the run."""
    gnb: str
    direction: Literal["sent", "received"]
    stream: int
    pdu: str
    """In hexadecimal."""


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Capture:
    """Writes one `Captured` per line to a file."""

    def __init__(self, path: str) -> None:
        """Open a file that only its owner can read: the PDUs contain K_gNBs.

        Raises:
            ConfigError: the file cannot be written.
        """
        self._encoder = msgspec.json.Encoder()
        try:
            # `close` closes it.
            self._file: BinaryIO = open(path, "wb", buffering=1 << 16, opener=_own)  # noqa: SIM115
        except OSError as error:
            raise ConfigError(f"capture: cannot write {path}: {error.strerror}") from error

    def write(
        self, at: float, gnb: str, direction: Literal["sent", "received"], stream: int, pdu: bytes
    ) -> None:
        """Write a PDU."""
        one = Captured(at, gnb, direction, stream, pdu.hex())
        self._file.write(self._encoder.encode(one) + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_capture(path: str) -> list[Captured]:
    """Return the PDUs of a capture, in their order."""
    decoder = msgspec.json.Decoder(Captured)
    with Path(path).open("rb") as file:
        return [decoder.decode(line) for line in file]
