"""What ``dglbench report`` was asked for: names, formats, folders, each checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dglbench.errors import ReportError
from dglbench.report.names import CHANGES, FIGURE_NAMES, TABLE_NAMES
from dglbench.report.style.layout import Layout, parse_width
from dglbench.runs.out_folder import check_file, check_folder

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
    return _spelt_out(asked, "figure", FIGURE_NAMES, FIGURE_NAMES)


def table_names(asked: Sequence[str]) -> list[str]:
    """Return the tables asked for, ``all`` spelt out."""
    return _spelt_out(asked, "table", TABLE_NAMES, (*TABLE_NAMES, CHANGES))


def _spelt_out(
    asked: Sequence[str], kind: str, every: Sequence[str], known: Sequence[str]
) -> list[str]:
    for name in asked:
        if name not in (*known, "all"):
            raise ReportError(
                f"there is no {kind} {name!r}; there are {', '.join(known)}, and all."
            )
    return list(every) if "all" in asked else list(dict.fromkeys(asked))


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


def formats(asked: Sequence[str], figures: bool, tables: bool) -> tuple[list[str], list[str]]:
    """Return the formats of figures (png unless others are asked for) and those of tables."""
    pictures: list[str] = []
    texts: list[str] = []
    for name in dict.fromkeys(asked):
        if name in _FIGURE_FORMATS and figures:
            pictures.append(name)
        elif name in _TABLE_FORMATS and tables:
            texts.append(name)
        elif name in _FIGURE_FORMATS:
            raise ReportError(f"--format {name} is for figures; add --figure NAME.")
        elif name in _TABLE_FORMATS:
            raise ReportError(f"--format {name} is for tables; add --table NAME.")
        else:
            raise ReportError(
                f"there is no format {name!r}; figures take {', '.join(_FIGURE_FORMATS)}, "
                f"tables {', '.join(_TABLE_FORMATS)}."
            )
    return pictures or ["png"], texts


def check_folders(folders: Sequence[Path], tables: Sequence[str]) -> None:
    """Refuse to compare anything but two folders, or to draw from folders that are compared."""
    if CHANGES not in tables:
        return
    if len(folders) != 2:
        raise ReportError(
            f"--table changes compares two folders, got {len(folders)}; give what was and what is, "
            "such as `dglbench report before/ after/ --table changes`."
        )
    if list(tables) != [CHANGES]:
        raise ReportError("--table changes compares two folders; ask for it alone.")


def check_places(out: Path | None, html: Path | None, pictures: Sequence[str]) -> None:
    """Refuse places that cannot be written to, before anything is read or drawn."""
    if out is not None and out.suffix.removeprefix(".") in pictures and not out.is_dir():
        check_file(out)
    elif out is not None:
        check_folder(out)
    if html is not None:
        check_file(html, "--html")


def layout(width: str | None, *, every_method: bool) -> Layout:
    """Return the layout of figures of this width."""
    return Layout(None if width is None else parse_width(width), every_method)
