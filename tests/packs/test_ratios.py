"""Pooled regrets that absolute ones tell come back to the last bit."""

import numpy as np
import polars as pl
import pytest

from dglbench.packs.layout import ULPS
from dglbench.packs.ratios import tell_pooled, without_pooled


def regrets(seed, zero=False):
    """Two runs, two splits, as evaluation computes them: a sum over sums, and a mean."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in (0, 1):
        sizes = {split: rng.uniform(5, 9, size=37).sum() for split in ("val", "test")}
        for epoch in range(20):
            for split, size in sizes.items():
                each = rng.exponential(size=37) * (not (zero and epoch == 0))
                rows.append((run, epoch, split, each.sum() / size, each.mean()))
    names = ["run", "epoch", "split", "pooled_regret", "absolute_regret"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("zero", [False, True], ids=["as usual", "none at first"])
@pytest.mark.parametrize("seed", range(5))
def test_they_come_back_to_the_last_bit(seed, zero):
    rows = regrets(seed, zero)
    kept = without_pooled(rows)
    if not zero:
        assert kept["pooled_regret"].null_count() == len(rows) - 4, "one for each run and split"
    assert tell_pooled(rows.with_columns(kept)).equals(rows)


def test_one_that_says_otherwise_is_kept_as_it_is():
    rows = regrets(1)
    strange = pl.when(pl.int_range(pl.len()) == 9).then(0.5).otherwise(pl.col("pooled_regret"))
    rows = rows.with_columns(strange.alias("pooled_regret"))
    kept = without_pooled(rows)
    assert kept["pooled_regret"][9] == 0.5
    assert kept[ULPS][9] is None
    assert tell_pooled(rows.with_columns(kept)).equals(rows)
