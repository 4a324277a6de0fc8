"""How ``dglbench report`` prints tables and claims, and opens what it has drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dglbench.cli import console

if TYPE_CHECKING:
    from dglbench.report import Report
    from dglbench.report.tables.sheet import Cell, Sheet

__all__ = ["open_files", "print_sheet", "print_unfinished", "show_claims"]

_RICH_ROWS = 400
"""A longer table is printed plainly: nobody reads it on a screen, and Rich is slow."""
_PATIENCE = 3.0
"""Seconds in which a desktop that cannot open a file says so."""


def print_sheet(sheet: Sheet) -> None:
    """Print what is to be read first, the table a block at a time, and its notes."""
    from rich.text import Text

    tones = {"best": "bold", "near": "", "muted": "dim", "bad": "red"}
    columns = [sheet.columns[at] for at in sheet.shown]
    for sentence in sheet.lead:
        console.out.print(Text(sentence), highlight=False, soft_wrap=True)
    for heading, rows in sheet.blocks():
        if len(sheet.rows) > _RICH_ROWS:
            _print_plainly(heading or sheet.title, sheet, rows)
            continue
        console.print_table(
            [column.title for column in columns],
            [
                [Text(row[at].text, tones.get(row[at].tone, "")) for at in sheet.shown]
                for row in rows
            ],
            title=heading or sheet.title,
            right=[column.title for column in columns if column.numeric],
        )
    for note in sheet.notes:
        # A note may hold a command to copy: wrapping is left to the terminal.
        console.out.print(Text(note, "dim"), highlight=False, soft_wrap=True)


def _print_plainly(title: str, sheet: Sheet, rows: Sequence[tuple[Cell, ...]]) -> None:
    """Align a block of a long table without Rich, which takes a millisecond a row."""
    columns = [sheet.columns[at] for at in sheet.shown]
    lines = [[column.title for column in columns]]
    lines += [[" ".join(row[at].text.split()) for at in sheet.shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = (
        "  ".join(
            word.rjust(width) if column.numeric else word.ljust(width)
            for word, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )
    console.out.file.write("\n".join([title, *aligned, "", ""]))


def print_unfinished(report: Report) -> None:
    """Failed, timed-out and diverged runs are always shown; the first few in full."""
    from dglbench.report.tables.leaderboard import unfinished

    lost = unfinished(report)
    for sentence in lost[:8]:
        console.warn(f"no result: {sentence}")
    if len(lost) > 8:
        console.warn(f"no result: {len(lost) - 8} more; --table runs lists them all")


def show_claims(report: Report, file: Path | None, *, quiet: bool) -> list[Any]:
    """Judge the claims and print each with its rule and what was found."""
    from rich.text import Text

    from dglbench.report.claims.evidence import Evidence
    from dglbench.report.claims.judge import judge, read_claims

    judged = judge(Evidence(report), read_claims(file))
    if not quiet:
        whole = not console.out.is_terminal  # a pipe gets one line a finding
        colours = {"supported": "bold green", "refuted": "bold red"}
        for item in judged:
            verdict = Text(item.verdict, colours.get(item.verdict, "bold yellow"))
            title = Text.assemble(
                verdict, f"  {item.claim.statement}", (f"  {item.summary}", "dim")
            )
            console.out.print(title, highlight=False, soft_wrap=whole)
            rule = Text(f"    rule   {item.rule}", "italic dim")
            console.out.print(rule, highlight=False, soft_wrap=whole)
            for finding in item.shown:
                line = f"    {finding.outcome:<7}{finding.setting}: {finding.text}"
                console.out.print(Text(line, "dim"), highlight=False, soft_wrap=whole)
    return [item.document() for item in judged]


def open_files(paths: Iterable[str | None]) -> None:
    """Show files with whatever the desktop opens them with."""
    for path in paths:
        if path is None:
            continue
        try:
            refused = _launch(path)
        except OSError:
            refused = 1
        if refused:
            console.warn(f"{path} could not be opened here; it is written, open it yourself.")


def _launch(path: str) -> int:
    """Return 0 if the file was opened; a viewer that stays is not waited for."""
    if not sys.platform.startswith("linux"):
        return typer.launch(path)
    # typer does not wait for xdg-open, which is how one would learn that nothing can open it.
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(["xdg-open", path], stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        return process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.returncode = 0  # a viewer is left to itself, and Python need not warn of it
        return 0
