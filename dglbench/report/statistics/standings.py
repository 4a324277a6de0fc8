"""Each method's place in each setting: regret, distance to the best, time and speed-ups.

There is one rule for who leads: the lowest mean test regret of one run, over repeats and data
seeds. All that share it lead (★); who is not distinguishable from a leader is marked ≈. Every
table, figure and sentence takes it from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from dglbench.plugins import WITH
from dglbench.report.cells import Result
from dglbench.report.loading import Comparability, Report, Run
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.intervals import FEWEST_SEEDS, t_interval
from dglbench.report.statistics.paired import Difference, Pairs
from dglbench.report.statistics.time_to_regret import NEAR, Reach, Speedup, best_result
from dglbench.report.style.palette import method_order
from dglbench.runs.record import WarmStartSummary
from dglbench.words import percent

__all__ = ["BASELINES", "Board", "Standing", "Start", "standings"]

BASELINES = ("qptl", "spo")
"""What speed-ups are measured against, where they were run."""
_EQUAL = 1e-9
"""Regrets that differ by less than this share are one number, computed in two ways."""


@dataclass(frozen=True)
class Standing:
    """One method's place in one setting."""

    result: Result
    interval: tuple[float, float] | None
    behind: Difference | None
    """This method minus the best; None for the best, or if instances differ."""
    is_best: bool
    reach_s: float
    """Training seconds to the selected epoch."""
    near_s: float | None
    """Training seconds until within `NEAR` of the best method's regret."""
    solves: float
    speedups: Mapping[str, Speedup]
    """By baseline; those that were not run are absent."""

    @property
    def ties_best(self) -> bool:
        """The interval of the difference to the best method holds 0."""
        return not self.is_best and self.behind is not None and self.behind.verdict == "open"


@dataclass(frozen=True)
class Start:
    """The warm start of one predictor: what methods began from, and no method itself."""

    regret: float
    """Mean test regret over data seeds."""
    interval: tuple[float, float] | None
    """Over three data seeds or more: its t interval."""
    seconds: float
    """Mean seconds of training one."""
    epochs: float
    """Mean epochs of training one."""
    improved: bool
    """Whether a method that began from it ended lower."""
    label: str = "warm start"

    @property
    def no_gain(self) -> str:
        """What to say of a start that was not improved on."""
        return f"no method ended below the {self.label} that it began from, {percent(self.regret)}"

    @property
    def name(self) -> str:
        """The predictor and a blank where there are several; else empty."""
        _, of, predictor = self.label.partition(WITH)
        return f"{predictor} " if of else ""


@dataclass(frozen=True)
class Board:
    """The standings of one setting, lowest test regret first."""

    comparison: Comparison
    standings: tuple[Standing, ...]

    @property
    def leaders(self) -> list[Standing]:
        """Those with the lowest test regret; several only if it is the same."""
        return [standing for standing in self.standings if standing.is_best]

    @property
    def ties(self) -> list[Standing]:
        """Those that are not distinguishable from the leaders."""
        return [standing for standing in self.standings if standing.ties_best]

    @cached_property
    def comparability(self) -> Comparability:
        """Say whether the setting's seconds may be ranked."""
        runs = [run for standing in self.standings for run in standing.result.runs]
        return Comparability.of(self.comparison.label, runs)

    @property
    def start(self) -> float | None:
        """The mean test regret of the warm start, where a method began from one."""
        levels = (standing.result.warm_start_regret for standing in self.standings)
        return next((level for level in levels if level is not None), None)

    @property
    def starts(self) -> list[Start]:
        """The warm starts that methods began from, one for each predictor."""
        began: dict[str, list[Result]] = {}
        for result in (standing.result for standing in self.standings):
            if result.warm_start_regret is not None and _warm_starts(result.runs):
                began.setdefault(result.first.predictor, []).append(result)
        several = len(began) > 1
        return [
            _start(results, f"warm start{WITH}{predictor}" if several else "warm start")
            for predictor, results in began.items()
        ]

    @property
    def unimproved(self) -> bool:
        """Whether there are warm starts, and no method ended below the one that it began from."""
        starts = self.starts
        return bool(starts) and not any(start.improved for start in starts)


def standings(
    report: Report,
    reach: Reach | None = None,
    pairs: Pairs | None = None,
    comparisons: Iterable[Comparison] | None = None,
) -> list[Board]:
    """Return the board of every setting, or of the comparisons given."""
    reach, pairs = reach or Reach(report), pairs or Pairs(report)
    found = by_setting(report) if comparisons is None else comparisons
    return [Board(each, _of_setting(each.results, reach, pairs)) for each in found]


def _of_setting(results: Sequence[Result], reach: Reach, pairs: Pairs) -> tuple[Standing, ...]:
    best = best_result(results)
    baselines = [result for result in results if result.first.identity.method in BASELINES]
    behind = pairs.differences([(result, best) for result in results])
    near = ((1 + NEAR) * best.by_seed()).tolist()
    found = []
    for result, difference in zip(results, behind, strict=True):
        reach_s, solves = reach.selected(result)
        found.append(
            Standing(
                result=result,
                interval=pairs.interval(result),
                behind=None if result is best else difference,
                is_best=result.regret() <= (1 + _EQUAL) * best.regret(),
                reach_s=reach_s,
                near_s=reach.time_to(result, near),
                solves=solves,
                speedups={
                    other.first.identity.method: reach.speedup(result, other)
                    for other in _alike(result, baselines)
                },
            )
        )
    return tuple(sorted(found, key=_place))


def _alike(result: Result, baselines: Sequence[Result]) -> list[Result]:
    """Return the baselines with the result's own predictor; of several starts validation's choice.

    Another predictor's seconds and regret would say nothing of the loss.
    """
    predictors = {other.first.predictor for other in baselines}
    kept: dict[str, Result] = {}
    for other in baselines:
        name = other.first.identity.method
        if len(predictors) > 1 and other.first.predictor != result.first.predictor:
            continue
        if name not in kept or other.val_regret < kept[name].val_regret:
            kept[name] = other
    return list(kept.values())


def _start(results: Sequence[Result], label: str) -> Start:
    """Describe the warm start that these results began from."""
    widest = max(results, key=lambda result: len(result.cells))
    levels = [[run.warm_start_regret or 0.0 for run in cell.runs] for cell in widest.cells]
    by_seed = np.array([fmean(level) for level in levels])
    interval = None
    if len(by_seed) >= FEWEST_SEEDS:
        low, high = t_interval(by_seed)
        interval = max(float(low), 0.0), float(high)
    summaries = _warm_starts(widest.runs)
    regret = float(by_seed.mean())
    return Start(
        regret=regret,
        interval=interval,
        seconds=fmean(each.seconds for each in summaries),
        epochs=fmean(each.epochs for each in summaries),
        improved=any(result.regret() < result.warm_start_regret for result in results
                     if result.warm_start_regret is not None),
        label=label,
    )  # fmt: skip


def _warm_starts(runs: Iterable[Run]) -> list[WarmStartSummary]:
    summaries = (run.record.summary for run in runs)
    return [each.warm_start for each in summaries if each and each.warm_start]


def _place(standing: Standing) -> tuple[bool, float, tuple[float, float, str]]:
    result = standing.result
    regret = 0.0 if standing.is_best else result.regret()
    return not standing.is_best, regret, method_order(result.method)
