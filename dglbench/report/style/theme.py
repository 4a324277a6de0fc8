"""What every figure shares: its record, its size, its theme, its scales.

Type is set for print at one column (3.4 inches): nothing is smaller than six
points, and a figure grows with its panels instead of squeezing them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Unit
from dglbench.report.style.layout import COLUMN_IN
from dglbench.report.style.palette import Style, method_order, style
from dglbench.report.style.titles import title
from dglbench.report.units import one_seed_each
from dglbench.words import short_number, short_seconds

__all__ = [
    "COLUMN_IN",
    "Figure",
    "clock_note",
    "dgl_table",
    "legend_in",
    "legend_lines",
    "legend_rows",
    "lines",
    "log_breaks",
    "look",
    "method_scales",
    "number",
    "percent",
    "plain",
    "regret_breaks",
    "regret_labels",
    "seconds",
    "sparse",
    "to_table",
    "wrap",
]

TEXT_PT = 7.0
SMALL_PT = 6.2
INK, MUTED, FAINT = "#222222", "#6A6A6A", "#E3E3E3"


@dataclass(frozen=True)
class Figure:
    """A figure: its name on the command line, what it shows, how it is made."""

    name: str
    title: str
    caption: str
    draw: Callable[..., Any]
    """Return a plotnine ``ggplot`` of a report, in a `Layout` if one is given, or raise
    ReportError if the logs do not allow it."""
    data: Callable[[Report], pl.DataFrame]
    """Return the numbers that are drawn."""


def look(width: float, height: float, **changes: Any) -> Any:
    """Return the theme: white paper, hairline grid, small but readable type."""
    theme = p9.theme_minimal(base_size=TEXT_PT) + p9.theme(
        figure_size=(width, height),
        text=p9.element_text(color=INK, family="DejaVu Sans"),
        axis_text=p9.element_text(size=SMALL_PT, color=MUTED),
        axis_title=p9.element_text(size=TEXT_PT),
        panel_grid_major=p9.element_line(size=0.3, color=FAINT),
        panel_grid_minor=p9.element_blank(),
        panel_border=p9.element_rect(fill="none", color="#BBBBBB", size=0.4),
        panel_spacing=0.02,
        strip_text=p9.element_text(size=TEXT_PT, weight="bold", ha="left", ma="left"),
        strip_background=p9.element_blank(),
        legend_position="bottom",
        legend_title=p9.element_blank(),
        legend_text=p9.element_text(size=SMALL_PT),
        legend_key_size=8,
        legend_box_spacing=0.015,
        legend_margin=0,
        plot_caption=p9.element_text(size=SMALL_PT, color=MUTED, ha="left"),
        plot_background=p9.element_rect(fill="white", color="white"),
        plot_margin=0.012,
    )
    return theme + p9.theme(**changes) if changes else theme


def method_scales(
    methods: Iterable[str],
    *,
    legend: bool = False,
    fill: bool = False,
    behind: Mapping[str, str] | None = None,
) -> list[Any]:
    """Return the fixed colour and marker of each method; legends carry the display names.

    ``behind`` says what stands behind a method's name there.
    """
    names = sorted(set(methods), key=method_order)
    styles: dict[str, Style] = {name: style(name) for name in names}
    common: dict[str, Any] = {
        "breaks": names,
        "labels": [styles[name].label + (behind or {}).get(name, "") for name in names],
        "guide": "legend" if legend else None,
    }
    colours = {name: styles[name].colour for name in names}
    scales = [
        p9.scale_color_manual(values=colours, **common),
        p9.scale_shape_manual(values={name: styles[name].shape for name in names}, **common),
    ]
    return [*scales, p9.scale_fill_manual(values=colours, **common)] if fill else scales


def to_table(frame: pl.DataFrame, **orders: Iterable[str]) -> Any:
    """Return pandas, which plotnine works in, with methods and the named columns in order."""
    if "method" in frame.columns:
        methods = sorted(set(frame["method"].to_list()), key=method_order)
        orders = {"method": methods, **orders}
    return frame.with_columns(
        pl.col(name).cast(pl.Enum(list(dict.fromkeys(order)))) for name, order in orders.items()
    ).to_pandas()


def sparse(frame: pl.DataFrame, by: list[str], marks: int = 8) -> pl.DataFrame:
    """Pick some rows of each line for markers, staggered so that close lines differ.

    A marker at every epoch would be a smear; a few along each line
    distinguish them without colour.
    """
    parts = frame.partition_by(by, maintain_order=True)
    picked = []
    for position, rows in enumerate(parts):
        stride = max(1, len(rows) // marks)
        picked.append(rows.gather_every(stride, offset=position % stride))
    return pl.concat(picked)


def percent(values: Iterable[float]) -> list[str]:
    """Write shares as per cent, with as many digits as distinguish the ticks."""
    listed = [100 * value for value in values]
    return [f"{text} %" for text in _distinct(listed)]


def number(values: Iterable[float]) -> list[str]:
    """Write counts short: 400, 4k, 1.2M."""
    return [short_number(value) for value in values]


def seconds(values: Iterable[float]) -> list[str]:
    """Write seconds as a person would: 1 ms, 0.1 s, 10 s, 5 min."""
    return [short_seconds(value) for value in values]


def plain(values: Iterable[float]) -> list[str]:
    """Write numbers as they are, without a unit, which the axis names: 0.01, 1, 100."""
    return [f"{value:g}" for value in values]


def log_breaks(limits: tuple[float, float], most: int = 5) -> list[float]:
    """Return ticks for a log axis: powers of ten, or 1-2-5 steps where there are too few."""
    low, high = limits
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        ticks = [tick for tick in ticks if low <= tick * 1.0001 and tick <= high * 1.0001]
        if len(ticks) >= 3:
            break
    return ticks[:: max(1, math.ceil(len(ticks) / most))]


def regret_breaks(limits: tuple[float, float]) -> list[float]:
    """Return ticks for regrets on a log axis: even steps where it spans little, else powers."""
    low, high = limits
    if high / low > 6:
        return log_breaks(limits)
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in ticks if low <= tick <= high]


def regret_labels(values: Iterable[float]) -> list[str]:
    """Write regrets on a log axis as per cent, each with the digits it needs."""
    return [f"{100 * value:.3g} %" for value in values]


def legend_lines(methods: Iterable[str], width: float, extra_in: float = 0.22) -> int:
    """Return how many rows a legend takes before it outgrows the figure.

    Entries stand in columns as wide as the widest name; one takes ``extra_in`` for its key.
    """
    names = [style(method).label for method in methods]
    entry_in = extra_in + 0.055 * max(map(len, names), default=1)
    return math.ceil(len(names) / max(1, int((width - 0.1) / entry_in)))


def legend_in(methods: Iterable[str], width: float) -> float:
    """Return how high such a legend is."""
    return 0.15 * legend_lines(methods, width)


def legend_rows(methods: Iterable[str], width: float) -> Any:
    """Return a legend that breaks into rows before it outgrows the figure."""
    rows = legend_lines(methods, width)
    # One object for both would lose the colours: a guide keeps what it was trained with.
    return p9.guides(color=p9.guide_legend(nrow=rows), shape=p9.guide_legend(nrow=rows))


def lines(notes: Iterable[str], width: float) -> list[str]:
    """Break notes below a figure of this many inches; they begin under the panels' left edge."""
    letters = int(20.5 * (width - 0.45))
    whole = (note.replace(" %", "\u00a0%") for note in notes)
    return [line for note in whole for line in textwrap.wrap(note, letters, break_on_hyphens=False)]


