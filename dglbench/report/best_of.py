"""What one may expect of r repeats of which the best by validation is kept.

From R repeats it is exact for every r ≤ R, without simulation. Draw r of the R at random. A repeat
is kept if none of the drawn is better on validation: with W repeats worse than it, the chance is
C(W, r − 1) / C(R, r). The m repeats that tie at one validation regret, with W worse ones, share

    [C(W + m, r) − C(W, r)] / C(R, r)

equally. A failed repeat ranks last and stays among the R. With r = 1 every repeat has the same
chance: that is the reading *one run*.
"""

from __future__ import annotations

from math import comb

import numpy as np

from dglbench.statistics import Numbers

__all__ = ["best_of", "chances"]


def chances(validation: Numbers, r: int, counts: Numbers | None = None) -> Numbers:
    """Return each repeat's chance of being the one that is kept.

    ``validation`` has shape (R,), a failed repeat is not finite there. With ``counts`` of shape
    (resamples, R), how often a resample holds each repeat, the chances have that shape.
    """
    level = np.where(np.isfinite(validation), validation, np.inf)
    held = np.ones((1, len(level)), dtype=np.int64) if counts is None else counts
    total = int(held[0].sum())
    if not 1 <= r <= total:
        raise ValueError(f"best of {r} needs as many repeats; there are {total}")
    _, group = np.unique(level, return_inverse=True)
    tied = np.zeros((len(held), int(group.max()) + 1), dtype=np.int64)
    for repeat, of in enumerate(group):
        tied[:, of] += held[:, repeat]
    worse = total - tied.cumsum(axis=1)
    subsets = np.array([comb(size, r) for size in range(total + 1)], dtype=float)
    shared = (subsets[worse + tied] - subsets[worse]) / subsets[total]
    found: Numbers = shared[:, group] * held / np.maximum(tied[:, group], 1)
    return found[0] if counts is None else found


def best_of(validation: Numbers, values: Numbers, r: int, counts: Numbers | None = None) -> Numbers:
    """Return the expected value (test regret, seconds) of the repeat that is kept.

    ``values`` has shape (R,), or (resamples, R) with ``counts``. Where all r repeats may have
    failed, it is the expectation given that one has not.
    """
    chance = chances(validation, r, counts)
    kept = np.isfinite(validation)
    chance = np.where(kept, chance, 0.0)
    weighed = (chance * np.where(kept, values, 0.0)).sum(axis=-1)
    whole = chance.sum(axis=-1)
    found: Numbers = np.divide(
        weighed, whole, out=np.full_like(np.asarray(whole, dtype=float), np.nan), where=whole > 0
    )
    return found
