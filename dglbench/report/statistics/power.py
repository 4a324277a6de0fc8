"""How many data seeds and repeats a comparison needs before it can be expected to show a gap.

On data seed s the difference of two methods, each averaged over r repeats, varies with variance

    b² + w²/r,

b² from data seed to data seed and w² from repeat to repeat (both methods' together). A paired t
test over S data seeds then finds a true gap g with a probability, its power, that follows from
Student's t off its centre, with S − 1 degrees of freedom, at g √S / √(b² + w²/r).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dglbench.report.cells import Result

__all__ = ["FEW_SEEDS", "GAP", "MOST_SEEDS", "POWER", "Spread", "pair_spread", "seeds_needed"]

GAP = 0.005
"""Half a percentage point of regret."""
POWER, LEVEL = 0.8, 0.05
FEW_SEEDS = 5
"""With fewer data seeds a spread may be several times what was seen: a lower bound is given."""
MOST_SEEDS = 1000
_NORMAL = 1.959964 + 0.841621
"""Quantiles of 97.5 % and 80 %."""


class Spread(NamedTuple):
    """How the difference of two methods varies."""

    seeds: int
    repeats: int
    seen: float | None
    """Standard deviation of the paired differences over data seeds, at so many repeats."""
    low: float | None
    high: float | None
    """Ends of its 95 % interval (χ²)."""
    within: float | None
    """Standard deviation from repeat to repeat, both methods' together; None without repeats."""

    def at(self, repeats: int, seen: float) -> float | None:
        """Return the standard deviation at another number of repeats, if ``seen`` is the one here.

        None if more or fewer repeats cannot be spoken of, because there was one.
        """
        if repeats == self.repeats:
            return seen
        if self.within is None:
            return None
        between = max(seen**2 - self.within**2 / self.repeats, 0.0)
        return math.sqrt(between + self.within**2 / repeats)


def pair_spread(one: Result, other: Result) -> Spread:
    """Return how the difference of two methods varied over the data seeds that they share."""
    from scipy.stats import chi2

    apart = one.by_seed() - other.by_seed()
    seeds = len(apart)
    repeats = min(one.repeats, other.repeats)
    within = None
    if repeats > 1:
        squares = [
            float(
                np.mean([cell.regrets.var(ddof=1) for cell in result.cells if len(cell.runs) > 1])
            )
            for result in (one, other)
            if any(len(cell.runs) > 1 for cell in result.cells)
        ]
        within = math.sqrt(sum(squares))
    if seeds < 2:
        return Spread(seeds, repeats, None, None, None, within)
    seen, free = float(apart.std(ddof=1)), seeds - 1
    low, high = (seen * math.sqrt(free / float(chi2.ppf(p, free))) for p in (0.975, 0.025))
    return Spread(seeds, repeats, seen, low, high, within)


def seeds_needed(spread: float, gap: float) -> int | None:
    """Return the least number of data seeds with 80 % power; None if more than `MOST_SEEDS`."""
    if spread <= 0:
        return 2
    effect = gap / spread
    about = (_NORMAL / effect) ** 2  # with the normal distribution, which asks for a little less
    if about > MOST_SEEDS:
        return None
    seeds = max(2, math.ceil(about))
    while _power(seeds, effect) < POWER:
        seeds += 1
    while seeds > 2 and _power(seeds - 1, effect) >= POWER:
        seeds -= 1
    return seeds if seeds <= MOST_SEEDS else None


def _power(seeds: int, effect: float) -> float:
    from scipy.stats import nct, t

    if seeds < 2:
        return 0.0
    free, shift = seeds - 1, effect * math.sqrt(seeds)
    if shift > 30:  # far beyond any doubt; the tail function loses its digits there
        return 1.0
    bound = float(t.ppf(1 - LEVEL / 2, free))
    return float(nct.sf(bound, free, shift) + nct.cdf(-bound, free, shift))
