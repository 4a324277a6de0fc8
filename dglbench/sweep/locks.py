"""Locks on runs, so that two sweeps in one folder share the work instead of doubling it.

Each is a POSIX lock on one byte of ``<out>/.lock``, at an offset made from the
run's name. Locks vanish with their process, however it ends, so nothing a killed
sweep held is ever stuck. Byte 0 is held (shared) by every sweep that is alive; the
one that finds itself alone at its end removes the file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from pathlib import Path

from dglbench.errors import RunError

__all__ = ["Locks"]

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Locks:
    """The locks of this process in one folder; a context manager."""

    def __init__(self, out: Path) -> None:
        self._path = out / ".lock"
        self._file = -1
        self.supported = True
        """False where the file system has no locks; every `take` then succeeds."""

    def __enter__(self) -> Locks:
        try:
            self._file = self._open()
        except OSError as error:
            raise RunError(
                f"{self._path.parent} cannot be written to: {error.strerror}; choose another --out."
            ) from error
        return self

    def __exit__(self, *failure: object) -> None:
        if self.supported and self._lock(fcntl.LOCK_EX, 0):
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def take(self, name: str) -> bool:
        """Lock a run; False if another process holds it."""
        return not self.supported or self._lock(fcntl.LOCK_EX, _offset(name))

    def release(self, name: str) -> None:
        """Unlock a run."""
        if self.supported:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _offset(name))

    def _open(self) -> int:
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            self._file = file
            try:
                # Blocks only for the moment in which a sweep that ends holds byte 0 alone.
                fcntl.lockf(file, fcntl.LOCK_SH, 1, 0)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                self.supported = False
                return file
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), self._path.stat()):
                    return file
            os.close(file)  # it was removed between opening and locking: take the new one

    def _lock(self, kind: int, offset: int) -> bool:
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True


def _offset(name: str) -> int:
    return 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "little")
