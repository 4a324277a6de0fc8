"""How cost grows with the instances: seconds per epoch, and seconds to a target regret."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Run, Unit
from dglbench.report.statistics.curves import curves, reference_regret, time_to
from dglbench.report.statistics.epochs import mean_epochs
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import method_order, style
from dglbench.report.style.theme import (
    COLUMN_IN,
    Figure,
    log_breaks,
    look,
    method_scales,
    seconds,
    to_table,
)

__all__ = ["FIGURE", "data"]

_SIZES = 3
"""A line through two points looks like a law and is none."""
_EPOCH, _TARGET = "one epoch, per instance", "to half of the best gain"
_SLOPE_FROM = 200
"""Individuals from which growth is measured: below, fixed costs hide it."""
_SIZE_SETTINGS = frozenset({"n", "locations", "train", "val", "test"})
"""Settings that may change along a line: each point is divided by what they bring."""


def data(report: Report) -> pl.DataFrame:
    """Return seconds per epoch and instance, and to the target regret: a row per run and measure.

    The target of a unit lies half-way from the warm start's test regret to the
    best method's. A run that never got there has no row for it, and none has where sizes were
    trained on unlike numbers of instances. Units whose seconds may not be ranked are left out.
    A run that its time limit ended (``stopped_s``) shows the epochs it finished; if it finished
    none, all its seconds. ``slope`` is that of its method over three sizes or more from 200 on.
    """
    lines = _lines(report)
    drawn = [unit for units in lines for unit in units]
    runs = [run for unit in drawn for run in (*report.chosen_runs(unit), *_stopped(report, unit))]
    per_epoch = mean_epochs(report, runs)
    rows: list[dict[str, Any]] = []
    for units in lines:
        shapes = {unit.key: _shape(report, unit) for unit in units}
        alike = len({shape.instances for shape in shapes.values()}) == 1
        for unit in units:
            shape = shapes[unit.key]
            target = _target(report, unit) if alike else None
            reached = curves(report, report.chosen_runs(unit)).partition_by("run_id", as_dict=True)
            for run in (*report.chosen_runs(unit), *_stopped(report, unit)):
                spent = per_epoch.get(run.run_id, run.record.status.wall_s)
                row = {
                    "task": unit.task,
                    "n": unit.n,
                    "options": shape.options,
                    "choices": unit.n * shape.options,
                    "seed": unit.seed,
                    "setting": unit.label,
                    "method": run.method,
                    "run_id": run.run_id,
                    "stopped_s": _limit_s(run),
                    "target_regret": target,
                }
                rows.append({**row, "measure": _EPOCH, "seconds": spent / shape.instances})
                if run.state == "done" and target is not None:
                    until = time_to(reached[run.run_id,], target)
                    if until is not None:
                        rows.append({**row, "measure": _TARGET, "seconds": until})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.join(_slopes(frame), on=["task", "method"], how="left", maintain_order="left")


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per task and measure; a point is a run, a line joins the medians of a size."""
    frame = data(report)
    present = set(frame["measure"].to_list())
    measures = [name for name in (_EPOCH, _TARGET) if name in present]
    table = to_table(frame, measure=measures)
    ended = frame.filter(pl.col("stopped_s").is_null())
    medians = ended.group_by("task", "measure", "method", "choices", maintain_order=True).agg(
        pl.col("seconds").median()
    )
    stopped = frame.filter(pl.col("stopped_s").is_not_null())
    ticks = {
        str(task): dict(rows.select("choices", "n").sort("choices").iter_rows())
        for (task,), rows in frame.group_by("task", maintain_order=True)
    }
    names = dict(frame.select("choices", pl.struct("n", "options")).iter_rows())
    one_width = all(
        rows["options"].n_unique() == 1 for _, rows in frame.group_by("task", maintain_order=True)
    )

    def breaks(limits: tuple[float, float]) -> list[int]:
        """Return the sizes of the task whose range this panel spans."""
        return min((list(sizes) for sizes in ticks.values()),
                   key=lambda at: abs(math.log(at[0] / limits[0]))
                   + abs(math.log(at[-1] / limits[1])))  # fmt: skip

    def labels(at: Iterable[float]) -> list[str]:
        sizes = [names[round(choices)] for choices in at]
        return [
            f"{size['n']:,}" + ("" if one_width else f"\n× {size['options']}") for size in sizes
        ]

    plot = (
        p9.ggplot(table, p9.aes("choices", "seconds", color="method"))
        + p9.geom_line(data=to_table(medians, measure=measures), size=0.6)
        + p9.geom_point(p9.aes(shape="method"), size=1.6, stroke=0.3)
        + p9.facet_grid("measure ~ task", scales="free")
        + p9.scale_x_log10(breaks=breaks, minor_breaks=[], labels=labels)
        + p9.scale_y_log10(labels=seconds, breaks=log_breaks, minor_breaks=[])
        + _scales(frame)
        + p9.labs(
            x="instance size n" if one_width else "instance size n × options of each",
            y="time", caption=_notes(report, frame),
        )
        + look(layout.width or max(COLUMN_IN + 1.2, 1.6 + 2.8 * len(ticks)),
               0.9 + 2.1 * len(measures),
               legend_position="right", strip_text_y=p9.element_text(ha="center"))
        + p9.guides(color=p9.guide_legend(ncol=1), shape=p9.guide_legend(ncol=1))
    )  # fmt: skip
    if stopped.is_empty():
        return plot
    ring = p9.geom_point(data=to_table(stopped, measure=measures), shape="o", size=3.4,
                         fill="none", stroke=0.5, show_legend=False)  # fmt: skip
    return plot + ring


