"""The most memory a run's process held."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

__all__ = ["forget_peak", "peak_mb"]


def forget_peak() -> None:
    """Count from now on, so that a run is not charged for one before it (Linux only)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float | None:
    """Return the largest resident size in megabytes: since `forget_peak`, else of the process.

    It is all that the process held: the interpreter, its libraries and the dataset too.
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
