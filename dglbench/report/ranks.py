"""Which methods differ over many settings? Friedman's test, mean ranks, paired tests after it.

Each setting (with its data seed) ranks the methods by test regret. Friedman asks
whether mean ranks differ at all. Pairs are then told apart by Wilcoxon's
signed-rank test on the relative differences (a − b)/((a + b)/2), whose order is
that of log a/b, with p-values corrected by Holm over all pairs; with a baseline,
over the pairs that hold it (Demšar 2006; Benavoli et al. 2016).

Wilcoxon's p cannot fall below 2/2ᴺ over N settings. Where not even that survives
Holm's first step, the pairs are told apart by Nemenyi's critical difference of
mean ranks, q·√(k(k+1)/6N), and the report says so: which test is used depends on
how many settings and methods there are, never on what they show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from dglbench.report.complete_blocks import Blocks, average_ranks, blocks, check_baseline
from dglbench.report.load import Report
from dglbench.report.palette import style
from dglbench.report.sheet import Cell, Column, Sheet
from dglbench.report.titles import plural
from dglbench.statistics import Numbers

__all__ = ["LEVEL", "Ranking", "critical_difference", "holm", "ranking", "ranks"]

LEVEL = 0.05


class Ranking(NamedTuple):
    """Mean ranks of the methods, best first, and which of them may be told apart."""

    blocks: Blocks
    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    friedman_p: float | None
    """None for two methods, where Friedman has nothing to add."""
    pairs: dict[tuple[str, str], float]
    """(better, worse by mean rank) to Wilcoxon's p after Holm."""
    test: Literal["wilcoxon", "nemenyi"]
    difference: float
    """Nemenyi's critical difference."""

    def rank(self, method: str) -> float:
        """Return the mean rank of a method."""
        return self.mean_ranks[self.methods.index(method)]

    def differ(self, first: str, second: str) -> bool:
        """Say whether two methods are told apart by the test in use."""
        pair = (first, second) if (first, second) in self.pairs else (second, first)
        if self.test == "nemenyi":
            return abs(self.rank(first) - self.rank(second)) > self.difference
        return self.pairs.get(pair, 1.0) < LEVEL

    @property
    def cliques(self) -> list[tuple[str, str]]:
        """First and last of each longest stretch of neighbours of which no two differ."""
        found: list[tuple[int, int]] = []
        for start in range(len(self.methods)):
            stop = start
            while stop + 1 < len(self.methods) and not any(
                self.differ(self.methods[at], self.methods[stop + 1])
                for at in range(start, stop + 1)
            ):
                stop += 1
            if stop > start and not any(stop <= last for _, last in found):
                found.append((start, stop))
        return [(self.methods[start], self.methods[stop]) for start, stop in found]

    @property
    def test_words(self) -> str:
        """Say which test was used, on how much, and what it could show at best."""
        settings, pairs = self.blocks.scope, len(self.pairs)
        if self.test == "wilcoxon":
            return (
                f"Pairs are told apart by Wilcoxon's signed-rank test over {settings}, corrected "
                f"for {plural(pairs, 'pair')} (Holm), at {_share(LEVEL)}."
            )
        return (
            f"Over {settings} Wilcoxon's test cannot tell any of {plural(pairs, 'pair')} apart "
            f"(its p is at least {_p(_smallest_p(len(self.blocks.units)))}; it takes "
            f"{_settings_needed(pairs)} settings), so pairs are told apart by Nemenyi's "
            f"critical difference of {self.difference:.1f} ranks, at {_share(LEVEL)}."
        )

    @property
    def friedman_words(self) -> str:
        """Say what Friedman's test says of all methods together."""
        if self.friedman_p is None:
            return ""
        some = "differ" if self.friedman_p < LEVEL else "may all be alike"
        return f"Friedman: the methods {some} (p {_p(self.friedman_p)})."


