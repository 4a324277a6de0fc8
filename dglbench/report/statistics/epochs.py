"""What an epoch costs on average, in the sense of the paper's cost model.

The model spreads a refresh every U epochs evenly over them. A run's first refresh is
booked as set-up; without it, a run of five epochs that refreshes every five would seem
to solve nothing, so it counts as the first period's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dglbench.report.loading import Report, Run
from dglbench.report.style.palette import refresh_period

__all__ = ["EPOCHS", "epoch_totals", "mean_epoch", "mean_epochs"]

EPOCHS = pl.col("epoch").diff().over("run_id").fill_null(1)
"""The epochs of a row of `timing`: one, or in a thin pack all since the row before."""

_SUMS = ("epoch_s", "solve_s", "refresh_s", "differentiate_s", "solves_train", "solves_refresh")


def epoch_totals(report: Report, runs: Iterable[Run]) -> pl.DataFrame:
    """Return a row for each run that finished an epoch: their number and what they add up to."""
    trained = pl.col("epoch") > 0
    return (
        report.table("timing", runs)
        .with_columns(epochs=EPOCHS)
        .group_by("run_id", "setting", "method", maintain_order=True)
        .agg(
            pl.col("epochs").filter(trained).sum(),
            *(pl.col(name).filter(trained).sum() for name in _SUMS),
            pl.col("refresh_s").filter(~trained).sum().alias("first_refresh_s"),
        )
        .filter(pl.col("epochs") > 0)
    )


def mean_epoch(totals: Mapping[str, Any]) -> float:
    """Return the seconds of the mean epoch from a row of `epoch_totals`."""
    # RDGL-U renews its duals as DGL-U does.
    period = refresh_period(totals["method"].removeprefix("r"))
    first = totals["first_refresh_s"] if period not in (None, math.inf) else 0.0
    return float((totals["epoch_s"] + first) / totals["epochs"])


def mean_epochs(report: Report, runs: Iterable[Run]) -> dict[str, float]:
    """Return the seconds of each run's mean epoch by run id; runs that finished none are absent."""
    return {
        row["run_id"]: mean_epoch(row) for row in epoch_totals(report, runs).iter_rows(named=True)
    }
