"""Writing files so that they appear complete or not at all."""

import contextlib
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["abandoned", "atomic_path", "clean", "owner_mark", "write_text"]

_ABANDONED_AFTER_S = 3600.0  # nothing takes this long to write


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target``; flush and rename it there if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.{owner_mark()}.", suffix=".tmp"
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        flush(temporary)
        temporary.replace(target)
        flush(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(target: Path, text: str) -> None:
    """Write ``text`` as UTF-8, completely or not at all."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, "utf-8")


def owner_mark() -> str:
    """Name this process, for temporary names: a later process can check whether it still runs."""
    return f"{_host()}-{os.getpid()}"


def abandoned(path: Path, mark: str) -> bool:
    """Say whether the process that ``mark`` names no longer writes the temporary ``path``."""
    import psutil

    try:
        written = path.stat().st_mtime
    except OSError:
        return False  # removed in the meantime
    if time.time() - written > _ABANDONED_AFTER_S:
        return True
    host, _, pid = mark.rpartition("-")
    if host != _host() or not pid.isdigit():
        return False
    try:
        # A process that started later has only reused the number.
        return bool(psutil.Process(int(pid)).create_time() > written + 1)
    except psutil.NoSuchProcess:
        return True


def clean(folder: Path) -> None:
    """Remove temporary files that a process left in ``folder`` when it was killed."""
    for path in folder.glob(".*.tmp"):
        mark = re.search(r"\.([^.]+-\d+)\.[^.]+\.tmp$", path.name)
        if mark and abandoned(path, mark[1]):
            path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Ask the system to put a file or folder on disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