def ranking(report: Report, baseline: str | None = None) -> Ranking | None:
    """Rank the methods over the settings; None where there are not two of each."""
    design = blocks(report)
    if len(design.units) < 2 or len(design.methods) < 2:
        return None
    regret = design.regret
    mean_ranks = average_ranks(regret).mean(axis=0)
    order = np.argsort(mean_ranks, kind="stable")
    methods = tuple(design.methods[at] for at in order)
    columns = {name: regret[:, design.methods.index(name)] for name in methods}
    listed = [pair for pair in combinations(methods, 2) if baseline is None or baseline in pair]
    adjusted = holm([_wilcoxon(columns[one], columns[other]) for one, other in listed])
    units = len(design.units)
    able = _smallest_p(units) * len(listed) < LEVEL
    return Ranking(
        design,
        methods,
        tuple(float(mean_ranks[at]) for at in order),
        _friedman(regret),
        dict(zip(listed, adjusted, strict=True)),
        "wilcoxon" if able else "nemenyi",
        critical_difference(len(methods), units),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number: the i-th smallest of m times m − i + 1, not decreasing."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for done, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - done) * p_values[at]))
        adjusted[at] = highest
    return adjusted


def critical_difference(methods: int, settings: int) -> float:
    """Return Nemenyi's critical difference: q/√2 · √(k(k+1)/6N), q of the studentised range."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, methods, np.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * settings))


def ranks(report: Report, baseline: str | None = None) -> Sheet:
    """List mean ranks and what tells each pair apart."""
    baseline = check_baseline(report, baseline)
    found = ranking(report, baseline)
    if found is None:
        why = "Ranks over settings need two methods with results in two settings or more."
        return Sheet("ranks", "Ranks over settings", _COLUMNS, (), (why,))
    rows = []
    for better, worse in found.pairs:
        apart = found.differ(better, worse)
        gap = found.rank(worse) - found.rank(better)
        wins = _wins(found.blocks, better, worse)
        word = "better" if apart else "not distinguishable"
        rows.append(
            (
                Cell(style(better).label, better, "best" if apart else ""),
                Cell(f"{found.rank(better):.2f}", found.rank(better)),
                Cell(style(worse).label, worse),
                Cell(f"{found.rank(worse):.2f}", found.rank(worse)),
                Cell(f"{gap:.2f}", gap),
                Cell(f"{wins} of {len(found.blocks.units)}", wins),
                Cell(_p(found.pairs[better, worse]), found.pairs[better, worse]),
                Cell(word, word, "best" if apart else "muted"),
            )
        )
    notes = [f"{found.friedman_words} {found.test_words}".strip()]
    notes += [
        "Seeds of one setting are counted as settings of their own; they are less different "
        "than two tasks are."
    ] * (found.blocks.families < len(found.blocks.units))
    return Sheet("ranks", "Ranks over settings", _COLUMNS, tuple(rows),
                 (*notes, *found.blocks.left_out))  # fmt: skip


_COLUMNS = (
    Column("method", "method", "the method with the lower mean rank"),
    Column("rank", "mean rank", "mean over settings; 1 is the lowest regret", numeric=True),
    Column("other", "against", "the method it is compared with"),
    Column("other_rank", "its rank", "mean rank of the other", numeric=True),
    Column("gap", "ranks apart", "difference of the mean ranks", numeric=True),
    Column("wins", "lower in", "settings in which its regret is lower", numeric=True),
    Column("p_holm", "p (Wilcoxon–Holm)", "signed-rank test, corrected over pairs", numeric=True),
    Column("verdict", "so", "whether the test in use tells them apart"),
)


def _friedman(regret: Numbers) -> float | None:
    from scipy.stats import friedmanchisquare

    if regret.shape[1] < 3:
        return None
    if np.ptp(average_ranks(regret), axis=1).max() == 0:
        return 1.0  # all methods tie everywhere: 0/0 in the statistic
    return float(friedmanchisquare(*regret.T).pvalue)


def _wilcoxon(first: Numbers, second: Numbers) -> float:
    from scipy.stats import wilcoxon

    middle = (first + second) / 2
    relative = np.divide(first - second, middle, out=np.zeros_like(middle), where=middle > 0)
    if not relative.any():
        return 1.0
    # Rounded, so that differences that are equal but for the last bit count as ties.
    return float(wilcoxon(np.round(relative, 12)).pvalue)


def _wins(design: Blocks, better: str, worse: str) -> int:
    one, other = (design.regret[:, design.methods.index(name)] for name in (better, worse))
    return int((one < other).sum())


def _smallest_p(settings: int) -> float:
    return min(1.0, 2.0 ** (1 - settings))


def _settings_needed(pairs: int) -> int:
    return next(n for n in range(1, 64) if _smallest_p(n) * pairs < LEVEL)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
