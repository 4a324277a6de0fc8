"""Which methods differ over many settings? Friedman's test, mean ranks, paired tests after it.

Each setting ranks the methods by test regret, averaged over its repeats and data seeds.
Friedman asks whether mean ranks differ at all. Pairs are then compared by Wilcoxon's
signed-rank test on the relative differences (a − b)/((a + b)/2), whose order is
that of log a/b, with p-values corrected by Holm over all pairs; with a baseline,
over the pairs that hold it (Demšar 2006; Benavoli et al. 2016).

Wilcoxon's p cannot fall below 2/2ᴺ over N settings. Where not even that survives
Holm's first step, the pairs are compared by Nemenyi's critical difference of
mean ranks, q·√(k(k+1)/6N), and the report says so: which test is used depends on
how many settings and methods there are, never on what they show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from dglbench.report.loading import Report
from dglbench.report.statistics.complete_blocks import Blocks, average_ranks, blocks
from dglbench.report.style.titles import plural
from dglbench.statistics import Numbers

__all__ = ["LEVEL", "Ranking", "critical_difference", "holm", "p_words", "ranking"]

LEVEL = 0.05


class Ranking(NamedTuple):
    """Mean ranks of the methods, best first, and which of them differ."""

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
        """Say whether the test in use finds a difference between two methods."""
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
                f"Pairs are compared by Wilcoxon's signed-rank test over {settings}, corrected "
                f"for {plural(pairs, 'pair')} (Holm), at {_share(LEVEL)}."
            )
        return (
            f"Over {settings} Wilcoxon's test cannot distinguish any of {plural(pairs, 'pair')} "
            f"(its p is at least {p_words(_smallestp_words(len(self.blocks.settings)))}; it takes "
            f"{_settings_needed(pairs)} settings), so pairs are compared by Nemenyi's "
            f"critical difference of {self.difference:.1f} ranks, at {_share(LEVEL)}."
        )

    @property
    def friedman_words(self) -> str:
        """Say what Friedman's test says of all methods together."""
        if self.friedman_p is None:
            return ""
        some = "differ" if self.friedman_p < LEVEL else "may all be equal"
        return f"Friedman: the methods {some} (p {p_words(self.friedman_p)})."


def ranking(report: Report, baseline: str | None = None, r: int = 1) -> Ranking | None:
    """Rank the methods over the settings by best of r; None where there are not two of each."""
    design = blocks(report)
    if len(design.settings) < 2 or len(design.methods) < 2:
        return None
    regret = design.regret(r)
    mean_ranks = average_ranks(regret).mean(axis=0)
    order = np.argsort(mean_ranks, kind="stable")
    methods = tuple(design.methods[at] for at in order)
    columns = {name: regret[:, design.methods.index(name)] for name in methods}
    listed = [pair for pair in combinations(methods, 2) if baseline is None or baseline in pair]
    adjusted = holm([_wilcoxon(columns[one], columns[other]) for one, other in listed])
    settings = len(design.settings)
    able = _smallestp_words(settings) * len(listed) < LEVEL
    return Ranking(
        design,
        methods,
        tuple(float(mean_ranks[at]) for at in order),
        _friedman(regret),
        dict(zip(listed, adjusted, strict=True)),
        "wilcoxon" if able else "nemenyi",
        critical_difference(len(methods), settings),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number; a baseline that was left out leaves no pair."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p_values, method="holm")[1].tolist() if p_values else []


def critical_difference(methods: int, settings: int) -> float:
    """Return Nemenyi's critical difference: q/√2 · √(k(k+1)/6N), q of the studentised range."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, methods, np.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * settings))


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


def _smallestp_words(settings: int) -> float:
    return min(1.0, 2.0 ** (1 - settings))


def _settings_needed(pairs: int) -> int:
    return next(n for n in range(1, 64) if _smallestp_words(n) * pairs < LEVEL)


def p_words(value: float) -> str:
    """Write a p-value."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
