"""How probable is it that one method is better than another by more than a band of 1 %?

A Bayesian signed-rank test over settings (Benavoli et al. 2014) with a band of
practical equivalence, from `baycomp`. Scores are −ln(regret), so that a difference
is a ratio of regrets and the band |ln a/b| ≤ ln(1 + band) means "within 1 %".
Three probabilities come out: that on a further setting the first method would
more likely be better by more than the band, that the two would be within it,
that the second would be. No correction for many pairs is needed: each is a
statement of probability, not a decision at an error rate.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dglbench.statistics import Numbers
from dglbench.streams import stream

__all__ = ["BAND", "SAMPLES", "Probabilities", "probabilities"]

BAND = 0.01
"""Regrets whose ratio is within 1 % count as practically the same."""
SAMPLES = 10_000
_SMALLEST_REGRET = 1e-6  # a regret of 0 has no logarithm


class Probabilities(NamedTuple):
    """What the settings say of two methods; the three add up to 1."""

    better: float
    alike: float
    worse: float


def probabilities(first: Numbers, second: Numbers, band: float = BAND) -> Probabilities:
    """Compare regrets of two methods on the same settings."""
    ratios = -np.log(np.maximum(np.stack([first, second]), _SMALLEST_REGRET))
    return _posterior(tuple(ratios[0] - ratios[1]), band)


@lru_cache(maxsize=512)
def _posterior(leads: tuple[float, ...], band: float) -> Probabilities:
    from baycomp import SignedRankTest

    seed = int(stream(0, "report", "signed-rank").integers(2**31))
    zeros = np.zeros(len(leads))
    # baycomp takes scores of which more is better, and returns first, band, second.
    found = SignedRankTest.probs(
        np.asarray(leads), zeros, rope=math.log1p(band), nsamples=SAMPLES, random_state=seed
    )
    return Probabilities(*(float(share) for share in found))
