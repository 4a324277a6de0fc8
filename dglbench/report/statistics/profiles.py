"""Speed over many settings: performance profiles and an anytime score.

*Profile* (Dolan and Moré 2002). In setting s a method takes t seconds until it is
within 5 % of the lowest regret there (infinite if it never is). ρ(f) is the share
of settings in which it takes at most f times what the quickest method takes.

*Anytime score*. The mean over log time of a method's best-so-far test regret,
from the first epoch any method finished to the last, scaled so that 0 is the
lowest final regret of the data seed from the first moment on, and 1 the warm start
all the way:

    (1 / log(T/t₀)) ∫ (regret(t) − best) / (start − best) d log t

Settings whose seconds may not be ranked, or where training gained nothing, are
left out and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.complete_blocks import blocks
from dglbench.report.statistics.curves import curves, reference_regret
from dglbench.report.statistics.time_to_regret import NEAR, Reach, best_result
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing
from dglbench.statistics import Numbers

__all__ = [
    "Mean",
    "Times",
    "anytime_means",
    "anytime_scores",
    "area",
    "not_everywhere",
    "times_to_target",
]


class Times(NamedTuple):
    """Seconds to the target, (settings, methods); infinite where it was never met."""

    settings: tuple[Comparison, ...]
    methods: tuple[str, ...]
    seconds: Numbers
    left_out: tuple[str, ...]

    @property
    def factors(self) -> Numbers:
        """How many times what the quickest method of the setting took."""
        quickest = self.seconds.min(axis=1, keepdims=True)
        return np.where(np.isfinite(self.seconds), self.seconds / quickest, np.inf)

    def share(self, method: str, factor: float) -> float:
        """ρ(f): the share of settings in which the method is within this factor."""
        own = self.factors[:, self.methods.index(method)]
        # A tiny allowance, so that a ratio computed as 1.9999999 or 2.0000001 is 2.
        return float((own <= factor * (1 + 1e-9)).mean())


def times_to_target(report: Report, reach: Reach | None = None) -> Times:
    """Return the times to within 5 % of the best in every setting that may be timed."""
    reach = reach or Reach(report)
    settings, left_out = _timed(report)
    table = np.full((len(settings), len(report.methods)), np.inf)
    for row, comparison in enumerate(settings):
        targets = ((1 + NEAR) * best_result(comparison.results).by_seed()).tolist()
        for result in comparison.results:
            spent = reach.time_to(result, targets)
            if spent is not None:
                table[row, report.methods.index(result.method)] = spent
    return Times(tuple(settings), tuple(report.methods), table, left_out)


def not_everywhere(times: Times, methods: Sequence[str]) -> list[str]:
    """Name those of the methods that were not run in every setting of a profile."""
    absent = [
        style(method).label
        for method in methods
        if any(method not in comparison.methods for comparison in times.settings)
    ]
    words = "not run in all settings, which counts as not getting there"
    return [f"{words}: {listing(absent)}"] if absent else []


def anytime_scores(report: Report) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return setting → method → score, the mean over its runs; and what was left out."""
    settings, left_out = _timed(report)
    scores: dict[str, dict[str, float]] = {}
    still = []
    for comparison in settings:
        found = [score for unit in comparison.units if (score := _scores(report, comparison, unit))]
        if not found:
            still.append(comparison.title)
        else:
            scores[comparison.label] = {
                method: float(np.mean([score[method] for score in found]))
                for method in comparison.methods
            }
    if still:
        left_out = (*left_out, f"No method improved on the warm start: {listing(still)}.")
    return scores, left_out


def _scores(report: Report, comparison: Comparison, unit: Unit) -> dict[str, float]:
    """Return the mean score of each method's repeats on one data seed; empty if nothing gained."""
    cells = [report.chosen[unit.key, method] for method in comparison.methods]
    start = reference_regret(report, unit)
    best = min(cell.regret() for cell in cells)
    frame = curves(report, [run for cell in cells for run in cell.runs])
    epochs = frame.filter((pl.col("epoch") > 0) & (pl.col("elapsed_s") > 0))["elapsed_s"]
    if start is None or start <= best or epochs.is_empty():
        return {}
    first, last = float(epochs.min()), float(epochs.max())  # type: ignore[arg-type]
    each: dict[str, list[float]] = {}
    for rows in frame.partition_by("run_id", maintain_order=True):
        levels = np.minimum(rows["best_test_regret"].to_numpy(), start)
        mean = area(rows["elapsed_s"].to_numpy(), levels, start, (first, last))
        each.setdefault(str(rows["method"][0]), []).append((mean - best) / (start - best))
    return {method: float(np.mean(values)) for method, values in each.items()}


class Mean(NamedTuple):
    """A method's mean anytime score."""

    score: float
    settings: int
    """How many it is over."""
    shared: bool
    """Whether these are the same settings for all methods that share them: those compare."""


def anytime_means(report: Report, scores: Mapping[str, Mapping[str, float]]) -> dict[str, Mean]:
    """Return every method's mean score, the lowest first and those that compare before the others.

    Methods compare over the settings of the largest complete part of the report, as mean ranks do:
    a method must not lead because it ran where scores are low. Others have a mean of their own.
    """
    part = blocks(report)
    same = [each.label for each in part.settings if each.label in scores]
    means = {}
    for method in report.methods:
        shared = method in part.methods and bool(same)
        own = [label for label in (same if shared else scores) if method in scores[label]]
        if own:
            score = float(np.mean([scores[label][method] for label in own]))
            means[method] = Mean(score, len(own), shared)
    return dict(sorted(means.items(), key=lambda item: (not item[1].shared, item[1].score)))


def area(times: Numbers, levels: Numbers, before: float, window: tuple[float, float]) -> float:
    """Return the mean over log time of a step function that is ``before`` until its first step."""
    low, high = (math.log(end) for end in window)
    if high <= low:
        return float(levels[-1])
    steps = np.clip(np.log(np.maximum(times, 1e-12)), low, high)
    edges = np.concatenate([[low], steps, [high]])
    heights = np.concatenate([[before], levels])
    return float((np.diff(edges) * heights).sum() / (high - low))


def _timed(report: Report) -> tuple[list[Comparison], tuple[str, ...]]:
    settings = [each for each in by_setting(report) if len(each.results) > 1]
    unlike = [
        each
        for each in settings
        if any(not report.comparability(unit).comparable for unit in each.units)
    ]
    left_out = (
        (f"Times measured under different conditions: {listing([each.title for each in unlike])}.",)
        if unlike
        else ()
    )
    kept = [each for each in settings if each not in unlike]
    if not kept and not left_out:
        left_out = ("Speed is compared where a setting has two methods or more.",)
    return kept, left_out
