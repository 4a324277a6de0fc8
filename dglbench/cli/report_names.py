"""What ``dglbench report`` lists in its help without loading it, and opens when it is drawn."""

from __future__ import annotations

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


def open_files(paths: Iterable[str | None]) -> None:
    """Show files with whatever the desktop opens them with."""
    for path in paths:
        if path is None:
            continue
        try:
            refused = typer.launch(path)
        except OSError:
            refused = 1
        if refused:
            console.warn(f"{path} could not be opened here; it is written, open it yourself.")
