"""Where the runs were made: every different environment once, and how many runs it made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dglbench.report.loading import Run

__all__ = ["machines"]


def machines(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Describe every different environment, the one with most runs first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(replace(run.environment, load_1min=None)), []).append(run)
    return sorted((_described(group) for group in groups.values()), key=lambda item: -item["runs"])


def _described(group: Sequence[Run]) -> dict[str, Any]:
    seen = group[0].environment
    loads = [run.environment.load_1min for run in group if run.environment.load_1min is not None]
    return {
        "runs": len(group),
        "cpu": seen.cpu,
        "cores": seen.cores,
        "memory": seen.memory_gib,
        "platform": seen.platform,
        "machine": seen.machine,
        "python": seen.python,
        "threads": seen.threads,
        "concurrency": seen.concurrency,
        "load": f"{min(loads):.1f}–{max(loads):.1f}" if loads else None,
        "revision": seen.git_revision[:10] if seen.git_revision else None,
        "dirty": bool(seen.git_dirty),
        "versions": dict(seen.versions),
    }
