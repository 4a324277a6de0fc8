"""The schematic of the three ways to train: where the solver sits, and how often it runs.

Coordinates are inches on a canvas one column wide, so that type and boxes keep
their proportions.
"""

from __future__ import annotations

import itertools
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.loading import Report
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import COLUMN_IN, INK, MUTED, SMALL_PT, TEXT_PT, Figure, look

__all__ = ["FIGURE", "data"]

_BOX_W, _BOX_H = 0.64, 0.3
_COLUMNS = (0.0, 0.86, 1.72, 2.58)
_RIGHT = _COLUMNS[-1] + _BOX_W
_HEIGHT = 3.5

_FILL = {"data": "#FFFFFF", "model": "#E4E4E4", "loss": "#D6E6F5", "solver": "#F9DCC8"}
_EDGE = {"data": "#8A8A8A", "model": "#5A5A5A", "loss": "#1B5E9E", "solver": "#D55E00"}

# Pipeline: (y of its boxes, heading, solver calls per epoch of K instances).
_ROWS = {
    "two-stage": (2.72, "a  Two-stage", "0 solves an epoch"),
    "in-loop": (1.67, "b  Solver in the loop (SPO+, QPTL)", "K solves an epoch"),
    "dual-guided": (0.22, "c  Dual-guided (DGL)", "K/U solves an epoch"),
}
_LIFT = 0.44
"""How far DGL's solver stands above its line: it is beside the loop, not in it."""

# (pipeline, column, lift, text, kind, is it part of every step?)
_BOXES: tuple[tuple[str, int, float, str, str, bool], ...] = (
    ("two-stage", 0, 0, "features", "data", True),
    ("two-stage", 1, 0, "predictor", "model", True),
    ("two-stage", 2, 0, "MSE", "loss", True),
    ("two-stage", 3, 0, "solver", "solver", False),
    ("in-loop", 0, 0, "features", "data", True),
    ("in-loop", 1, 0, "predictor", "model", True),
    ("in-loop", 2, 0, "solver", "solver", True),
    ("in-loop", 3, 0, "decision loss", "loss", True),
    ("dual-guided", 0, 0, "features", "data", True),
    ("dual-guided", 1, 0, "predictor", "model", True),
    ("dual-guided", 2, _LIFT, "solver", "solver", False),
    ("dual-guided", 3, 0, "dual loss", "loss", True),
)


