"""Read a folder of runs: the only door through which the report sees the logs.

::

    report = load(Path("results"))     # ReportError in one sentence if there is nothing to show
    report.runs                        # every readable run, whatever its state, in name order
    report.unreadable                  # (run_id, reason) of every folder that could not be read
    report.units                       # the comparisons, sorted; unit.label is "matching-50", or
                                       # "matching-50, seed 25" where that tells two units apart
    report.chosen_runs(unit)           # the run that stands for each method, in display order
    report.chosen[unit.key, "spo"]     # the same by name
    report.table("regret")             # Polars frame of the chosen runs: run_id, setting, task, n,
                                       # seed, method, then the columns of `dglbench.runs.schemas`
    report.table("timing", report.done)  # the same for any runs
    report.comparability(unit)         # may the unit's seconds be ranked? if not, why not
    report.only(units=…, methods=…)    # the same report, narrowed
    report.sweeps                      # the documents of sweep-*.json

A *unit* is what may be compared: one task, settings, seed, solver family and
dataset. A grid leaves several runs of a method in a unit; the chosen one has
the lowest validation relative regret at its selected epoch among ``done`` runs
(test is never looked at). When the same run was asked twice under different
code, only the one that finished last stands.

The two JSON files of every run are read once, the Parquet files only when a
table is asked for, in bulk. A run that cannot be read is listed with its
reason and never stops the report; a newer format or a missing column does,
because leaving those out in silence would draw a wrong picture.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dglbench.errors import ReportError
from dglbench.report.model import Comparability, Conditions, Run, Unit, Unreadable, label_units
from dglbench.report.palette import method_order
from dglbench.runs.schemas import FORMAT_VERSION, TABLES
from dglbench.runs.store import FINAL_STATES, asked_hash

__all__ = ["Comparability", "Conditions", "Report", "Run", "Unit", "Unreadable", "load"]

OPTIONAL_TABLES = frozenset({"duals", "bound"})
"""Written only by methods that guide by duals, so their absence is no damage."""


@dataclass(frozen=True)
class Report:
    """The runs of one folder, and which of them stand for their method."""

    folder: Path
    runs: tuple[Run, ...]
    units: tuple[Unit, ...]
    chosen: Mapping[tuple[str, str], Run]
    """(unit key, method) to the run that stands for the method there."""
    sweeps: tuple[Mapping[str, Any], ...]
    unreadable: list[Unreadable]
    """Grows when a table turns out damaged while it is read."""
    _tables: dict[tuple[str, tuple[str, ...]], pl.DataFrame] = field(default_factory=dict)

    @property
    def done(self) -> tuple[Run, ...]:
        """Every finished run, chosen or not."""
        return tuple(run for run in self.runs if run.state == "done")

    @property
    def methods(self) -> list[str]:
        """The methods that have a chosen run anywhere, in display order."""
        return sorted({method for _, method in self.chosen}, key=method_order)

    def chosen_runs(self, unit: Unit | None = None) -> list[Run]:
        """Return the chosen runs of one unit, or of all, by unit and then display order."""
        rank = {each.key: position for position, each in enumerate(self.units)}
        runs = [run for (key, _), run in self.chosen.items() if unit is None or key == unit.key]
        return sorted(runs, key=lambda run: (rank[run.unit.key], method_order(run.method)))

    def comparability(self, unit: Unit) -> Comparability:
        """Say whether the seconds of the unit's chosen runs may be ranked."""
        return Comparability.of(unit, self.chosen_runs(unit))

    def table(self, name: str, runs: Iterable[Run] | None = None) -> pl.DataFrame:
        """Read one table of the chosen runs (or of ``runs``), each row with its run's name."""
        wanted = self.chosen_runs() if runs is None else list(runs)
        key = (name, tuple(run.run_id for run in wanted))
        if key not in self._tables:
            self._tables[key] = _read_tables(name, wanted, self.unreadable)
        return self._tables[key]

    def only(
        self, *, units: Iterable[Unit] | None = None, methods: Iterable[str] | None = None
    ) -> Report:
        """Narrow to some units or methods; labels stay as they are."""
        keys = {unit.key for unit in (self.units if units is None else units)}
        names = None if methods is None else set(methods)

        def keep(run: Run) -> bool:
            return run.unit.key in keys and (names is None or run.method in names)

        return dataclasses.replace(
            self,
            runs=tuple(run for run in self.runs if keep(run)),
            units=tuple(unit for unit in self.units if unit.key in keys),
            chosen={key: run for key, run in self.chosen.items() if keep(run)},
            _tables={},
        )


