"""How good is what a search has chosen after k trials, and after so many seconds?

A trial is one configuration, judged by its mean validation regret over the data seeds of the
search. After k trials the one with the lowest is chosen. Where trials are drawn at random, any k
of them might have been the first, so the test regret to expect is exact, as that of best of r
(`dglbench.report.best_of`), at k times a trial's mean cost. Where each trial depends on those
before (Optuna), there is one path: the one that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dglbench.report.best_of import best_of
from dglbench.report.cells import configuration
from dglbench.report.loading import Report, Run
from dglbench.report.style.titles import title, without_seed
from dglbench.runs.selection import validation_regret

__all__ = ["Search", "Trial", "curve", "searches"]

_AT_RANDOM = "random"


class Trial(NamedTuple):
    """One configuration of a search."""

    validation: float
    """Mean over data seeds; infinite if a run failed."""
    test: float
    """Mean test regret: of the runs made again with new training seeds, where there are some."""
    seconds: float


class Search(NamedTuple):
    """The trials of one method in one setting, in the order in which they were made."""

    setting: str
    method: str
    kind: str
    trials: tuple[Trial, ...]

    @property
    def at_random(self) -> bool:
        """Whether its trials do not depend on one another."""
        return self.kind == _AT_RANDOM


def searches(report: Report) -> list[Search]:
    """Return the searches whose runs are in the report; those of one trial say nothing."""
    runs = {run.run_id: run for run in report.runs}
    found: dict[tuple[str, str, str], Search] = {}
    for kind, group in _groups(report):
        search = _of_group(report, kind, group, runs)
        if search is not None and len(search.trials) > 1:
            key = search.setting, search.method, search.kind
            if key not in found or len(search.trials) > len(found[key].trials):
                found[key] = search
    return list(found.values())


def curve(search: Search) -> pl.DataFrame:
    """Return trials, seconds and test regret of the choice after so many trials."""
    validation = np.array([trial.validation for trial in search.trials])
    test = np.array([trial.test for trial in search.trials])
    seconds = np.array([trial.seconds for trial in search.trials])
    trials = np.arange(1, len(validation) + 1)
    if search.at_random:
        regret = np.array([float(best_of(validation, test, int(k))) for k in trials])
        spent = trials * seconds.mean()
    else:
        regret = np.array([test[validation[:k].argmin()] for k in trials])
        spent = seconds.cumsum()
    return pl.DataFrame({"trials": trials, "seconds": spent, "test_regret": regret})


def _groups(report: Report) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for sweep in report.sweeps:
        kind = sweep.get("search")
        if isinstance(kind, str) and kind != "none":
            for group in sweep.get("groups") or []:
                if isinstance(group, Mapping):
                    yield kind, group


def _of_group(
    report: Report, kind: str, group: Mapping[str, Any], runs: Mapping[str, Run]
) -> Search | None:
    """Read a group's trials as the sweep lists them, or else off its runs."""
    listed = group.get("trials")
    if isinstance(listed, list):
        members = [run for trial in listed for run in _named(trial, runs)]
        trials = [made for trial in listed if (made := _trial(trial, runs)) is not None]
        several = len({run.unit.key for run in members}) > 1
    else:
        chosen = runs.get(str(group.get("run_id")))
        if chosen is None:
            return None
        members = [
            run for run in report.runs
            if run.unit.key == chosen.unit.key and run.method == chosen.method
        ]  # fmt: skip
        by_options: dict[str, list[Run]] = {}
        for run in sorted(members, key=lambda run: run.finished):
            by_options.setdefault(configuration(run.identity), []).append(run)
        trials = [made for each in by_options.values() if (made := _of_runs(each)) is not None]
        several = False
    if not members or not trials:
        return None
    unit = members[0].unit
    name = without_seed(unit) if several else title(unit)
    return Search(name, members[0].method, kind, tuple(trials))


def _named(trial: Any, runs: Mapping[str, Run]) -> list[Run]:
    names = trial.get("runs") if isinstance(trial, Mapping) else None
    return [runs[name] for name in names or [] if name in runs]


def _trial(trial: Mapping[str, Any], runs: Mapping[str, Run]) -> Trial | None:
    """Return a listed trial; None if its runs are not in the report."""
    first = _named(trial, runs)
    made = _of_runs(first)
    if made is None:
        return None
    again = _of_runs(_named(trial.get("again"), runs))
    return made if again is None else made._replace(test=again.test)


def _of_runs(runs: list[Run]) -> Trial | None:
    if not runs:
        return None
    validation = [validation_regret(run.record) for run in runs]
    test = [run.test_regret for run in runs]
    spent = sum(run.train_s or 0.0 for run in runs)
    return Trial(float(np.mean(validation)), float(np.mean(test)), spent)
