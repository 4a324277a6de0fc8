"""Pooled regrets, kept as how far they are from what absolute regrets tell.

Both are the same sum of regrets over something that a split's instances decide, so that all but the
first of a run's pooled regrets follow from the absolute ones, up to the last digits. Those are kept
as a whole number, the distance between two doubles (`ULPS`), and the value comes back as it was.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from dglbench.packs.layout import ULPS

__all__ = ["tell_pooled", "without_pooled"]

_BLOCK = ("run", "split")
_FAR = 1 << 20  # such a distance does not come from rounding


def without_pooled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ``pooled_regret`` and `ULPS` of a table of regrets, as a pack holds them."""
    pooled = rows["pooled_regret"].to_numpy().astype(float)
    first = np.zeros(len(rows), bool)
    first[_firsts(rows)] = True
    derived = _derived(rows, pooled)
    near = np.isfinite(derived) & np.isfinite(pooled)
    apart = np.zeros(len(rows), np.int64)
    apart[near] = _bits(pooled[near]) - _bits(derived[near])
    kept = first | ~near | (np.abs(apart) > _FAR)
    return pl.DataFrame(
        {
            "pooled_regret": pl.Series(pooled).set(pl.Series(kept).not_(), None),
            ULPS: pl.Series(apart.astype(np.int32)).set(pl.Series(kept), None),
        }
    )


def tell_pooled(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill what `without_pooled` left out; the order of rows is that of the pack."""
    if rows.is_empty() or rows[ULPS].null_count() == len(rows):
        return rows.drop(ULPS)
    apart, kept = rows[ULPS].fill_null(0).to_numpy(), rows[ULPS].is_null().to_numpy()
    pooled = rows["pooled_regret"].to_numpy().astype(float)
    derived = (_bits(_derived(rows, pooled)) + apart).view(np.float64)
    return rows.with_columns(pl.Series("pooled_regret", np.where(kept, pooled, derived))).drop(ULPS)


def _derived(rows: pl.DataFrame, pooled: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return absolute regrets times the ratio in the first row of each run's split."""
    absolute = rows["absolute_regret"].to_numpy().astype(float)
    firsts = _firsts(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: npt.NDArray[np.float64] = absolute * (pooled[firsts] / absolute[firsts])
    return ratio


def _firsts(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Return, for each row, where the first one of its run and split is."""
    place = pl.col("at").first().over(*_BLOCK).cast(pl.Int64)
    return rows.with_row_index("at").select(place)["at"].to_numpy()


def _bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values).view(np.int64)
