"""How cost grows with the instances: seconds per epoch, and seconds to a target regret."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.curves import curves, reference_regret, time_to
from dglbench.report.figures.base import (
    COLUMN_IN,
    Figure,
    log_breaks,
    look,
    method_scales,
    number,
    seconds,
    to_table,
)
from dglbench.report.figures.layout import FREE, Layout
from dglbench.report.load import Report, Unit

__all__ = ["FIGURE", "data"]

_SIZES = 3
_EPOCH, _TARGET = "one epoch", "to half of the best gain"


def data(report: Report) -> pl.DataFrame:
    """Return seconds per epoch and to the target regret, one row per chosen run and measure.

    The target of a unit lies half-way from the warm start's test regret to the
    best method's. A run that never got there has no row for it. Units whose
    seconds may not be ranked are left out.
    """
    units = _units(report)
    epochs = (
        report.table("timing", [run for unit in units for run in report.chosen_runs(unit)])
        .filter(pl.col("epoch") > 0)
        .group_by("run_id")
        .agg(pl.col("epoch_s").mean())
    )
    per_epoch = dict(epochs.iter_rows())
    rows: list[dict[str, Any]] = []
    for unit in units:
        target = _target(report, unit)
        runs = report.chosen_runs(unit)
        reached = curves(report, runs).partition_by("run_id", as_dict=True)
        for run in runs:
            row = {
                "task": unit.task,
                "n": unit.n,
                "seed": unit.seed,
                "setting": unit.label,
                "method": run.method,
                "run_id": run.run_id,
                "target_regret": target,
            }
            rows.append({**row, "measure": _EPOCH, "seconds": per_epoch[run.run_id]})
            spent = None if target is None else time_to(reached[run.run_id,], target)
            if spent is not None:
                rows.append({**row, "measure": _TARGET, "seconds": spent})
    return pl.DataFrame(rows)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per task and measure; a point is a run, a line joins the medians of a size."""
    frame = data(report)
    present = set(frame["measure"].to_list())
    measures = [name for name in (_EPOCH, _TARGET) if name in present]
    table = to_table(frame, measure=measures)
    medians = frame.group_by("task", "measure", "method", "n", maintain_order=True).agg(
        pl.col("seconds").median()
    )
    middle = to_table(medians, measure=measures)
    sizes = {
        str(task): sorted(set(rows["n"].to_list()))
        for (task,), rows in frame.group_by("task", maintain_order=True)
    }
    tasks = len(sizes)

    def ticks(limits: tuple[float, float]) -> list[int]:
        """Return the sizes of the task whose range this panel spans."""
        return min(sizes.values(), key=lambda ns: abs(math.log(ns[0] / limits[0]))
                   + abs(math.log(ns[-1] / limits[1])))  # fmt: skip

    return (
        p9.ggplot(table, p9.aes("n", "seconds", color="method"))
        + p9.geom_line(data=middle, size=0.6)
        + p9.geom_point(p9.aes(shape="method"), size=1.6, stroke=0.3)
        + p9.facet_grid("measure ~ task", scales="free")
        + p9.scale_x_log10(breaks=ticks, minor_breaks=[], labels=number)
        + p9.scale_y_log10(labels=seconds, breaks=log_breaks, minor_breaks=[])
        + method_scales(table["method"], legend=True)
        + p9.labs(x="instance size n", y="time")
        + look(layout.width or max(COLUMN_IN, 1.0 + 2.2 * tasks), 0.6 + 1.75 * len(measures),
               legend_position="right", strip_text_y=p9.element_text(ha="center"))
        + p9.guides(color=p9.guide_legend(ncol=1), shape=p9.guide_legend(ncol=1))
    )  # fmt: skip


def _units(report: Report) -> list[Unit]:
    """Return the units of tasks that were run at three sizes or more, with all else equal.

    A line through two points looks like a law and is none.
    """
    ranked = [
        unit
        for unit in report.units
        if report.chosen_runs(unit) and report.comparability(unit).comparable
    ]
    sizes: dict[str, set[int]] = {}
    for unit in ranked:
        sizes.setdefault(_but_size(unit), set()).add(unit.n)
    units = [unit for unit in ranked if len(sizes[_but_size(unit)]) >= _SIZES]
    if not units:
        raise ReportError(
            "scaling needs one task with finished runs of at least three sizes, each timed under "
            "equal conditions; `dglbench sweep --tasks matching-10,matching-25,matching-50 "
            f"--out {report.folder}` makes some."
        )
    return units


def _but_size(unit: Unit) -> str:
    settings = {name: value for name, value in unit.settings.items() if name != "n"}
    return repr((unit.task, sorted(settings.items(), key=lambda item: item[0]), unit.solver))


def _target(report: Report, unit: Unit) -> float | None:
    start = reference_regret(report, unit)
    best = min(run.test_regret for run in report.chosen_runs(unit))
    return None if start is None or start <= best else (start + best) / 2


FIGURE = Figure(
    name="scaling",
    title="Cost against instance size",
    caption=(
        "Mean seconds per epoch, and training seconds until the test regret is half-way from the "
        "warm start's to the best method's, against instance size. A point is a run (one per data "
        "seed), lines join medians; a method without a point never got there."
    ),
    draw=draw,
    data=data,
)
