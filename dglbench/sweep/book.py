"""What a sweep leaves beside its runs: itself as TOML, and its choices and budgets as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dglbench import atomic, options
from dglbench.errors import RunError
from dglbench.sweep import toml
from dglbench.sweep.resolved import Sweep
from dglbench.sweep.search import GroupSearch

__all__ = ["config_path", "group_entry", "write_choices", "write_config"]


def config_path(sweep: Sweep, out: Path) -> Path:
    """Return where the resolved sweep is kept."""
    return out / f"sweep-{sweep.digest}.toml"


def write_config(sweep: Sweep, out: Path) -> Path:
    """Save the resolved sweep, to be run again as it is."""
    path = config_path(sweep, out)
    head = (
        f"# A dglbench sweep, resolved. Again: dglbench sweep --config {path.name} --out FOLDER\n"
    )
    text = head + toml.dumps(sweep.document())
    if not path.is_file() or path.read_text("utf-8") != text:
        _write(path, text)
    return path


def write_choices(sweep: Sweep, out: Path, searches: Iterable[GroupSearch]) -> None:
    """Save the chosen run and the tuning budget of every group that is complete."""
    document = {
        "sweep": sweep.document(),
        "search": sweep.search,
        "groups": [group_entry(search) for search in searches if search.complete],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    _write(config_path(sweep, out).with_suffix(".json"), text)


def group_entry(search: GroupSearch) -> dict[str, Any]:
    """Describe a group: what stands for it and what finding that out cost."""
    group, chosen = search.group, search.chosen
    concurrencies = {result.concurrency for result in search.results.values()} - {None}
    states = [str(result.status["status"]) for result in search.results.values()]
    return {
        "setting": group.data.setting_name,
        "task": group.data.task,
        "seed": group.data.seed,
        "settings": options.as_dict(group.data.settings),
        "method": group.method,
        "solver": group.solver,
        "run_id": chosen.spec.run_id if chosen else None,
        "options": options.as_dict(chosen.spec.options) if chosen else None,
        **search.budget(),
        "failed": sum(state != "done" for state in states),
        # Seconds measured at different concurrency cannot be added up honestly: say so.
        "concurrency": concurrencies.pop() if len(concurrencies) == 1 else None,
        "rungs": search.rungs,
    }


def _write(path: Path, text: str) -> None:
    try:
        atomic.write_text(path, text)
    except OSError as error:
        raise RunError(
            f"{path} could not be written: {error.strerror or error}; "
            "free some space or choose another --out, then run the same command again."
        ) from error
