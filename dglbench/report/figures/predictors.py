"""Regret by the predictor's capacity: does the model decide more than the loss?"""

from __future__ import annotations

from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.rivals import capacity, short
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import Figure, lines, look, method_scales, percent, to_table, wrap

__all__ = ["FIGURE", "data"]

_PANEL_IN = 2.4
_LEAST_IN = 1.7
"""What a panel's title needs."""


def data(report: Report) -> pl.DataFrame:
    """Return the test regret of every method with every predictor.

    Of several starts the one that validation prefers; what fits a model of its own has no
    predictor.
    """
    rows = []
    for comparison in by_setting(report):
        chosen: dict[tuple[str, str | None], Result] = {}
        for result in comparison.results:
            identity = result.first.identity
            key = identity.method, None if identity.has_own_predictor else identity.predictor
            other = chosen.get(key)
            if other is None or result.val_regret < other.val_regret:
                chosen[key] = result
        for (method, predictor), result in chosen.items():
            regrets = [run.test_regret for run in result.runs]
            rows.append(
                {
                    "setting": comparison.label,
                    "panel": comparison.title,
                    "method": method,
                    "predictor": predictor,
                    "test_regret": result.regret(),
                    "lowest": min(regrets),
                    "highest": max(regrets),
                    "repeats": result.repeats,
                }
            )
    predictors = {row["predictor"] for row in rows} - {None}
    if len(predictors) < 2:
        raise ReportError(
            "predictors needs runs with two predictors or more; `dglbench sweep --predictor linear "
            f"--predictor mlp:hidden=16 --out {report.folder}` makes them."
        )
    return pl.DataFrame(rows)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per setting, a line per method; dashes for models of their own."""
    frame = data(report)
    panels = list(dict.fromkeys(frame["panel"].to_list()))
    order = sorted(set(frame["predictor"].drop_nulls().to_list()), key=capacity)
    named = {name: short(name).replace(" ", "\n") for name in order}
    methods = sorted(set(frame["method"].to_list()))
    trained, own = (
        frame.filter(pl.col("predictor").is_not_null()),
        frame.filter(pl.col("predictor").is_null()),
    )
    columns = layout.columns(len(panels), _PANEL_IN)
    width = layout.inches(columns, _LEAST_IN)
    notes = ["one run: mean over repeats and data seeds; bars: lowest and highest run"]
    notes += ["dashed: models of their own"] if len(own) else []
    written = lines(["; ".join(notes)], width)
    beside = p9.position_dodge(width=0.25)
    table = to_table(trained, panel=panels, predictor=order, method=methods)
    plot = p9.ggplot(table, p9.aes("predictor", "test_regret", color="method"))
    if len(own):
        plot += p9.geom_hline(
            p9.aes(yintercept="test_regret", color="method"),
            to_table(own, panel=panels, method=methods),
            linetype="dashed", size=0.5,
        )  # fmt: skip
    deep = -(-len(panels) // columns)
    return (
        plot
        + p9.geom_linerange(p9.aes(ymin="lowest", ymax="highest"), position=beside, size=0.4,
                            alpha=0.6)
        + p9.geom_line(p9.aes(group="method"), position=beside, size=0.5)
        + p9.geom_point(p9.aes(shape="method"), position=beside, size=1.4, stroke=0.2)
        + p9.facet_wrap("panel", ncol=columns, scales="free_y",
                        labeller=wrap(int(12 * width / columns)))
        + p9.scale_x_discrete(labels=[named[name] for name in order])
        + p9.scale_y_continuous(labels=percent, limits=(0, None))
        + method_scales(methods, legend=True)
        + p9.labs(x="predictor, from the simplest on", y="test regret", caption="\n".join(written))
        + look(width, 1.7 * deep + 0.85 + 0.11 * len(written))
    )  # fmt: skip


FIGURE = Figure(
    name="predictors",
    title="Regret by predictor: the model beside the loss",
    caption=(
        "Test regret of one run by what was trained, a line for each method. Where the lines fall "
        "together, a better model is worth more than another loss; where they stay apart, training "
        "for decisions is. Dashed: least squares and boosted trees, which fit models of their own."
    ),
    draw=draw,
    data=data,
)
