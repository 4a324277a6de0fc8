"""How a table is written as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

from dglbench.errors import ReportError
from dglbench.report.tables.sheet import Sheet

__all__ = ["FORMATS", "render"]

FORMATS = ("md", "csv", "tex")


def render(sheet: Sheet, format: str) -> str:
    """Write a table as the text of a file."""
    if format not in FORMATS:
        raise ReportError(f"a table is written as {', '.join(FORMATS)}, not as {format!r}.")
    return {"md": _markdown, "csv": _csv, "tex": _latex}[format](sheet)


def _csv(sheet: Sheet) -> str:
    """All columns, unrounded values, nothing but data."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.key for column in sheet.columns)
    writer.writerows(record.values() for record in sheet.records())
    return stream.getvalue()


def _markdown(sheet: Sheet) -> str:
    columns = [sheet.columns[at] for at in sheet.shown]
    lines = [f"## {sheet.title}", ""]
    for sentence in sheet.lead:
        lines += [_md(sentence), ""]
    for heading, rows in sheet.blocks():
        if heading:
            lines += [f"### {_md(heading)}", ""]
        lines.append(_bar(_md(column.title) for column in columns))
        lines.append(_bar("---:" if column.numeric else "---" for column in columns))
        lines += [_bar(_md(row[at].text) for at in sheet.shown) for row in rows]
        lines.append("")
    for note in sheet.notes:
        lines += [_md(note), ""]
    return "\n".join(lines)


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(words: str) -> str:
    flat = " ".join(words.split())
    for sign in ("\\", "|", "<", "*", "_", "`"):
        flat = flat.replace(sign, "&lt;" if sign == "<" else f"\\{sign}")
    return flat


def _latex(sheet: Sheet) -> str:
    """A booktabs tabular a block; needs ``\\usepackage{booktabs}`` and nothing else."""
    columns = [sheet.columns[at] for at in sheet.shown]
    layout = "".join("r" if column.numeric else "l" for column in columns)
    lines = [f"% {sheet.title}, written by dglbench report; needs the package booktabs"]
    lines += [f"% {sentence}" for sentence in sheet.lead]
    for heading, rows in sheet.blocks():
        if heading:
            lines.append(f"% {heading}")
        lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
        if heading:
            lines += [
                rf"\multicolumn{{{len(columns)}}}{{l}}{{\textbf{{{_tex(heading)}}}}} \\",
                r"\midrule",
            ]
        lines += [_amp(_tex(column.title) for column in columns), r"\midrule"]
        for row in rows:
            lines.append(_amp(_tex_cell(row[at]) for at in sheet.shown))
        lines += [r"\bottomrule", r"\end{tabular}", ""]
    lines += [f"% {' '.join(note.split())}" for note in sheet.notes]
    return "\n".join(lines) + "\n"


def _amp(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _tex_cell(cell: Any) -> str:
    words = _tex(cell.text)
    return rf"\textbf{{{words}}}" if cell.tone == "best" else words


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "→": r"$\to$",
    "<": r"$<$",
    ">": r"$>$",
    "·": r"$\cdot$",
    "≈": r"$\approx$",
    "²": r"\textsuperscript{2}",
    "σ": r"$\sigma$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "★": r"$\star$",
    "\u00a0": "~",
    "†": r"\textdagger{}",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "α": r"$\alpha$",
    "τ": r"$\tau$",
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in re.sub(r"[ \t\r\n]+", " ", words).strip())