def wrap(characters: int) -> Callable[[str], str]:
    """Return a labeller that breaks long panel titles between their parts."""

    def labeller(title: str) -> str:
        lines = [""]
        for part in title.split(", "):
            grown = f"{lines[-1]}, {part}" if lines[-1] else part
            if len(grown) <= characters or not lines[-1]:
                lines[-1] = grown
            else:
                lines[-1] += ","
                lines.append(part)
        return "\n".join(lines)

    return labeller


def clock_note(report: Report, units: Iterable[Unit]) -> tuple[dict[str, str], str | None]:
    """Map labels to panel titles, marking units whose seconds may not be ranked; and say why."""
    marked, names = {}, []
    for unit in units:
        verdict = report.comparability(unit)
        marked[unit.label] = title(unit) if verdict.comparable else f"{title(unit)} *"
        if not verdict.comparable:
            names.append(unit.label)
    note = "* times measured under different conditions: compare the regrets, not the times"
    return marked, note if names else None


def dgl_table(report: Report, table: str, figure: str) -> pl.DataFrame:
    """Read a table that only DGL runs have: of one data seed of every setting, the first repeat."""
    runs = [cell.first for unit in one_seed_each(report.units) for cell in report.cells(unit)]
    frame = report.table(table, runs)
    if frame.is_empty():
        raise ReportError(
            f"{figure} needs a finished run of a dgl method with --diagnostics; `dglbench train "
            f"matching --method dgl-5 --diagnostics --out {report.folder}` makes one."
        )
    return frame


def _distinct(values: list[float]) -> list[str]:
    finite = [value for value in values if math.isfinite(value)]
    for digits in range(6):
        texts = [f"{value:.{digits}f}" for value in finite]
        exact = all(
            abs(float(t) - v) < 1e-9 + 1e-6 * abs(v) for t, v in zip(texts, finite, strict=True)
        )
        if len(set(texts)) == len(set(finite)) and exact:
            break
    return [f"{value:.{digits}f}" if math.isfinite(value) else "" for value in values]