def load(folder: Path, *, require_done: bool = True) -> Report:
    """Read every run below ``folder``; ``require_done=False`` also takes one without a result."""
    if not folder.is_dir():
        raise ReportError(
            f"there is no folder {folder}; give the one that `dglbench train` or "
            "`dglbench sweep` wrote its runs to (their --out)."
        )
    unreadable: list[Unreadable] = []
    documents = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            document = _read_run(path, unreadable)
            if document is not None:
                documents.append(document)
    if not documents and not unreadable:
        raise ReportError(
            f"{folder} holds no runs; `dglbench sweep --preset quick --out {folder}` "
            "makes some in about a minute."
        )
    units = label_units([identity for _, identity, _, _ in documents])
    runs = tuple(
        Run(path.name, path, units[Unit.key_of(identity)], identity, environment, status)
        for path, identity, environment, status in documents
    )
    present = sorted(units.values(), key=lambda unit: unit.order)
    report = Report(folder, runs, tuple(present), {}, _read_sweeps(folder), unreadable)
    chosen = _choose(report)
    if not chosen and require_done:
        raise ReportError(_nothing_finished(report))
    return dataclasses.replace(report, chosen=chosen)


def _read_run(
    path: Path, unreadable: list[Unreadable]
) -> tuple[Path, dict[str, Any], dict[str, Any], dict[str, Any]] | None:
    """Read a run's two JSON files, or note why not; None also for a folder that is no run."""
    if not (path / "spec.json").is_file() and not (path / "status.json").is_file():
        return None
    try:
        spec = json.loads((path / "spec.json").read_bytes())
        identity, environment = dict(spec["identity"]), dict(spec.get("environment") or {})
        version = int(identity["format"])
        if version <= FORMAT_VERSION:
            Unit.key_of(identity)
            dict(identity["options"]), str(identity["method"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        unreadable.append(Unreadable(path.name, f"spec.json cannot be read ({_brief(error)})"))
        return None
    if version > FORMAT_VERSION:
        raise ReportError(
            f"{path} is in log format {version}, this dglbench reads up to {FORMAT_VERSION}; "
            "upgrade dglbench (pip install -U dglbench) or move that run elsewhere."
        )
    try:
        status = json.loads((path / "status.json").read_bytes())
        if status["status"] not in FINAL_STATES:
            raise ValueError(f"unknown status {status['status']!r}")
        if status["status"] == "done":
            for split in ("val", "test"):
                float(status["selected"][split]["relative_regret"])
            int(status["selected"]["epoch"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        unreadable.append(Unreadable(path.name, f"status.json cannot be read ({_brief(error)})"))
        return None
    return path, identity, environment, status


def _read_sweeps(folder: Path) -> tuple[Mapping[str, Any], ...]:
    """Read the sweeps' own documents; a damaged one only costs the budget table its rows."""
    sweeps = []
    for path in sorted(folder.glob("sweep-*.json")):
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict):
            sweeps.append({"file": path.name, **document})
    return tuple(sweeps)


def _choose(report: Report) -> dict[tuple[str, str], Run]:
    """Pick each method's run per unit by validation regret, passing over damaged ones."""
    current: dict[str, Run] = {}
    for run in sorted(report.done, key=lambda run: str(run.status.get("finished", ""))):
        current[asked_hash(run.identity)] = run
    candidates: dict[tuple[str, str], list[Run]] = {}
    for run in current.values():
        candidates.setdefault((run.unit.key, run.method), []).append(run)
    for runs in candidates.values():
        runs.sort(key=lambda run: (run.val_regret, run.run_id))
    while True:
        chosen = {key: runs[0] for key, runs in candidates.items() if runs}
        for name in ("regret", "timing", "decisions"):
            # Read now, so that a damaged first choice hands over to the next best.
            report.table(name, sorted(chosen.values(), key=lambda run: run.run_id))
        damaged = {run_id for run_id, _ in report.unreadable}
        if not any(run.run_id in damaged for run in chosen.values()):
            return chosen
        candidates = {
            key: [run for run in runs if run.run_id not in damaged]
            for key, runs in candidates.items()
        }


def _read_tables(name: str, runs: list[Run], unreadable: list[Unreadable]) -> pl.DataFrame:
    columns = TABLES[name].names
    paths = {str(run.folder / f"{name}.parquet"): run for run in runs}
    if name in OPTIONAL_TABLES:
        paths = {path: run for path, run in paths.items() if Path(path).is_file()}
    if not paths:
        return pl.DataFrame()
    keys = pl.DataFrame([_row_name(path, run) for path, run in paths.items()])
    rows: pl.DataFrame | None = None
    with contextlib.suppress(pl.exceptions.PolarsError, OSError):
        rows = _scan(list(paths), columns).collect()
    if rows is None:  # one of them is bad: read one by one to find out which, and why
        read = [_read_one(path, name, run, unreadable) for path, run in paths.items()]
        frames = [frame for frame in read if frame is not None]
        if not frames:
            return pl.DataFrame()
        rows = pl.concat(frames)
    return keys.join(rows, on="path", how="inner", maintain_order="left_right").drop("path")


def _read_one(path: str, name: str, run: Run, unreadable: list[Unreadable]) -> pl.DataFrame | None:
    columns = TABLES[name].names
    try:
        scan = pl.scan_parquet(path)
        missing = [column for column in columns if column not in scan.collect_schema()]
        if not missing:
            return _scan([path], columns).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        if run.run_id not in {run_id for run_id, _ in unreadable}:
            unreadable.append(
                Unreadable(run.run_id, f"{name}.parquet cannot be read ({_brief(error)})")
            )
        return None
    raise ReportError(
        f"{path} has no column {missing[0]!r}; it was not written by this version of dglbench: "
        "move that run elsewhere, or remove it and train it again."
    )


def _scan(paths: list[str], columns: list[str]) -> pl.LazyFrame:
    scan: Callable[..., pl.LazyFrame] = pl.scan_parquet
    return scan(paths, include_file_paths="path", extra_columns="ignore").select("path", *columns)


def _row_name(path: str, run: Run) -> dict[str, Any]:
    unit = run.unit
    return {
        "path": path,
        "run_id": run.run_id,
        "setting": unit.label,
        "task": unit.task,
        "n": unit.n,
        "seed": unit.seed,
        "method": run.method,
    }


def _nothing_finished(report: Report) -> str:
    states = Counter(run.state for run in report.runs if run.state != "done")
    parts = [f"{count} {state}" for state, count in states.most_common()]
    if report.unreadable:
        parts.append(f"{len(report.unreadable)} unreadable")
    first = next(
        (f"{run.run_id}: {run.message}" for run in report.runs if run.message),
        None,
    ) or next((f"{run_id}: {reason}" for run_id, reason in report.unreadable), "no message")
    total = len(report.runs) + len(report.unreadable)
    return (
        f"none of the {total} runs in {report.folder} finished ({', '.join(parts)}); "
        f"the first says: {first.splitlines()[0].rstrip('.')}. "
        "Put that right and give the same `dglbench` command again; it resumes."
    )


def _brief(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:160]}" if text else type(error).__name__
