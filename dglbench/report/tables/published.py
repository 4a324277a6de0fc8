"""Published figures re-made: theirs beside ours, run by run."""

from __future__ import annotations

import math

import numpy as np

from dglbench.report.loading import Report
from dglbench.report.published.figures import LEAST_SQUARES, Published
from dglbench.report.published.matching import Match, matches
from dglbench.report.statistics.intervals import FEWEST_SEEDS, one_more_interval, t_interval
from dglbench.report.tables.sheet import NOTHING, Cell, Column, Sheet, Tone, count, text
from dglbench.statistics import Numbers
from dglbench.words import seconds

__all__ = ["published"]

_NEAR = 0.003
"""Means nearer than this are taken to agree, unless the method has a closed form."""
_EXACT = {"shortest-path": 1e-9, "multi-knapsack": 1e-6}
"""How far a run of least squares may be from the published figure."""
_TITLES = {
    "published": "PyEPO's experiments",
    "cave": "CaVE's experiments",
    "notebook": "the notebook of PyEPO 2.2",
}


def published(report: Report) -> Sheet:
    """List every published setting that the folder has runs of."""
    found = matches(report.current)
    rows = [_row(match) for match in found]
    notes = [
        "published: regrets of Tang and Khalil (2024) by data seed. regret: Σ regret / Σ |z*|, in "
        "% (PyEPO's experiments add 0.001 below the line), mean ± standard deviation over the "
        "data seeds that both have, ours each the mean of its repeats. difference: ours less "
        "theirs, seed by seed, in points, with the 95 % t interval of its mean; largest: of any "
        "one seed.",
        "agrees: least squares within 1e-9 a run on paths and 1e-6 on knapsacks; the others if "
        "the interval holds 0 or the means are within 0.3 points, as torch's seeds there are "
        "not known. corrected: with the subgradient of each instance, where the code of the "
        "published runs averaged it over the batch (option averaged). seconds: of training, here "
        "on this machine, theirs with Gurobi on 1, 8 or 32 processes.",
    ]
    if any(_single(match.published) for match in found):
        notes.append(
            "Where one run was published, ours are repeats on its data: the spread is theirs, and "
            "the interval is where the difference to one more such run lies in 95 %."
        )
    if not rows:
        notes = [
            "There are no runs of published settings here; `dglbench sweep --preset published` "
            "makes them, and so do the presets published-cave and published-notebook."
        ]
    return Sheet("published", "Published results, made again", _COLUMNS, tuple(rows), tuple(notes),
                 by="experiment")  # fmt: skip


_COLUMNS = (
    Column("experiment", "experiment", "whose figures, and of which setting"),
    Column("setting", "setting", "task and size", files_only=True),
    Column("train", "train", "training instances", numeric=True),
    Column("degree", "degree", "of the polynomial", numeric=True),
    Column("method", "method", "as it is called there"),
    Column("epochs", "epochs", "of our runs, and theirs if other", numeric=True),
    Column("runs", "runs", "data seeds that both have; of one run, our repeats", numeric=True),
    Column("published_regret", "published", "mean ± sd there", numeric=True),
    Column("regret", "ours", "mean ± sd here", numeric=True),
    Column("difference", "difference", "mean, with its interval", numeric=True),
    Column("largest", "largest", "largest difference of a seed", numeric=True),
    Column("low", "low", "lower end of the interval", numeric=True, files_only=True),
    Column("high", "high", "upper end of the interval", numeric=True, files_only=True),
    Column("verdict", "so", "whether they agree"),
    Column("published_s", "their time", "seconds of a run there", numeric=True),
    Column("seconds", "our time", "training seconds of a run here", numeric=True),
)


def _row(match: Match) -> tuple[Cell, ...]:
    entry, differences = match.published, match.differences
    mean, largest = float(differences.mean()), float(np.abs(differences).max())
    low, high = _interval(match)
    verdict = _verdict(match, mean, low, high, largest)
    tone: Tone = "best" if verdict == "agrees" else "bad" if verdict == "differs" else "muted"
    points = f"{100 * mean:+.2f}"
    if math.isfinite(low):
        points += f" ({100 * low:+.2f} to {100 * high:+.2f})"
    exact = entry.method == LEAST_SQUARES
    known = math.isfinite(entry.seconds)
    return (
        text(f"{_TITLES[entry.source]}: {entry.setting}"),
        text(entry.setting),
        count(entry.train),
        count(entry.degree),
        text(match.method),
        _epochs(match),
        count(len(match.repeats[0]) if _single(entry) else len(match.seeds)),
        _spread(match.theirs),
        _spread(match.repeats[0] if _single(entry) else match.ours),
        Cell(f"{mean:.1e}" if exact else points, mean),
        Cell(f"{largest:.1e}" if exact else f"{100 * largest:.2f}", largest),
        Cell("", low if math.isfinite(low) else None),
        Cell("", high if math.isfinite(high) else None),
        Cell(verdict, verdict, tone),
        Cell(seconds(entry.seconds), entry.seconds) if known else NOTHING,
        Cell(seconds(match.seconds), match.seconds) if match.seconds else NOTHING,
    )


def _single(entry: Published) -> bool:
    return len(entry.seeds) == 1


def _interval(match: Match) -> tuple[float, float]:
    """Return the interval of the difference; NaN with too few runs."""
    if _single(match.published):
        draws = match.repeats[0] - match.theirs[0]
        found = one_more_interval(draws) if len(draws) >= FEWEST_SEEDS else None
    else:
        few = len(match.seeds) < FEWEST_SEEDS
        found = None if few else t_interval(match.differences)
    return (math.nan, math.nan) if found is None else (float(found[0]), float(found[1]))


def _verdict(match: Match, mean: float, low: float, high: float, largest: float) -> str:
    entry = match.published
    if entry.method == LEAST_SQUARES:
        bar = next(bar for task, bar in _EXACT.items() if entry.setting.startswith(task))
        return "agrees" if largest <= bar else "differs"
    if abs(mean) <= _NEAR or low <= 0 <= high:
        return "agrees"
    return "differs" if math.isfinite(low) else "too few runs"


def _epochs(match: Match) -> Cell:
    ours, theirs = match.epochs, match.published.epochs
    if ours is None:
        return NOTHING
    words = f"{ours:,}" if ours == theirs else f"{ours:,} of {theirs:,}"
    return Cell(words, ours)


def _spread(regrets: Numbers) -> Cell:
    mean = float(regrets.mean())
    if len(regrets) < 2:
        return Cell(f"{100 * mean:.2f}", mean)
    return Cell(f"{100 * mean:.2f} ± {100 * float(regrets.std(ddof=1)):.2f}", mean)
