"""What is in the results folder already: finished, failed, damaged or stale runs."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dglbench.runs.store import RunSpec, asked_hash, load_status, run_folders

__all__ = ["Known", "Survey", "read_state"]

REQUIRED_TABLES = ("timing", "regret", "decisions")
"""What every finished run has; the others depend on the method."""

State = Literal["absent", "done", "failed", "unfinished", "damaged"]


class Known(NamedTuple):
    """What is known of one run."""

    state: State
    status: Mapping[str, Any]
    concurrency: int | None
    problem: str | None = None
    """What is damaged."""
    finished: float = 0.0
    """When its status was written, by the file system's clock."""


def read_state(out: Path, run_id: str) -> Known:
    """Read one run's state from its folder, checking that its files are whole."""
    folder = out / run_id
    try:
        finished = (folder / "status.json").stat().st_mtime
    except OSError:
        exists = folder.is_dir()
        return Known("damaged", {}, None, "it has no status.json") if exists else _ABSENT
    status = load_status(folder)
    if status is None:
        return Known("damaged", {}, None, "its status.json cannot be read")
    if status["status"] == "interrupted":
        return Known("unfinished", status, None)
    spec = _read_spec(folder)
    if spec is None or spec.get("run_id") != run_id:
        return Known("damaged", {}, None, "its spec.json cannot be read")
    problem = _damage(folder, status) if status["status"] == "done" else None
    if problem:
        return Known("damaged", {}, None, problem)
    concurrency = (spec.get("environment") or {}).get("concurrency")
    state: State = "done" if status["status"] == "done" else "failed"
    return Known(state, status, concurrency, None, finished)


@dataclass(frozen=True)
class Survey:
    """One pass over the folder: which questions were answered by other code, and at what cost."""

    asked: Mapping[str, frozenset[str]]
    """Hash of what was asked (whatever the code) to the runs that answer it."""
    pace: Mapping[tuple[str, str, str], list[tuple[float, int]]]
    """(setting, method, solver) to wall seconds and epochs of finished runs."""

    @classmethod
    def of(cls, out: Path) -> Survey:
        """Read every run's spec and status."""
        asked: dict[str, set[str]] = defaultdict(set)
        pace: dict[tuple[str, str, str], list[tuple[float, int]]] = defaultdict(list)
        for folder in run_folders(out):
            spec = _read_spec(folder)
            try:
                identity = spec["identity"] if spec else {}
                asked[asked_hash(identity)].add(folder.name)
                key = (
                    f"{identity['task']}-{identity['settings']['n']}",
                    str(identity["method"]),
                    str(identity["solver"]),
                )
            except (KeyError, TypeError):
                continue  # no run of ours, or damaged; `read_state` says so if it is wanted
            status = load_status(folder)
            if status and status["status"] == "done":
                pace[key].append((float(status["wall_s"]), int(status["epochs_run"])))
        return cls({key: frozenset(names) for key, names in asked.items()}, dict(pace))

    def stale(self, spec: RunSpec) -> bool:
        """Say whether other code answered the same question."""
        return bool(self.asked.get(spec.asked, frozenset()) - {spec.run_id})

    def seconds(self, spec: RunSpec) -> float | None:
        """Estimate a run's time from finished runs of its setting and method, None if unknown."""
        known = self.pace.get((spec.setting, spec.method, spec.solver))
        if not known:
            return None
        per_epoch = sorted(seconds / max(epochs, 1) for seconds, epochs in known)
        return per_epoch[len(per_epoch) // 2] * spec.protocol.epochs


_ABSENT = Known("absent", {}, None)


def _read_spec(folder: Path) -> dict[str, Any] | None:
    try:
        spec = json.loads((folder / "spec.json").read_bytes())
    except (OSError, ValueError):
        return None
    return spec if isinstance(spec, dict) and isinstance(spec.get("identity"), dict) else None


def _damage(folder: Path, status: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a finished run's files, by looks that cost microseconds."""
    try:
        float(status["selected"]["val"]["relative_regret"])
        float(status["selected"]["test"]["relative_regret"])
    except (KeyError, TypeError, ValueError):
        return "its status.json lacks the regrets"
    with os.scandir(folder) as entries:
        found = {entry.name for entry in entries}
    for name in REQUIRED_TABLES:
        if f"{name}.parquet" not in found:
            return f"it has no {name}.parquet"
    for name in sorted(found):
        if name.endswith(".parquet") and not _whole_parquet(folder / name):
            return f"its {name} is cut short"
    return None


def _whole_parquet(path: Path) -> bool:
    """Check the magic bytes and that the footer fits: a truncated file fails one of them."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            tail = file.read(8)
    except OSError:
        return False
    return tail[4:] == b"PAR1" and int.from_bytes(tail[:4], "little") + 12 <= size
