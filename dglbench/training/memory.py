"""How a run's process keeps freed memory, and how much memory it held at most."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["KEEP_FREED", "forget_peak", "keep_freed", "peak_mb"]

KEEP_FREED = "DGLBENCH_KEEP_FREED_MEMORY"

# Of mallopt(3)
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


@functools.cache
def keep_freed() -> None:
    """Let the process keep memory that tensors free, if the environment asks for it (glibc only).

    By default arrays above 32 MB go back to the system at once, and every step of a large
    instance waits for the same pages to be handed out and cleared again: half of the CPU time
    of an epoch at 3,000 x 50. The setting holds for the whole process and cannot be undone, so
    it is made only where `KEEP_FREED` is set.
    """
    libc = _glibc()
    if libc is None or os.environ.get(KEEP_FREED, "0") in ("", "0"):
        return
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)


def _glibc() -> Any:
    """Return the C library if it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None


def forget_peak() -> None:
    """Reset the peak, so that a run is not charged for the one before it (Linux only)."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)  # release what earlier runs left
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float | None:
    """Return the largest resident size in megabytes: since `forget_peak`, else of the process.

    It includes all that the process held: the interpreter, libraries and the dataset.
    """
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
