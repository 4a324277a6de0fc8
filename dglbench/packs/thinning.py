"""Clocks with a row for each evaluation instead of each epoch: most of a long run's pack is clocks.

Seconds and solves of the epochs in between are added up, so whatever sums them finds the same; a
row's loss is that of its last epoch. Set-up and lead-in keep rows of their own.
"""

from __future__ import annotations

import polars as pl

from dglbench.clock import PHASES

__all__ = ["thinned"]

_SECONDS = [f"{phase}_s" for phase in PHASES]
_SOLVES = ["solves_label", "solves_train", "solves_refresh"]


def thinned(timing: pl.DataFrame, regret: pl.DataFrame) -> pl.DataFrame:
    """Return the clocks of all runs, by ``run``, with a row for each epoch that was evaluated."""
    evaluated = regret.select("run", "epoch").unique().with_columns(kept=True)
    rows = timing.join(evaluated, on=["run", "epoch"], how="left", maintain_order="left")
    last = pl.col("epoch") == pl.col("epoch").max().over("run")
    kept = pl.col("kept").fill_null(value=False) | (pl.col("epoch") <= 0) | last
    # A row belongs to the first kept one that is not before it.
    rows = rows.with_columns(
        ends=pl.when(kept).then("epoch").fill_null(strategy="backward").over("run")
    )
    whole = [pl.col(name).sum().round(6) for name in _SECONDS]  # microseconds, as they are logged
    merged = rows.group_by("run", "ends", maintain_order=True).agg(
        pl.col("loss").last(), *whole, *(pl.col(name).sum() for name in _SOLVES)
    )
    together = pl.sum_horizontal(_SECONDS)
    return (
        merged.rename({"ends": "epoch"})
        .with_columns(epoch_s=together)
        .with_columns(elapsed_s=pl.col("epoch_s").cum_sum().over("run"))
    )
