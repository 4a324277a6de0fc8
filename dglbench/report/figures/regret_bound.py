"""Theorem 1 at work: how many times the regret its right-hand side is."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import (
    Figure,
    dgl_table,
    legend_rows,
    log_breaks,
    look,
    method_scales,
    number,
    sparse,
    to_table,
    wrap,
)
from dglbench.report.style.titles import title

__all__ = ["FIGURE", "data"]

_BEFORE_IT_WAS_LOGGED = {"matching": True, "knapsack": False}
"""The tasks of runs whose summary does not say whether the relaxation is integral."""


def data(report: Report) -> pl.DataFrame:
    """Return regret, bound and their ratio per epoch of the chosen DGL runs, one seed each.

    The theorem assumes an integral relaxation: of other runs the bound says nothing.
    """
    logged = dgl_table(report, "bound", "regret-bound")
    integral = _integral(report)
    bound = logged.filter(pl.col("run_id").is_in([run for run, known in integral.items() if known]))
    if bound.is_empty():
        raise ReportError(
            f"regret-bound is drawn where the relaxation is known to be integral, which it is not "
            f"for {_listed(logged['task'])}; `dglbench train matching --method dgl-5 "
            f"--diagnostics --out {report.folder}` makes a run to draw, and a task of your own "
            f"says so by `integral = True`."
        )
    ratio = pl.when(pl.col("regret") > 0).then(pl.col("bound") / pl.col("regret"))
    return bound.select(
        "run_id", "setting", "method", "epoch", "split", "regret", "bound", ratio.alias("ratio"),
        "loss_gap", "margin_predicted", "margin_true",
    )  # fmt: skip


def _integral(report: Report) -> dict[str, bool | None]:
    """Say of every run whether its relaxation is integral, None where nobody knows."""
    known: dict[str, bool | None] = {}
    for run in report.runs:
        said = run.record.summary.integral if run.record.summary else None
        known[run.run_id] = _BEFORE_IT_WAS_LOGGED.get(run.identity.task) if said is None else said
    return known


def _left_out(report: Report) -> str | None:
    """Name the tasks with a logged bound that is not drawn because nobody knows of its use."""
    logged = dgl_table(report, "bound", "regret-bound")
    integral = _integral(report)
    unknown = logged.filter(
        pl.col("run_id").is_in([run for run, known in integral.items() if known is None])
    )
    if unknown.is_empty():
        return None
    return f"left out, not known to have an integral relaxation: {_listed(unknown['task'])}"


def _listed(tasks: pl.Series) -> str:
    return ", ".join(sorted(tasks.unique()))


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw the ratio, a panel per setting; at 1 the bound would be tight."""
    titles = {unit.label: title(unit) for unit in report.units}
    frame = data(report).with_columns(setting=pl.col("setting").replace_strict(titles))
    frame = frame.filter(pl.col("ratio") > 0)
    settings = frame["setting"].unique(maintain_order=True).to_list()
    columns = layout.columns(len(settings))
    table = to_table(frame, setting=settings)
    shown = to_table(sparse(frame, ["setting", "method"], marks=5), setting=settings)
    rows = math.ceil(len(settings) / columns)
    width = layout.inches(columns, 2.5)
    return (
        p9.ggplot(table, p9.aes("epoch", "ratio", color="method"))
        + p9.geom_hline(yintercept=1, color="#999999", size=0.4, linetype="dashed")
        + p9.geom_line(size=0.55)
        + p9.geom_point(p9.aes(shape="method"), shown, size=1.3, stroke=0.3)
        + p9.facet_wrap("setting", ncol=columns, labeller=wrap(36))
        + p9.scale_y_log10(
            breaks=log_breaks,
            minor_breaks=[],
            labels=lambda values: [f"{value}×" for value in number(values)],
        )
        + method_scales(table["method"], legend=True)
        + legend_rows(frame["method"].unique(), width)
        + p9.labs(x="epoch", y="Theorem 1's bound over the regret", caption=_left_out(report))
        + look(width, 1.75 * rows + 0.65)
    )


FIGURE = Figure(
    name="regret-bound",
    title="Theorem 1's bound beside the regret",
    caption=(
        "How many times the mean validation regret the right-hand side of Theorem 1 is: the gap in "
        "the plain loss plus what softmax loses against argmax. At 1 (dashed) the bound would be "
        "tight. The theorem assumes an integral relaxation, as matchings, paths and top-k have; "
        "knapsacks, offers and schedules have not and are left out."
    ),
    draw=draw,
    data=data,
)
