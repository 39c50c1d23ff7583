"""Log files with a bound. A full disk costs lines, and neither memory nor a process."""

import contextlib
import errno
import logging
import os
from pathlib import Path
from typing import Final

from evcore.local import private

MOST: Final = 16 << 20
"""Octets of a log file. Then it becomes ``NAME.1``, which it replaces, and a new one begins."""
OF_THE_DISK: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""Errors that may end by themselves."""


class LogFile:
    """A file that lines are appended to.

    Lines that cannot be written are counted, and the first line after them says how many and why.
    Several objects may write one file.
    """

    def __init__(self, path: Path, most: int = MOST) -> None:
        """Open the file of a process with up to `most` octets. A full disk is no error.

        Raises:
            OSError: the file can never be written: its path is a directory, for example.
        """
        self._path = path
        self._most = most
        self._file = -1
        self._inode = 0
        self._lost = 0
        self._why = ""
        self._torn = False
        """Whether the file ends with a part of a line."""
        try:
            self._open()
        except OSError as err:
            if err.errno not in OF_THE_DISK:
                raise

    def write(self, line: str) -> None:
        """Append a line."""
        text = line + "\n"
        if self._lost:
            text = f"{self._lost} line(s) could not be written: {self._why}\n{text}"
        if self._torn:
            text = "\n" + text
        try:
            self._append(text.encode(errors="replace"))
        except OSError as err:
            self._lost += 1
            self._why = err.strerror or str(err)
        else:
            self._lost = 0

    def close(self) -> None:
        """Close the file. A later line opens it again."""
        if self._file >= 0:
            with contextlib.suppress(OSError):  # NFS reports errors of earlier writes here
                os.close(self._file)
            self._file = -1

    def _append(self, octets: bytes) -> None:
        try:
            found = self._path.stat()
            there = found.st_ino == self._inode
        except FileNotFoundError:
            there = False
        else:
            if there and found.st_size + len(octets) > self._most:
                self._path.replace(f"{self._path}.1")
                there = False
        if not there or self._file < 0:
            self.close()
            self._open()
        left = memoryview(octets)
        while left:
            left = left[os.write(self._file, left) :]
            self._torn = bool(left)

    def _open(self) -> None:
        private.make_directory(self._path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self._path, flags, private.FILE)
        self._inode = os.fstat(self._file).st_ino


class LogFileHandler(logging.Handler):
    """Writes log records to a `LogFile`."""

    def __init__(self, path: Path) -> None:
        """See `LogFile`."""
        super().__init__()
        self._file = LogFile(path)

    def emit(self, record: logging.LogRecord) -> None:
        """Append a record."""
        self._file.write(self.format(record))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
