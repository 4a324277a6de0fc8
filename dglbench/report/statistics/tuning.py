"""How good is what a search has chosen after k trials, and after so many seconds?

A trial is one configuration, judged by its mean validation regret over the data seeds of the
search. A search over data seeds trains its best four trials again, and these new runs alone decide
(`dglbench.sweep.search.trials`). The curve follows that rule for the first k trials: of their best
four, it takes the one with the lowest validation regret of the new runs. The best four of all
trials are among the best four of any k that hold them, so a trial with new runs always goes before
one without. Where none of the k has new runs, the first runs decide. The choice has the test regret
of the runs that decided, and the seconds of new runs count: the last point is the search's own
choice and account. The points before are approximate, because a shorter search would have trained
other trials again.

Where trials are drawn at random, any k of them might have been the first, so the expectation over
their order is exact, as that of best of r (`dglbench.report.best_of`), at k times a trial's mean
cost. Where each trial depends on those before (Optuna), there is one path: the one that was taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dglbench.report.best_of import best_of
from dglbench.report.cells import configuration
from dglbench.report.loading import Report, Run
from dglbench.report.style.titles import title, without_seed
from dglbench.runs.selection import validation_regret
from dglbench.statistics import Numbers

__all__ = ["Round", "Search", "Trial", "curve", "searches"]

_AT_RANDOM = "random"


class Round(NamedTuple):
    """The runs of a trial with one training seed, one for each data seed."""

    validation: float
    """Mean over data seeds; infinite if a run failed."""
    test: float
    """Mean test regret."""
    seconds: float
    """Training seconds of all of them."""


class Trial(NamedTuple):
    """One configuration of a search."""

    first: Round
    again: Round | None = None
    """The runs with a new training seed, if it was among the best."""

    @property
    def deciding(self) -> Round:
        """The runs by which it is compared with other trials."""
        return self.again or self.first

    @property
    def seconds(self) -> float:
        """Training seconds of all its runs."""
        return self.first.seconds + (self.again.seconds if self.again else 0.0)


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
    places = _places(search.trials)
    test = np.array([trial.deciding.test for trial in search.trials])
    seconds = np.array([trial.seconds for trial in search.trials])
    trials = np.arange(1, len(places) + 1)
    if search.at_random:
        regret = np.array([float(best_of(places, test, int(k))) for k in trials])
        spent = trials * seconds.mean()
    else:
        regret = np.array([test[places[:k].argmin()] for k in trials])
        spent = seconds.cumsum()
    return pl.DataFrame({"trials": trials, "seconds": spent, "test_regret": regret})


def _places(trials: Sequence[Trial]) -> Numbers:
    """Return each trial's place in the order in which the search prefers them, 0 the best.

    Of any of the trials, the choice is the one with the lowest place; infinite if it failed.
    """
    order = sorted(
        range(len(trials)),
        key=lambda at: (trials[at].again is None, trials[at].deciding.validation, at),
    )
    places = np.full(len(trials), math.inf)
    for place, at in enumerate(order):
        if math.isfinite(trials[at].deciding.validation):
            places[at] = place
    return places


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
    """Read a group's trials as the sweep lists them, or else off its runs; None if none won."""
    if group.get("run_id") is None:
        return None
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
        trials = [Trial(_of_runs(each)) for each in by_options.values()]
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
    first = _round(trial, runs)
    return None if first is None else Trial(first, _round(trial.get("again"), runs))


def _round(entry: Any, runs: Mapping[str, Run]) -> Round | None:
    """Return a listed round; None if its runs are not in the report.

    What it was chosen by and what it cost is of all data seeds, also in a report on some of them.
    """
    found = _named(entry, runs)
    if not found:
        return None
    regret, seconds = entry.get("regret"), entry.get("seconds")
    return _of_runs(found)._replace(
        validation=regret if isinstance(regret, int | float) else math.inf,
        seconds=seconds if isinstance(seconds, int | float) else 0.0,
    )


def _of_runs(runs: Sequence[Run]) -> Round:
    validation = [validation_regret(run.record) for run in runs]
    test = [run.test_regret for run in runs]
    spent = sum(run.train_s or 0.0 for run in runs)
    return Round(float(np.mean(validation)), float(np.mean(test)), spent)
