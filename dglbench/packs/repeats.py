"""What runs on the same data repeat: packs keep it once and readers look it up.

The decisions of a pack have two columns of their own. ``data`` is the same number for runs on the
same data, and ``value`` numbers the values that their decisions of one instance have, in the order
of their first rows; 0 is the optimum's. What this tells to the last bit is left out:

- ``optimal_value`` where it is that of the first row of the data and instance;
- ``achieved_value`` in all but the first row of a ``value``, and where that is 0;
- ``regret`` where it is |f* - f|.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from dglbench.packs.layout import DATA, VALUE

__all__ = ["REPEATED", "tell_repeats", "without_repeats"]

REPEATED = ("optimal_value", "achieved_value", "regret")
"""Columns that are left out in part."""
_INSTANCE = (DATA, "instance")
_Values = npt.NDArray[np.float64]
_Places = npt.NDArray[np.int64]


def without_repeats(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `VALUE` and the columns `REPEATED` as a pack holds them; ``rows`` have `DATA`."""
    optimal, achieved, regret = (_values(rows[name]) for name in REPEATED)
    own = np.arange(len(rows))
    instance = _firsts(rows, *_INSTANCE)
    is_best = _same(achieved, optimal)
    bits = rows.select(*_INSTANCE, best=pl.Series(is_best), bits=pl.Series(_bits(achieved)))
    value = _firsts(bits, *_INSTANCE, "best", "bits")
    kept = {
        "optimal_value": (instance == own) | ~_same(optimal, optimal[instance]),
        "achieved_value": (value == own) & ~is_best,
        "regret": ~_same(regret, np.abs(optimal - achieved)),
    }
    others = pl.select(pl.when(pl.Series(~is_best)).then(pl.Series(value)).alias(VALUE))[VALUE]
    return rows.with_columns(others).select(
        pl.col(VALUE).rank("dense").over(*_INSTANCE).fill_null(0).cast(pl.Int32),
        *(pl.when(pl.Series(kept[name])).then(name).alias(name) for name in REPEATED),
    )


def tell_repeats(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill what `without_repeats` left out; the rows are all of a pack, in its order."""
    optimal, achieved, regret = (_values(rows[name]) for name in REPEATED)
    absent = {name: rows[name].is_null().to_numpy() for name in REPEATED}
    first = optimal[_firsts(rows, *_INSTANCE)]
    optimal = np.where(absent["optimal_value"], first, optimal)
    derived = achieved[_firsts(rows, *_INSTANCE, VALUE)]
    derived = np.where(rows[VALUE].to_numpy() == 0, optimal, derived)
    achieved = np.where(absent["achieved_value"], derived, achieved)
    regret = np.where(absent["regret"], np.abs(optimal - achieved), regret)
    found = dict(zip(REPEATED, (optimal, achieved, regret), strict=True))
    return rows.with_columns(**{name: pl.Series(found[name]) for name in REPEATED}).drop(
        DATA, VALUE
    )


def _firsts(rows: pl.DataFrame, *names: str) -> _Places:
    """Return, for each row, where the first one is that is equal in some columns."""
    place = pl.col("at").first().over(*names).cast(pl.Int64)
    return rows.select(*names).with_row_index("at").select(place)["at"].to_numpy()


def _values(column: pl.Series) -> _Values:
    return column.to_numpy().astype(float)


def _bits(values: _Values) -> _Places:
    return np.ascontiguousarray(values).view(np.int64)


def _same(one: _Values, two: _Values) -> npt.NDArray[np.bool_]:
    """Say where doubles are equal bit by bit: -0.0 is not 0.0, and NaN may be NaN."""
    same: npt.NDArray[np.bool_] = _bits(one) == _bits(two)
    return same
