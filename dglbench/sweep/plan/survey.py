"""What is in the results folder already: finished, failed, damaged or stale runs.

Packs that lie in the folder count as part of it: what was packed is not run again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from dglbench.errors import RunError
from dglbench.packs.finding import sources_in
from dglbench.packs.run_source import RunSource
from dglbench.packs.sources import FolderRuns
from dglbench.runs.record import RunRecord
from dglbench.runs.store import RECORD, damage, read_record
from dglbench.training.spec import RunSpec

__all__ = ["RunState", "Survey", "needs_run", "read_state"]


class RunState(NamedTuple):
    """What is known of one run."""

    state: Literal["absent", "done", "failed", "unfinished", "damaged"]
    record: RunRecord | None = None
    problem: str | None = None
    """What is damaged."""
    finished: float = 0.0
    """When its record was written, by the file system's clock."""


def read_state(out: Path, run_id: str, record: RunRecord | None = None) -> RunState:
    """Find out one run's state from its folder, checking that its files are whole.

    ``record`` is the run's, where it was read already.
    """
    folder = out / run_id
    if not folder.is_dir():
        return RunState("absent")
    try:
        record = record or read_record(folder)
        finished = (folder / RECORD).stat().st_mtime
        problem = damage(folder, record)
    except (RunError, OSError) as error:
        return RunState("damaged", problem=str(error))
    if record.run_id != run_id:
        return RunState("damaged", problem=f"its {RECORD} is that of {record.run_id}")
    if record.state == "interrupted":
        return RunState("unfinished", record)
    if problem:
        return RunState("damaged", problem=problem)
    return RunState("done" if record.state == "done" else "failed", record, None, finished)


def needs_run(known: RunState, retry_failed: bool, spec: RunSpec) -> bool:
    """Say whether a run in this state is to be run, for lack of a result or of diagnostics."""
    if known.record is None or known.state not in ("done", "failed"):
        return True
    if known.state == "failed":
        return retry_failed
    return spec.lacks_diagnostics(known.record)


@dataclass(frozen=True)
class Survey:
    """One pass over the folder: what was asked, answered by which code, at what cost."""

    out: Path
    records: Mapping[str, RunRecord]
    """By run id: every record that can be read, so that each is read once."""
    asked: Mapping[str, frozenset[str]]
    """Hash of what was asked (whatever the code) to the runs that answer it."""
    packed: Mapping[str, RunSource]
    """Runs that are in a pack only."""
    pace: Mapping[tuple[str, str, str], list[tuple[float, int]]]
    """(setting, method, solver) to wall seconds and epochs of finished runs."""

    @classmethod
    def of(cls, out: Path) -> Survey:
        """Read every run's record."""
        records: dict[str, RunRecord] = {}
        asked: dict[str, set[str]] = defaultdict(set)
        pace: dict[tuple[str, str, str], list[tuple[float, int]]] = defaultdict(list)
        packed: dict[str, RunSource] = {}
        for source in sources_in(out):
            for name in source.names:
                if name in records:
                    continue
                try:
                    record = source.record(name)
                except RunError:
                    continue  # `read_state` says so if the run is wanted
                if not isinstance(source, FolderRuns) and not (out / name).is_dir():
                    packed[name] = source
                records[name] = record
                identity = record.identity
                asked[identity.asked].add(name)
                if record.state == "done" and record.summary:
                    cost = (record.status.wall_s, record.summary.epochs_run)
                    pace[identity.setting, identity.method, identity.solver].append(cost)
        answered = {key: frozenset(names) for key, names in asked.items()}
        return cls(out, records, answered, packed, dict(pace))

    def state(self, run_id: str) -> RunState:
        """Return a run's state; its record is as it was when the folder was surveyed."""
        if run_id in self.packed:
            record = self.records[run_id]
            if record.state == "interrupted":
                return RunState("unfinished", record)
            return RunState("done" if record.state == "done" else "failed", record)
        return read_state(self.out, run_id, self.records.get(run_id))

    def stale(self, spec: RunSpec) -> bool:
        """Say whether other code answered the same question."""
        return bool(self.asked.get(spec.identity.asked, frozenset()) - {spec.run_id})

    def seconds(self, spec: RunSpec) -> float | None:
        """Estimate a run's time from finished runs of its setting and method, None if unknown."""
        known = self.pace.get((spec.setting, spec.method, spec.solver))
        if not known:
            return None
        per_epoch = sorted(seconds / max(epochs, 1) for seconds, epochs in known)
        return per_epoch[len(per_epoch) // 2] * spec.protocol.epochs
