"""Methods × settings as one block of numbers: what every comparison across settings starts from.

A row is a setting, with its data seeds and repeats inside: a second seed of the same setting is no
second setting. A block design needs every method in every setting. Methods that ran in few settings
are left out as long as that leaves more results to compare: a method with full coverage is not
restricted to the settings that slow methods finished. What is left out is always named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import Comparison, by_setting, complete_part
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural
from dglbench.statistics import Numbers

__all__ = ["Blocks", "average_ranks", "blocks", "check_baseline", "geometric_mean"]


class Blocks(NamedTuple):
    """A complete comparison: every method has a result in every setting."""

    settings: tuple[Comparison, ...]
    methods: tuple[str, ...]
    results: tuple[tuple[Result, ...], ...]
    """By setting, then by method."""
    left_out: tuple[str, ...]
    """What is missing and why, in sentences."""

    def regret(self, r: int = 1) -> Numbers:
        """(settings, methods) expected test regret of best of r.

        Rounded, so that means that are equal but for the last bit tie.
        """
        shape = (len(self.settings), len(self.methods))
        found = np.array([[each.regret(r) for each in row] for row in self.results])
        return found.reshape(shape).round(12)

    @property
    def most(self) -> int:
        """The largest r of which best of r may be shown everywhere."""
        return min((each.most for row in self.results for each in row), default=1)

    @property
    def scope(self) -> str:
        """Say how many settings there are, and what is averaged within them."""
        words = plural(len(self.settings), "setting")
        seeds = _range([len(each.units) for each in self.settings])
        results = [result for row in self.results for result in row]
        # What draws nothing has one run and no use for more.
        drawn = [result for result in results if result.draws] or results
        repeats = _range([result.repeats for result in drawn])
        inside = [f"{seeds} data seeds"] if seeds not in ("", "1") else []
        inside += [f"{repeats} repeats"] if repeats not in ("", "1") else []
        return f"{words} ({' and '.join(inside)} each)" if inside else words


def _range(counts: Sequence[int]) -> str:
    return (
        " to ".join(dict.fromkeys(f"{end}" for end in (min(counts), max(counts)))) if counts else ""
    )


def blocks(report: Report, methods: Sequence[str] | None = None) -> Blocks:
    """Return the largest part of the report in which nothing is missing."""
    settings = by_setting(report)
    asked = list(report.methods if methods is None else methods)
    kept, full = complete_part(asked, settings, lambda name, each: name in each.methods)
    left_out = []
    for name in asked:
        if name not in kept:
            count = sum(name in each.methods for each in settings)
            left_out.append(
                f"{style(name).label} is left out: it has a result in {count} of "
                f"{plural(len(settings), 'setting')}."
            )
    if len(full) < len(settings):
        names = [each.title for each in settings if each not in full]
        left_out.append(f"Left out, as some method has no result there: {listing(names)}.")
    rows = tuple(tuple(each for name in kept if (each := of.result(name))) for of in full)
    return Blocks(tuple(full), tuple(kept), rows, tuple(left_out))


def average_ranks(values: Numbers) -> Numbers:
    """Rank each row, 1 for the lowest; ties share the mean of their places, NaN comes last."""
    from scipy.stats import rankdata

    ranked: Numbers = rankdata(np.where(np.isnan(values), np.inf, values), axis=1)
    return ranked


def geometric_mean(values: Sequence[float]) -> float:
    """Return exp(mean(log)): the mean for quantities that are compared by ratio."""
    positive = np.asarray(values, dtype=float)
    if positive.size == 0 or not (positive > 0).all():
        return float("nan")
    return float(np.exp(np.log(positive).mean()))


def check_baseline(report: Report, baseline: str | None) -> str | None:
    """Return the baseline if it was run, or say which methods were."""
    if baseline is not None and baseline not in report.methods:
        raise ReportError(
            f"there is no result of the baseline {baseline!r}; "
            f"there are {', '.join(report.methods)}."
        )
    return baseline
