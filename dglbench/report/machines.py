"""Where the runs were made: every different environment once, and how many runs it made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dglbench.report.load import Run

__all__ = ["machines"]


def machines(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Describe every different environment, the one with most runs first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        known = {name: value for name, value in run.environment.items() if name != "load_1min"}
        groups.setdefault(repr(sorted(known.items(), key=lambda item: item[0])), []).append(run)
    return sorted((_described(group) for group in groups.values()), key=lambda item: -item["runs"])


def _described(group: Sequence[Run]) -> dict[str, Any]:
    seen = group[0].environment
    loads = [
        float(run.environment["load_1min"])
        for run in group
        if isinstance(run.environment.get("load_1min"), int | float)
    ]
    revision = seen.get("git_revision")
    return {
        "runs": len(group),
        "cpu": seen.get("cpu"),
        "cores": seen.get("cores"),
        "memory": seen.get("memory_gib"),
        "platform": seen.get("platform"),
        "machine": seen.get("machine"),
        "python": seen.get("python"),
        "threads": seen.get("threads"),
        "concurrency": seen.get("concurrency"),
        "load": f"{min(loads):.1f}–{max(loads):.1f}" if loads else None,
        "revision": str(revision)[:10] if revision else None,
        "dirty": bool(seen.get("git_dirty")),
        "versions": dict(seen.get("versions") or {}),
    }
