"""The figures as the page holds them: once each, small, and in the reader's colour scheme."""

from __future__ import annotations

import base64
import gzip
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import polars as pl
import polars.selectors

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.style.palette import TILE_EDGE, on_dark, tile_on_dark

__all__ = [
    "LONG_TEXT",
    "PACKED",
    "Picture",
    "csv_link",
    "pack",
    "pictures",
    "small",
    "with_dark_colours",
]

PACKED = "data:application/gzip;base64,"
LONG_TEXT = 50_000
"""From so many characters on, a figure or the chart's data is packed: some pages need to be."""
_LONG_LINK = 40_000
_LONG_LINE = 400
"""Characters of a path from which on a tenth of a point is as fine as anyone sees."""
_PX_PER_PT = 4 / 3
_DARK_PAPER = "#1D2024"  # the page's --card
_PAPER = ("#ffffff", TILE_EDGE.lower())


class Picture(NamedTuple):
    """A figure as the page shows it."""

    name: str
    title: str
    caption: str
    svg: str
    """Base64: an image cannot run scripts, so nothing in the logs can either."""
    packed: bool
    """Whether it is long and therefore compressed; the page's script unpacks it."""
    csv: str
    """A ``data:`` link, or one to the figure whose data hold these; empty where none is drawn."""
    width_px: int


def pictures(
    report: Report, watch: Callable[[str], None]
) -> tuple[list[Picture], list[tuple[str, str]]]:
    """Draw all figures; those the logs do not allow are named with the reason."""
    from dglbench.report import figures

    drawn, undrawn = [], []
    seen: dict[str, frozenset[str]] = {}
    for name, figure in figures.FIGURES.items():
        watch(f"drawing {name}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{name}.svg"
                figures.save(name, report, file, "svg")
                svg = with_dark_colours(small(file.read_text("utf-8")))
            data = figure.data(report)
        except ReportError as error:
            undrawn.append((name, str(error)))
            continue
        # Setting, seed and method name a run; its folder's name in every row would double the page.
        csv = "" if data.is_empty() else _shortened(data.drop("run_id", strict=False)).write_csv()
        # The curves of one seed each are among those of all: a page need not hold them twice.
        rows = frozenset(csv.splitlines())
        same = next((other for other, known in seen.items() if rows <= known), None)
        link = f"#figure-{same}" if csv and same else csv and csv_link(csv)
        seen[name] = rows
        packed = len(svg) > LONG_TEXT
        encoded = pack(svg) if packed else base64.b64encode(svg.encode()).decode()
        words = figure.title, figure.caption
        drawn.append(Picture(name, *words, encoded, packed, link, _width_px(svg)))
    return drawn, undrawn


def _shortened(data: pl.DataFrame) -> pl.DataFrame:
    """Keep six digits that matter: a curve of a thousand runs is mostly digits."""
    return data.with_columns(polars.selectors.float().round_sig_figs(6))


def csv_link(csv: str) -> str:
    """Return a table as a link that holds it: as it is, or packed if it is long.

    The page unpacks it on a click; without scripts it is a ``.csv.gz``.
    """
    plain = "data:text/csv;charset=utf-8," + quote(csv, safe=",-._~/:;()+*")
    if len(plain) <= _LONG_LINK:
        return plain
    return PACKED + pack(csv)


def pack(text: str) -> str:
    """Compress a long text, the same bytes each time, as base64."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def small(svg: str) -> str:
    """Drop what no reader sees: the metadata, line breaks in paths, the fourth digit of a point."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    # Not in scale(…): a glyph's size needs all its digits.
    for places in (r'\bd="[^"]*"', r'\b[xy]="[^"]*"', r"translate\([^)]*\)"):
        svg = re.sub(places, _rounded, svg)
    return re.sub(r"\n\s+", "\n", svg)


def _rounded(found: re.Match[str]) -> str:
    flat = re.sub(r"\s+", " ", found[0]).replace(' "', '"')
    digits = 1 if len(flat) > _LONG_LINE else 2
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.{digits}f}", flat)


def with_dark_colours(svg: str) -> str:
    """Add a style that repaints the figure where the reader prefers dark; files stay as drawn."""
    colours = sorted(set(re.findall(r"#[0-9a-fA-F]{6}(?![0-9a-fA-F])", svg)))
    rules = "".join(
        f'[style*="{paint}: {colour}"]{{{paint}:{_dark(colour)}!important}}'
        for colour in colours
        for paint in ("fill", "stroke")
    )
    edge = TILE_EDGE.lower()
    rules += "".join(
        f'[style*="fill: {colour}; stroke: {edge}"]{{fill:{tile_on_dark(colour)}!important}}'
        for colour in sorted(set(re.findall(rf"fill: (#[0-9a-f]{{6}}); stroke: {edge}", svg)))
    )
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return svg.replace("<defs>", f"<defs>{style}", 1)


def _dark(colour: str) -> str:
    return _DARK_PAPER if colour.lower() in _PAPER else on_dark(colour)


def _width_px(svg: str) -> int:
    found = re.search(r'<svg[^>]*\swidth="([\d.]+)pt"', svg)
    return round(float(found[1]) * _PX_PER_PT) if found else 480
