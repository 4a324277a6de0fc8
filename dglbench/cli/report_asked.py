"""What ``dglbench report`` was asked for: names, formats, folders, each checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dglbench.errors import ReportError

if TYPE_CHECKING:
    from dglbench.report import Report
    from dglbench.report.figures.layout import Layout

__all__ = [
    "check_folders",
    "figure_names",
    "file_asked",
    "formats",
    "layout",
    "narrowed",
    "table_names",
]

_FIGURE_FORMATS = ("png", "svg", "pdf")
_TABLE_FORMATS = ("md", "csv", "tex")


def figure_names(asked: Sequence[str]) -> list[str]:
    """Return the figures asked for, ``all`` spelt out."""
    if not asked:
        return []
    from dglbench.report import figures

    if "all" in asked:
        return list(figures.FIGURES)
    return [figures.find(name).name for name in dict.fromkeys(asked)]


def table_names(asked: Sequence[str]) -> list[str]:
    """Return the tables asked for, ``all`` spelt out."""
    if not asked:
        return []
    from dglbench.report.tables import CHANGES, TABLES

    if "all" in asked:
        return list(TABLES)
    for name in asked:
        if name not in (*TABLES, CHANGES):
            raise ReportError(
                f"there is no table {name!r}; there are {', '.join((*TABLES, CHANGES))}, and all."
            )
    return list(dict.fromkeys(asked))


def file_asked(
    out: Path | None, formats: Sequence[str], figures: Sequence[str]
) -> tuple[Path | None, list[str]]:
    """Read ``--out main.pdf`` as the file and the format of a single figure."""
    suffix = "" if out is None else out.suffix.removeprefix(".")
    if out is None or suffix not in _FIGURE_FORMATS or len(figures) != 1 or out.is_dir():
        return out, list(formats)
    others = [name for name in formats if name in _FIGURE_FORMATS and name != suffix]
    if others:
        raise ReportError(f"--out {out} is a {suffix} file, --format says {others[0]}.")
    return out, [*(name for name in formats if name != suffix), suffix]


def formats(asked: Sequence[str], figures: bool, tables: bool) -> tuple[str, str | None]:
    """Tell the formats of figures and of tables apart; figures default to png."""
    picture, text = "png", None
    for name in asked:
        if name in _FIGURE_FORMATS and figures:
            picture = name
        elif name in _TABLE_FORMATS and tables:
            text = name
        elif name in _FIGURE_FORMATS:
            raise ReportError(f"--format {name} is for figures; add --figure NAME.")
        elif name in _TABLE_FORMATS:
            raise ReportError(f"--format {name} is for tables; add --table NAME.")
        else:
            raise ReportError(
                f"there is no format {name!r}; figures take {', '.join(_FIGURE_FORMATS)}, "
                f"tables {', '.join(_TABLE_FORMATS)}."
            )
    return picture, text


def check_folders(folders: Sequence[Path], tables: Sequence[str]) -> None:
    """Two folders are compared with each other, and nothing else is drawn from two."""
    compared = "changes" in tables
    if compared and len(folders) != 2:
        raise ReportError(
            f"--table changes compares two folders, got {len(folders)}; give what was and what is, "
            "such as `dglbench report before/ after/ --table changes`."
        )
    if len(folders) > 1 and list(tables) != ["changes"]:
        raise ReportError(
            f"only --table changes takes several folders, got {len(folders)}; give one folder, or "
            "ask for --table changes alone."
        )


def narrowed(report: Report, methods: str) -> Report:
    """Return the report with these methods alone, given as a list with commas."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    unknown = [name for name in names if name not in report.methods]
    if unknown or not names:
        raise ReportError(
            f"there is no result of {', '.join(map(repr, unknown)) or 'no method'} in "
            f"{report.folder}; there are {', '.join(report.methods)}."
        )
    return report.only(methods=names)


def layout(width: str | None, *, every_method: bool) -> Layout:
    """Read how wide figures shall be."""
    from dglbench.report.figures.layout import Layout, parse_width

    return Layout(None if width is None else parse_width(width), every_method)
