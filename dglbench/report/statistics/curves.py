"""Learning curves: what a method had reached after so many seconds or solves.

A user who stops early keeps the epoch that is best *on validation* so far. So
the honest curve of a method is the test regret of that epoch, which is a step
function and may step up; the raw test regret is kept beside it. Where the last epoch
counts (``choose=last``), each epoch is the best when it is reached.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from dglbench.report.loading import Report, Run, Unit
from dglbench.runs.selection import improving

__all__ = ["curves", "reference_regret", "start_regrets", "time_to", "with_reference"]


def curves(report: Report, runs: Iterable[Run] | None = None) -> pl.DataFrame:
    """Return one row per evaluation of the chosen runs (or of ``runs``), epochs ascending.

    Columns: run_id, setting, task, n, seed, repeat, method, epoch, elapsed_s, solves (all
    solver calls so far, set-up included), val_regret, test_regret, best_epoch (of
    the lowest validation regret so far), best_test_regret (test regret there). Epochs
    of a lead-in (below 0) and what they end with are never the best: until the run's own
    epochs come, the start is held.
    """
    wanted = report.chosen_runs() if runs is None else list(runs)
    names = ["run_id", "setting", "task", "n", "seed", "repeat", "method"]
    pooled = pl.col("run_id").is_in([run.run_id for run in wanted if run.judged_by == "pooled"])
    regret = report.table("regret", wanted).with_columns(
        judged=pl.when(pooled).then("pooled_regret").otherwise("relative_regret")
    )
    wide = (
        regret.filter(pl.col("split") == "test")
        .select(*names, "epoch", "elapsed_s", test_regret="judged")
        .join(
            regret.filter(pl.col("split") == "val").select("run_id", "epoch", val_regret="judged"),
            on=["run_id", "epoch"],
            how="left",  # data without validation instances have no such rows
            maintain_order="left",
        )
    )
    solved = pl.col("solves_label") + pl.col("solves_train") + pl.col("solves_refresh")
    solves = (
        report.table("timing", wanted)
        .sort("run_id", "epoch")
        .select("run_id", "epoch", solves=solved.cum_sum().over("run_id"))
    )
    first = pl.col("epoch").min().over("run_id")
    leading = (first < 0) & (pl.col("epoch") <= 0)
    wide = wide.with_columns(selectable=pl.when(~leading).then("val_regret"))
    last = pl.col("run_id").is_in([run.run_id for run in wanted if run.choose == "last"])
    better = (
        improving("selectable", of="run_id")
        | (leading & (pl.col("epoch") == first))
        | (last & ~leading)
    )

    def of_the_best(column: str) -> pl.Expr:
        return pl.when(better).then(pl.col(column)).forward_fill().over("run_id")

    return (
        wide.join(solves, on=["run_id", "epoch"], how="left", maintain_order="left")
        .with_columns(
            best_epoch=of_the_best("epoch"), best_test_regret=of_the_best("test_regret")
        )
        .select(
            *names, "epoch", "elapsed_s", "solves", "val_regret", "test_regret",
            "best_epoch", "best_test_regret",
        )
    )  # fmt: skip


def time_to(curve: pl.DataFrame, target: float, column: str = "elapsed_s") -> float | None:
    """Return the seconds (or solves) after which one run's best-so-far first met ``target``."""
    met = curve.filter(pl.col("best_test_regret") <= target)
    return None if met.is_empty() else float(met[column][0])


def reference_regret(report: Report, unit: Unit) -> float | None:
    """Return the test regret of the warm start, the level a decision-focused run must beat.

    Where each repeat had a warm start of its own, their mean; of several predictors the lowest.
    """
    return min(start_regrets(report.chosen_runs(unit)).values(), default=None)


def start_regrets(runs: Iterable[Run]) -> dict[str, float]:
    """Return the mean test regret of the warm starts of each predictor."""
    levels: dict[str, set[float]] = {}
    for run in runs:
        if run.warm_start_regret:
            levels.setdefault(run.predictor, set()).add(run.warm_start_regret)
    return {name: sum(sorted(found)) / len(found) for name, found in levels.items()}


def with_reference(report: Report, units: Iterable[Unit], frame: pl.DataFrame) -> pl.DataFrame:
    """Add the warm start's level of each setting as ``warm_start_regret``."""
    levels = {unit.label: reference_regret(report, unit) for unit in units}
    warm = pl.DataFrame(
        {"setting": list(levels), "warm_start_regret": list(levels.values())},
        schema={"setting": pl.String, "warm_start_regret": pl.Float64},
    )
    return frame.join(warm, on="setting", how="left", maintain_order="left")
