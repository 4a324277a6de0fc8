"""Regret by form and refresh: what it gains that prices react, and how much renewing them does.

A form says what the dual-guided loss weighs its soft decisions by: the labels alone (plain), the
labels minus the prices (adjusted), or the labels, with prices that react to the predictions
(the ``rdgl-*`` methods). A refresh says when those prices are renewed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.cells import choose
from dglbench.report.loading import Report, Run, Unit
from dglbench.report.method_names import family, plain, qualifier
from dglbench.report.style.layout import FREE, PAGE_IN, TEXT_IN, Layout
from dglbench.report.style.theme import Figure, look, percent, to_table, wrap
from dglbench.report.style.titles import without_seed

__all__ = ["FIGURE", "data"]

_FORMS = {"plain": "#7A7A7A", "adjusted": "#2B6CB0", "reactive": "#C05621"}
_SHAPES = {"plain": "s", "adjusted": "o", "reactive": "D"}
_WORDS = {"none": "never", "1": "every\nepoch", "auto": "where\nneeded",
          "newton": "Newton\nsteps", "step": "every\nstep"}  # fmt: skip
_LAST = list(_WORDS)[1:]
_A_LINE = 3
"""Renewals of one form that show how regret depends on them."""
_PANEL_IN = 3.4
_PANEL_HEIGHT_IN, _LEAST_HEIGHT_IN = 2.0, 1.3


def data(report: Report) -> pl.DataFrame:
    """Return the test regret of every form and refresh: the best configuration by validation."""
    runs: dict[str, list[Run]] = {}
    for run in report.current:
        form = _form(run)
        if form is not None:
            runs.setdefault(form, []).append(run)
    if len(runs) < 2:
        raise ReportError(
            "forms needs finished runs of two forms of the dual-guided loss; `dglbench sweep "
            f"--methods dgl-5,rdgl-5 --out {report.folder}` makes some."
        )
    rows = [
        {
            "panel": _panel(cell.unit, method),
            "seed": cell.unit.seed,
            "form": form,
            "refresh": plain(method).partition("-")[2],
            "method": method,
            "test_regret": cell.regret(),
        }
        for form, found in runs.items()
        for (_, method), cell in choose(found).items()
    ]
    frame = pl.DataFrame(rows)
    renewals = pl.col("refresh").n_unique().over("panel", "form").max().over("panel")
    lines = frame.filter(renewals >= _A_LINE)
    return frame if lines.is_empty() else lines


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per setting: regret by refresh, a line per form, a point per seed."""
    frame = data(report)
    refreshes = sorted(set(frame["refresh"].to_list()), key=_rarity)
    panels = sorted(set(frame["panel"].to_list()), key=_place(report))
    named = frame.with_columns(pl.col("refresh").map_elements(_words, pl.String))
    orders = {"panel": panels, "refresh": list(map(_words, refreshes)), "form": list(_FORMS)}
    mean = named.group_by("panel", "form", "refresh").agg(pl.col("test_regret").mean())
    points, means = (to_table(each, **orders) for each in (named, mean))
    columns = layout.columns(len(panels), _PANEL_IN)
    rows = -(-len(panels) // columns)
    width = layout.inches(columns, TEXT_IN / 2)
    shown = [form for form in _FORMS if form in set(frame["form"])]
    side_by_side = p9.position_dodge(width=0.4)
    return (
        p9.ggplot(points, p9.aes("refresh", "test_regret", color="form", shape="form"))
        + p9.geom_line(p9.aes(group="form"), means, position=side_by_side, size=0.7)
        + p9.geom_point(means, position=side_by_side, size=2.2, stroke=0.3)
        + p9.geom_point(position=side_by_side, size=0.9, alpha=0.6, stroke=0.2)
        + p9.facet_wrap("panel", ncol=columns, scales="free_y",
                        labeller=wrap(int(12 * width / columns)))
        + p9.scale_y_continuous(labels=percent, limits=(0, None))
        + p9.scale_color_manual(values=_FORMS, breaks=shown)
        + p9.scale_shape_manual(values=_SHAPES, breaks=shown)
        + p9.labs(x="prices renewed", y="test regret")
        + look(width, 0.75 + _panel_height(rows, layout) * rows)
    )  # fmt: skip


def _panel_height(rows: int, layout: Layout) -> float:
    """Return a panel's height: on paper less than usual, where a page would not hold them all."""
    if layout.width is None:
        return _PANEL_HEIGHT_IN
    return min(_PANEL_HEIGHT_IN, max(_LEAST_HEIGHT_IN, (PAGE_IN - 0.75) / rows))


def _panel(unit: Unit, method: str) -> str:
    """Name the setting, and the predictor where there are several."""
    return ", ".join(filter(None, (without_seed(unit), qualifier(method))))


def _place(report: Report) -> Callable[[str], tuple[int, str]]:
    """Sort panels by setting, in the report's order, then by predictor."""
    titles = list(dict.fromkeys(map(without_seed, report.units)))

    def place(panel: str) -> tuple[int, str]:
        own = [title for title in titles if panel == title or panel.startswith(f"{title}, ")]
        return titles.index(max(own, key=len)), panel

    return place


def _form(run: Run) -> str | None:
    """Return the form of a dual-guided run, None of any other method's."""
    kin = family(run.method)
    if kin == "rdgl":
        return "reactive"
    return str(run.options.get("form", "adjusted")) if kin == "dgl" else None


def _rarity(refresh: str) -> tuple[int, float]:
    """Sort from never to at every step."""
    if refresh == "none":
        return 0, 0.0
    if refresh in _LAST:
        return 2, float(_LAST.index(refresh))
    return 1, -float(refresh)


def _words(refresh: str) -> str:
    return _WORDS.get(refresh, f"every {refresh}\nepochs")


FIGURE = Figure(
    name="forms",
    title="What it gains that prices react",
    caption=(
        "Test regret of the dual-guided loss by form and by when its prices are renewed: the best "
        "run by validation of each. Small points are data seeds, large ones their mean. Plain "
        "weighs soft decisions by the labels, adjusted by the labels minus the prices, reactive by "
        "the labels at prices that follow the predictions. Settings in which no form has three "
        "renewals are left out if others have them."
    ),
    draw=draw,
    data=data,
)
