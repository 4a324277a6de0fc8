"""Writing files so that they are whole or not there at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["atomic_path", "write_text"]


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target``; flush and rename it there if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
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
    """Write ``text`` as UTF-8, whole or not at all."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, "utf-8")


def flush(path: Path) -> None:
    """Ask the system to put a file or folder on disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
