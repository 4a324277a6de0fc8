"""Several repeats or data seeds as one curve: mean and band of what was held at each moment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from dglbench.statistics import Numbers

__all__ = ["MIDDLE_FROM", "held", "mean_and_band", "seed_offsets"]

MIDDLE_FROM = 10
"""From so many runs on the band is their middle 80 %, else from the lowest to the highest."""
_POINTS = 160


def held(xs: Numbers, levels: Numbers, before: float | None, at: Numbers) -> Numbers:
    """Return a step curve's level at each of ``at``; before its first step the start's."""
    place = np.searchsorted(xs, at, side="right") - 1
    start = levels[0] if before is None else before
    values: Numbers = np.where(place < 0, start, levels[np.maximum(place, 0)])
    return values


def seed_offsets(rows: pl.DataFrame) -> dict[int, float]:
    """Return how far each data seed of a panel lies from their mean, for all its methods alike.

    The median over methods of (a seed's final level − the mean over seeds). Without it, a band over
    data seeds would show how unlike the datasets are, which every method shares.
    """
    ends = rows.group_by("run_id", "method", "seed", maintain_order=True).agg(
        pl.col("best_test_regret").last()
    )
    means = ends.group_by("method", "seed", maintain_order=True).agg(
        pl.col("best_test_regret").mean()
    )
    apart = means.with_columns(
        apart=pl.col("best_test_regret") - pl.col("best_test_regret").mean().over("method")
    )
    return dict(apart.group_by("seed").agg(pl.col("apart").median()).iter_rows())


def mean_and_band(rows: pl.DataFrame, offsets: Mapping[int, float]) -> pl.DataFrame:
    """Return x, mean, low and high of one method from the rows of its runs' curves.

    The band is of the runs with their data seed's offset taken off.
    """
    parts = [part.sort("epoch") for part in rows.partition_by("run_id", maintain_order=True)]
    xs = [part["x"].to_numpy() for part in parts]
    # From where every seed has begun; after its end a seed holds its level.
    first, last = max(x[0] for x in xs), max(x[-1] for x in xs)
    grid = np.unique(np.concatenate([x[(x >= first) & (x <= last)] for x in xs]))
    if len(grid) > _POINTS:
        grid = grid[np.unique(np.linspace(0, len(grid) - 1, _POINTS).astype(int))]
    levels = np.stack(
        [
            held(x, part["best_test_regret"].to_numpy(), part["warm_start_regret"][0], grid)
            for x, part in zip(xs, parts, strict=True)
        ]
    )
    tail = 0.1 if len(parts) >= MIDDLE_FROM else 0.0
    offset = np.array([offsets.get(int(part["seed"][0]), 0.0) for part in parts])
    low, high = np.quantile(levels - offset[:, None], [tail, 1 - tail], axis=0)
    return pl.DataFrame({"x": grid, "mean": levels.mean(axis=0), "low": low, "high": high})
