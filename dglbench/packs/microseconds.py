"""Seconds as whole microseconds, which `dglbench.clock` rounds to and which compress far better.

Each column of seconds ``…_s`` has one ``…_us`` beside it. A row fills that one where it gives the
double back to the last bit, else the first.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dglbench.packs.layout import microseconds

__all__ = ["in_microseconds", "in_seconds"]

_LARGEST = 2**31 - 1
_PER_SECOND = 1e6


def in_microseconds(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of seconds and of microseconds, as a pack holds them."""
    found = {}
    for name, whole in microseconds(rows.columns).items():
        seconds = rows[name].to_numpy().astype(float)
        near = np.abs(seconds) * _PER_SECOND < _LARGEST
        number = np.rint(np.where(near, seconds, 0.0) * _PER_SECOND).astype(np.int32)
        same = (number / _PER_SECOND).view(np.int64) == np.ascontiguousarray(seconds).view(np.int64)
        exact = pl.Series(near & same)
        found[name] = rows.select(pl.when(~exact).then(name))[name]
        found[whole] = pl.select(pl.when(exact).then(pl.Series(number)))[:, 0]
    return pl.DataFrame(found)


def in_seconds(rows: pl.DataFrame) -> pl.DataFrame:
    """Put seconds back in place of microseconds."""
    pairs = {a: b for a, b in microseconds(rows.columns).items() if b in rows.columns}
    derived = {}
    for name, whole in pairs.items():
        exact = rows[whole].is_not_null()
        # numpy divides, polars multiplies by the reciprocal, which is another double
        number = pl.Series(rows[whole].fill_null(0).to_numpy() / _PER_SECOND)
        derived[name] = rows.select(pl.when(exact).then(number).otherwise(pl.col(name)).alias(name))
    columns = [frame[name] for name, frame in derived.items()]
    return rows.with_columns(columns).drop(pairs.values())
