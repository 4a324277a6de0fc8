"""What ``dglbench report`` was asked for: names, formats, folders, each checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dglbench.errors import ReportError

if TYPE_CHECKING:
    from dglbench.report.figures.layout import Layout

__all__ = [
    "check_folders",
    "check_places",
    "figure_names",
    "file_asked",
    "formats",
    "layout",
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


def formats(asked: Sequence[str], figures: bool, tables: bool) -> tuple[list[str], str | None]:
    """Tell the formats of figures and of tables apart; figures default to png."""
    pictures: list[str] = []
    text = None
    for name in dict.fromkeys(asked):
        if name in _FIGURE_FORMATS and figures:
            pictures.append(name)
        elif name in _TABLE_FORMATS and tables:
            if text is not None:
                raise ReportError(f"tables take one --format at a time, got {text} and {name}.")
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
    return pictures or ["png"], text


def check_folders(folders: Sequence[Path], tables: Sequence[str]) -> None:
    """Refuse to compare anything but two folders, or to draw from folders that are compared."""
    if "changes" not in tables:
        return
    if len(folders) != 2:
        raise ReportError(
            f"--table changes compares two folders, got {len(folders)}; give what was and what is, "
            "such as `dglbench report before/ after/ --table changes`."
        )
    if list(tables) != ["changes"]:
        raise ReportError("--table changes compares two folders; ask for it alone.")


def check_places(out: Path | None, html: Path | None, pictures: Sequence[str]) -> None:
    """Refuse places that cannot be written to, before anything is read or drawn."""
    from dglbench.runs.out_folder import check_file, check_folder

    if out is not None and out.suffix.removeprefix(".") in pictures and not out.is_dir():
        check_file(out)
    elif out is not None:
        check_folder(out)
    if html is not None:
        check_file(html, "--html")


def layout(width: str | None, *, every_method: bool) -> Layout:
    """Read how wide figures shall be."""
    from dglbench.report.figures.layout import Layout, parse_width

    return Layout(None if width is None else parse_width(width), every_method)
