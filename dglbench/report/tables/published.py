"""Published figures re-made: theirs beside ours, run by run."""

from __future__ import annotations

import math

import numpy as np

from dglbench.report.loading import Report
from dglbench.report.published.figures import LEAST_SQUARES, Match, matches
from dglbench.report.statistics.intervals import FEWEST_SEEDS, t_interval
from dglbench.report.tables.sheet import NOTHING, Cell, Column, Sheet, Tone, count, text
from dglbench.statistics import Numbers
from dglbench.words import seconds

__all__ = ["published"]

_NEAR = 0.003
"""Means of SPO+ nearer than this are taken to agree."""
_EXACT = {"shortest-path": 1e-9, "multi-knapsack": 1e-6}
"""How far a run of least squares may be from the published figure."""


def published(report: Report) -> Sheet:
    """List every published setting that the folder has runs of."""
    rows = [_row(match) for match in matches(report.current)]
    notes = [
        "published: PyEPO's authors, runs 0 to 9, here data seeds 0 to 9 of source=published "
        "(Tang and Khalil 2024). regret: Σ regret / (Σ |z*| + 0.001), mean ± standard deviation "
        "over the runs that both have. difference: ours less theirs, run by run, with the 95 % t "
        "interval of its mean; largest: of any one run.",
        "agrees: least squares within 1e-9 a run on paths and 1e-6 on knapsacks; SPO+ if the "
        "interval holds 0 or the means are within 0.3 points, as torch's seeds there are not "
        "known. seconds: of training, here on this machine, theirs with Gurobi on 8 or 32 "
        "processes.",
    ]
    if not rows:
        notes = [
            "There are no runs of published settings here; `dglbench sweep --preset published` "
            "makes them."
        ]
    return Sheet("published", "Published results, made again", _COLUMNS, tuple(rows), tuple(notes),
                 by="setting")  # fmt: skip


_COLUMNS = (
    Column("setting", "setting", "task and size"),
    Column("train", "train", "training instances", numeric=True),
    Column("degree", "degree", "of the polynomial", numeric=True),
    Column("method", "method", "as it is called there"),
    Column("runs", "runs", "runs that both have", numeric=True),
    Column("published_regret", "published", "mean ± sd there", numeric=True),
    Column("regret", "ours", "mean ± sd here", numeric=True),
    Column("difference", "difference", "mean, with its interval", numeric=True),
    Column("largest", "largest", "largest difference of a run", numeric=True),
    Column("verdict", "so", "whether they agree"),
    Column("published_s", "their time", "seconds of a run there", numeric=True),
    Column("seconds", "our time", "training seconds of a run here", numeric=True),
)


def _row(match: Match) -> tuple[Cell, ...]:
    entry, seeds = match.published, list(match.seeds)
    theirs, differences = entry.regrets[seeds], match.differences
    mean, low, high = float(differences.mean()), math.nan, math.nan
    if len(seeds) >= FEWEST_SEEDS:
        low, high = (float(end) for end in t_interval(differences))
    largest = float(np.abs(differences).max())
    verdict = _verdict(match, mean, low, high, largest)
    tone: Tone = "best" if verdict == "agrees" else "bad" if verdict == "differs" else "muted"
    points = f"{100 * mean:+.2f}"
    if math.isfinite(low):
        points += f" ({100 * low:+.2f} to {100 * high:+.2f})"
    exact = entry.method == LEAST_SQUARES
    return (
        text(entry.setting),
        count(entry.train),
        count(entry.degree),
        text(entry.method),
        count(len(seeds)),
        _spread(theirs),
        _spread(match.ours),
        Cell(f"{mean:.1e}" if exact else points, mean),
        Cell(f"{largest:.1e}" if exact else f"{100 * largest:.2f}", largest),
        Cell(verdict, verdict, tone),
        Cell(seconds(entry.seconds), entry.seconds),
        Cell(seconds(match.seconds), match.seconds) if match.seconds else NOTHING,
    )


def _verdict(match: Match, mean: float, low: float, high: float, largest: float) -> str:
    entry = match.published
    if entry.method == LEAST_SQUARES:
        bar = next(bar for task, bar in _EXACT.items() if entry.setting.startswith(task))
        return "agrees" if largest <= bar else "differs"
    if abs(mean) <= _NEAR or low <= 0 <= high:
        return "agrees"
    return "differs" if math.isfinite(low) else "too few runs"


def _spread(regrets: Numbers) -> Cell:
    mean = float(regrets.mean())
    if len(regrets) < 2:
        return Cell(f"{100 * mean:.2f}", mean)
    return Cell(f"{100 * mean:.2f} ± {100 * float(regrets.std(ddof=1)):.2f}", mean)
