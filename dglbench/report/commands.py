"""The commands behind the logs: what would make them again, and what would make them comparable."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from dglbench.report.loading import Report, Run, Unit

__all__ = ["configs", "reproduce", "retime"]


def retime(report: Report, units: Iterable[Unit]) -> str:
    """Return the command that times a setting's chosen configurations under equal conditions.

    It writes to another folder: the runs are there already, and how busy the
    machine was is no part of what makes a run the same run.
    """
    folder = str(report.folder).rstrip("/")
    names = shlex.join(run.run_id for unit in units for run in report.chosen_runs(unit))
    again = shlex.join(["dglbench", "train", "--out", f"{folder}-timed", "--like"])
    return f'for run in {names}; do {again} {shlex.quote(folder)}/"$run"; done'


def reproduce(report: Report) -> list[str]:
    """Return the commands that make these logs again.

    The sweeps', and one for each chosen run that no sweep accounts for.
    """
    sweeps = [
        shlex.join(["dglbench", "sweep", "--config", name, "--out", "again"])
        for name in configs(report)
    ]
    groups = [group for sweep in report.sweeps for group in sweep.get("groups") or []]
    swept = {group.get("run_id") for group in groups if isinstance(group, Mapping)}
    others = [run for run in report.chosen_runs() if not sweeps or run.run_id not in swept]
    return sweeps + [_again(run) for run in others]


def configs(report: Report) -> dict[str, str]:
    """Return the files in which sweeps keep themselves, to be run again as they are."""
    return dict(sorted(report.source.documents("sweep-*.toml")))


def _again(run: Run) -> str:
    return shlex.join(["dglbench", "train", "--like", str(run.folder), "--out", "again"])