def _scales(frame: pl.DataFrame) -> list[Any]:
    """Return the methods' looks, with the slopes of a method (one a task) behind its name."""
    slopes: dict[str, list[str]] = {}
    measured = frame.select("task", "method", "slope").unique(maintain_order=True).drop_nulls()
    for _, method, slope in measured.iter_rows():
        slopes.setdefault(method, []).append(f"{slope:.2f}")
    behind = {method: f" ({' / '.join(texts)})" for method, texts in slopes.items()}
    return method_scales(frame["method"].to_list(), legend=True, behind=behind)


def _notes(report: Report, frame: pl.DataFrame) -> str | None:
    """Say below the picture what the brackets and the rings are, and who is missing."""
    notes = []
    if frame["slope"].is_not_null().any():
        notes.append(f"in brackets: slope from n = {_SLOPE_FROM} on")
    limits = sorted(set(frame["stopped_s"].drop_nulls()))
    if limits:
        notes.append(f"ringed: stopped at {', '.join(f'{limit:g} s' for limit in limits)}")
    drawn = set(frame["setting"])
    failed = dict.fromkeys(
        f"{style(run.method).label} at {run.unit.n:,}"
        for run in report.runs
        if run.unit.label in drawn
        and run.state in ("failed", "diverged")
        and (run.unit.key, run.method) not in report.chosen
    )
    if failed:
        notes.append(f"failed: {', '.join(failed)}")
    return "\n".join(notes) or None


def _limit_s(run: Run) -> float | None:
    """Return the time limit that ended the run, as it says, or its seconds; None if it ended."""
    if run.state == "done":
        return None
    limit = re.search(r"time limit of ([\d.]+) s", run.message or "")
    return float(limit[1]) if limit else round(run.record.status.wall_s)


def _slopes(frame: pl.DataFrame) -> pl.DataFrame:
    """Return by task and method how an epoch grows with the choices, on log axes."""
    medians = (
        frame.filter(
            pl.col("measure") == _EPOCH,
            pl.col("stopped_s").is_null(),
            pl.col("n") >= _SLOPE_FROM,
        )
        .group_by("task", "method", "choices", maintain_order=True)
        .agg(pl.col("seconds").median().log())
        .with_columns(pl.col("choices").log())
    )
    growth = pl.cov("choices", "seconds") / pl.col("choices").var()
    return medians.group_by("task", "method", maintain_order=True).agg(
        pl.when(pl.len() >= _SIZES).then(growth).alias("slope")
    )


class _Shape(NamedTuple):
    instances: int
    """K, which an epoch goes through."""
    options: int
    """Options of each of the n groups."""


def _shape(report: Report, unit: Unit) -> _Shape:
    summary = report.chosen_runs(unit)[0].record.summary
    if summary is None:  # a finished run has one
        raise ReportError(f"the runs of {unit.label} say nothing of their sizes.")
    return _Shape(summary.instances["train"], summary.options)


def _stopped(report: Report, unit: Unit) -> list[Run]:
    """Return the last run of each method that has none but stopped ones, in display order."""
    last = {
        run.method: run
        for run in sorted(report.runs, key=lambda run: run.finished)
        if run.unit.key == unit.key
        and run.state == "timeout"
        and (unit.key, run.method) not in report.chosen
    }
    return sorted(last.values(), key=lambda run: method_order(run.method))


def _lines(report: Report) -> list[list[Unit]]:
    """Return the units of each line: a task run at three sizes or more, with all else equal."""
    families: dict[str, list[Unit]] = {}
    for unit in report.units:
        if report.chosen_runs(unit) and report.comparability(unit).comparable:
            families.setdefault(_but_size(unit), []).append(unit)
    lines = [units for units in families.values() if len({unit.n for unit in units}) >= _SIZES]
    if not lines:
        raise ReportError(
            "scaling needs one task with finished runs of at least three sizes, each timed under "
            "equal conditions; `dglbench sweep --tasks matching-10,matching-25,matching-50 "
            f"--out {report.folder}` makes some."
        )
    return lines


def _but_size(unit: Unit) -> str:
    fixed = {name: value for name, value in unit.settings.items() if name not in _SIZE_SETTINGS}
    return repr((unit.task, sorted(fixed.items(), key=lambda item: item[0]), unit.solver))


def _target(report: Report, unit: Unit) -> float | None:
    start = reference_regret(report, unit)
    best = min(cell.regret() for cell in report.cells(unit))
    return None if start is None or start <= best else (start + best) / 2


FIGURE = Figure(
    name="scaling",
    title="Cost against instance size",
    caption=(
        "Mean seconds per epoch and training instance, and (where all sizes trained on as many "
        "instances) training seconds until the test regret is half-way from the warm start's to "
        "the best method's, against instance size. A point is a run, lines "
        "join medians; a method without a point never got there. A ringed run was stopped by its "
        "time limit: it shows the epochs it finished, or all its time if it finished none."
    ),
    draw=draw,
    data=data,
)
