"""Columns of seconds that others tell to the last bit: packs leave them out and readers add them.

An epoch's seconds are the sum of its phases, elapsed seconds their running sum, and a regret's
elapsed seconds those of its epoch. Random digits do not compress, and these would be a seventh of a
pack. A column is left out of a table only if all of it can be derived.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import polars as pl

__all__ = ["JUDGED", "tell_clocks", "without_clocks"]

_PHASES = ("predict_s", "solve_s", "refresh_s", "differentiate_s", "backward_s", "other_s")
JUDGED = ("regret", "full_regret")
"""The tables of regrets."""


def without_clocks(table: str, rows: pl.DataFrame, timing: Callable[[], pl.DataFrame]) -> list[str]:
    """Return the columns of a table that `tell_clocks` restores as they are."""
    derived = tell_clocks(table, rows.with_columns(_emptied(table, rows)), timing)
    return [
        name for name in _derived(table, rows) if derived[name].equals(rows[name], null_equal=True)
    ]


def tell_clocks(table: str, rows: pl.DataFrame, timing: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Fill what was left out; rows have the number of their ``run``, ``timing`` the same runs."""
    empty = [name for name in _derived(table, rows) if rows[name].null_count() == len(rows)]
    if not empty or rows.is_empty():
        return rows
    if table in JUDGED:
        derived = timing().select("run", "epoch", pl.col("elapsed_s").alias("derived"))
        joined = rows.join(derived, on=["run", "epoch"], how="left", maintain_order="left")
        return rows.with_columns(joined["derived"].alias("elapsed_s"))
    if "epoch_s" in empty:
        in_order = reduce(lambda a, b: a + b, (pl.col(name) for name in _PHASES))
        rows = rows.with_columns(in_order.alias("epoch_s"))
    if "elapsed_s" in empty:
        rows = rows.with_columns(pl.col("epoch_s").cum_sum().over("run").alias("elapsed_s"))
    return rows


def _derived(table: str, rows: pl.DataFrame) -> list[str]:
    wanted = {"timing": ("epoch_s", "elapsed_s"), **dict.fromkeys(JUDGED, ("elapsed_s",))}
    return [name for name in wanted.get(table, ()) if name in rows.columns]


def _emptied(table: str, rows: pl.DataFrame) -> list[pl.Expr]:
    return [pl.lit(None, rows[name].dtype).alias(name) for name in _derived(table, rows)]
