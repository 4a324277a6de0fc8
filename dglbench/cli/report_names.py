"""What ``dglbench report`` lists in its help without loading it, and opens when it is drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import typer

from dglbench.cli import console

__all__ = ["FIGURE_NAMES", "TABLE_NAMES", "open_files"]

# Tests hold these beside the registries in dglbench.report, which import Polars.
FIGURE_NAMES = (
    "time-vs-regret", "solves-vs-regret", "per-seed", "by-degree", "forms", "ranks", "profile",
    "anytime", "time-split", "complexity", "scaling", "dual-health", "regret-bound", "pipelines",
)  # fmt: skip
TABLE_NAMES = (
    "summary", "leaderboard", "ranks", "equivalence", "profile", "anytime", "seeds", "pairwise",
    "selected", "budget", "resources", "runs", "changes",
)  # fmt: skip

_PATIENCE = 3.0
"""Seconds in which a desktop that cannot open a file says so."""


def open_files(paths: Iterable[str | None]) -> None:
    """Show files with whatever the desktop opens them with."""
    for path in paths:
        if path is None:
            continue
        try:
            refused = _launch(path)
        except OSError:
            refused = 1
        if refused:
            console.warn(f"{path} could not be opened here; it is written, open it yourself.")


def _launch(path: str) -> int:
    """Return 0 if the file was opened; a viewer that stays is not waited for."""
    if not sys.platform.startswith("linux"):
        return typer.launch(path)
    # typer does not wait for xdg-open, which is how one would learn that nothing can open it.
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(["xdg-open", path], stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        return process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.returncode = 0  # a viewer is left to itself, and Python need not warn of it
        return 0
