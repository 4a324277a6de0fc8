"""Methods × settings as one block of numbers: what every comparison across settings starts from.

A block design needs every method in every setting. Methods that ran in few settings are left out
as long as that leaves more results to compare: a method with full coverage is not restricted to the
settings that slow methods finished. What is left out is always named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Run, Unit
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural, title
from dglbench.statistics import Numbers

__all__ = ["Blocks", "average_ranks", "blocks", "check_baseline", "geometric_mean"]


class Blocks(NamedTuple):
    """A complete comparison: every method has a run in every unit."""

    units: tuple[Unit, ...]
    methods: tuple[str, ...]
    runs: tuple[tuple[Run, ...], ...]
    """By unit, then by method."""
    left_out: tuple[str, ...]
    """What is missing and why, in sentences."""

    @property
    def regret(self) -> Numbers:
        """(units, methods) test relative regret."""
        shape = (len(self.units), len(self.methods))
        return np.array([[run.test_regret for run in row] for row in self.runs]).reshape(shape)

    @property
    def families(self) -> int:
        """How many settings there are when seeds are not counted."""
        return len({unit.family for unit in self.units})

    @property
    def scope(self) -> str:
        """Say how many settings there are, and how many of them are seeds of the same."""
        words = plural(len(self.units), "setting")
        if self.families == len(self.units):
            return words
        return f"{words} ({self.families} if seeds are counted once)"


def blocks(report: Report, methods: Sequence[str] | None = None) -> Blocks:
    """Return the largest part of the report in which nothing is missing.

    Methods are left out by how few settings they have; of equally large parts the one with more
    settings is taken, because tests across settings gain from their number.
    """
    units = [unit for unit in report.units if report.chosen_runs(unit)]
    asked = list(report.methods if methods is None else methods)
    count = {name: sum((unit.key, name) in report.chosen for unit in units) for name in asked}
    parts = []
    for least in set(count.values()):
        names = [name for name in asked if count[name] >= least]
        whole = [u for u in units if all((u.key, name) in report.chosen for name in names)]
        parts.append((names, whole))
    # One method alone is no comparison, however many settings it has.
    kept, full = max(
        parts,
        key=lambda part: (len(part[0]) > 1, len(part[0]) * len(part[1]), len(part[1])),
        default=([], []),
    )
    left_out = [
        f"{style(name).label} is left out: it has a result in {count[name]} of "
        f"{plural(len(units), 'setting')}."
        for name in asked
        if name not in kept
    ]
    if len(full) < len(units):
        names = [title(unit) for unit in units if unit not in full]
        left_out.append(f"Left out, as some method has no result there: {listing(names)}.")
    runs = tuple(tuple(report.chosen[unit.key, name] for name in kept) for unit in full)
    return Blocks(tuple(full), tuple(kept), runs, tuple(left_out))


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