def data(report: Report) -> pl.DataFrame:
    """Return the boxes and arrows; they are the same for any logs."""
    return pl.concat([_boxes(), _arrows()], how="diagonal")


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw the three pipelines below each other."""
    frame = data(report)
    boxes = frame.filter(pl.col("element") == "box")
    arrows = frame.filter(pl.col("element") == "arrow")
    notes = frame.filter(pl.col("element") == "note")
    headings = pl.DataFrame(
        [{"y": y + _BOX_H + _top(name), "title": title, "cost": cost, "x": 0.0, "right": _RIGHT}
         for name, (y, title, cost) in _ROWS.items()]
    )  # fmt: skip
    plot = p9.ggplot()
    for always in (True, False):
        plot += p9.geom_rect(
            p9.aes(xmin="x", xmax="xend", ymin="y", ymax="yend", fill="kind", color="kind"),
            boxes.filter(pl.col("always") == always).to_pandas(),
            size=0.5,
            linetype="solid" if always else "dashed",
        )
    for kind, dash, colour in (
        ("forward", "solid", INK), ("rare", "dashed", "#D55E00"), ("gradient", "dotted", "#1B5E9E"),
    ):  # fmt: skip
        # A dashed arrow's head would be dashed too, so heads sit on short solid stubs.
        some = arrows.filter(pl.col("kind") == kind)
        heads = some.filter(pl.col("headed"))
        ends = p9.aes("x", "y", xend="xend", yend="yend")
        plot += p9.geom_segment(
            ends, some.filter(~pl.col("headed")).to_pandas(), color=colour, size=0.55,
            linetype=dash, lineend="butt",
        )  # fmt: skip
        plot += p9.geom_segment(
            ends, heads.to_pandas(), color=colour, size=0.55, lineend="butt",
            arrow=p9.arrow(length=0.07, type="closed", angle=22),
        )  # fmt: skip
    return (
        plot
        + p9.geom_text(
            p9.aes("middle", "centre", label="text"), boxes.to_pandas(), size=SMALL_PT, color=INK,
            va="center_baseline",
        )
        + p9.geom_text(
            p9.aes("x", "y", label="text"), notes.to_pandas(), size=SMALL_PT - 0.2, color=MUTED,
            ha="center", va="center",
        )
        + p9.geom_text(
            p9.aes("x", "y", label="title"), headings.to_pandas(), ha="left", va="baseline",
            size=TEXT_PT, fontweight="bold", color=INK,
        )
        + p9.geom_text(
            p9.aes("right", "y", label="cost"), headings.to_pandas(), ha="right", va="baseline",
            size=SMALL_PT, color=MUTED,
        )
        + p9.scale_fill_manual(values=_FILL, guide=None)
        + p9.scale_color_manual(values=_EDGE, guide=None)
        + p9.scale_x_continuous(limits=(-0.03, _RIGHT + 0.03), expand=(0, 0))
        + p9.scale_y_continuous(limits=(-0.12, _HEIGHT - 0.16), expand=(0, 0))
        + look(
            layout.width or COLUMN_IN, _HEIGHT,
            axis_text=p9.element_blank(), axis_title=p9.element_blank(),
            axis_ticks=p9.element_blank(), panel_grid_major=p9.element_blank(),
            panel_border=p9.element_blank(),
        )
    )  # fmt: skip


def _top(name: str) -> float:
    return 0.13 + {"dual-guided": _LIFT, "two-stage": 0.1}.get(name, 0.0)


def _boxes() -> pl.DataFrame:
    rows = []
    for name, column, lift, text, kind, always in _BOXES:
        x, y = _COLUMNS[column], _ROWS[name][0] + lift
        rows.append(
            {
                "element": "box", "pipeline": name, "text": text, "kind": kind, "always": always,
                "x": x, "xend": x + _BOX_W, "y": y, "yend": y + _BOX_H,
                "middle": x + _BOX_W / 2, "centre": y + _BOX_H / 2,
            }
        )  # fmt: skip
    return pl.DataFrame(rows)


def _arrows() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []

    def line(name: str, kind: str, *points: tuple[float, float]) -> None:
        """Add straight pieces through the points and a short last one that carries the head."""
        (x0, y0), (x1, y1) = points[-2:]
        share = 1 - 0.08 / max(abs(x1 - x0) + abs(y1 - y0), 0.08)
        neck = (x0 + share * (x1 - x0), y0 + share * (y1 - y0))
        stops = [*points[:-1], neck, points[-1]]
        for start, end in itertools.pairwise(stops):
            rows.append(
                {
                    "element": "arrow", "pipeline": name, "kind": kind,
                    "headed": end == points[-1],
                    "x": start[0], "y": start[1], "xend": end[0], "yend": end[1],
                }
            )  # fmt: skip

    def note(name: str, x: float, y: float, text: str) -> None:
        rows.append({"element": "note", "pipeline": name, "x": x, "y": y, "text": text})

    gap = 0.02
    for name, (y, _, _) in _ROWS.items():
        middle = y + _BOX_H / 2
        between = [(_COLUMNS[i] + _BOX_W + gap, _COLUMNS[i + 1] - gap) for i in range(3)]
        line(name, "forward", (between[0][0], middle), (between[0][1], middle))
        model = _COLUMNS[1] + _BOX_W / 2
        last = _COLUMNS[2 if name == "two-stage" else 3] + _BOX_W / 2
        low = y - 0.16
        line(name, "gradient", (last, y - gap), (last, low), (model, low), (model, y - gap))
        note(name, (model + last) / 2, low - 0.09, "gradient" + {
            "in-loop": ", through or around the solver", "dual-guided": ", past the solver",
        }.get(name, ""))  # fmt: skip
        if name == "dual-guided":
            line(name, "forward", (between[1][0], middle), (between[2][1], middle))
            raised = middle + _LIFT
            solver = (_COLUMNS[2] - gap, _COLUMNS[2] + _BOX_W + gap)
            line(name, "rare", (model, y + _BOX_H + gap), (model, raised), (solver[0], raised))
            line(name, "rare", (solver[1], raised), (last, raised), (last, y + _BOX_H + gap))
            note(name, (between[1][0] + between[2][1]) / 2, middle + 0.09, "predictions")
            note(name, last + 0.18, raised - 0.16, "duals")
            note(name, model - 0.36, raised - 0.04, "every U epochs")
        else:
            line(name, "forward", (between[1][0], middle), (between[1][1], middle))
            kind = "rare" if name == "two-stage" else "forward"
            if name == "two-stage":
                top = y + _BOX_H
                x = _COLUMNS[3] + _BOX_W / 2
                note(name, x, y - 0.09, "only to decide")
                line(
                    name,
                    kind,
                    (model, top + gap),
                    (model, top + 0.12),
                    (x, top + 0.12),
                    (x, top + gap),
                )
            else:
                line(name, kind, (between[2][0], middle), (between[2][1], middle))
    return pl.DataFrame(rows)


FIGURE = Figure(
    name="pipelines",
    title="Three ways to train for decisions",
    caption=(
        "Two-stage training never sees the solver; SPO+ and QPTL call it for every instance in "
        "every step; dual-guided training calls it now and then and follows its duals between."
    ),
    draw=draw,
    data=data,
)
