"""The page: everything the report has to say, in one HTML file that needs no network.

Figures are SVG and their numbers CSV, both inside the file as ``data:`` links;
an image cannot run scripts, so nothing in the logs can either. All other text
goes through Jinja2's escaping.
"""

from __future__ import annotations

import base64
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dglbench import atomic
from dglbench.errors import ReportError
from dglbench.report import tables
from dglbench.report.budget import budget, every_run
from dglbench.report.checks import Evidence
from dglbench.report.claims import Claim, judge, read_claims
from dglbench.report.commands import configs, reproduce
from dglbench.report.hyperparameters import selected
from dglbench.report.leaderboard import Standing, leaderboard, standings
from dglbench.report.load import Report, Run
from dglbench.report.outline import outline
from dglbench.report.pairwise import pairwise
from dglbench.report.palette import style
from dglbench.report.sheet import Sheet

__all__ = ["build", "steps", "write"]

_PX_PER_PT = 4 / 3
_MOST_ROWS = 500
"""Beyond this a table on the page lists what matters; its CSV still holds every row."""


class Picture(NamedTuple):
    """A figure as the page shows it."""

    name: str
    title: str
    caption: str
    svg: str
    """Base64."""
    csv: str
    """Base64; empty where nothing measured is drawn."""
    width_px: int


def steps() -> list[str]:
    """Return the names of the steps that a ``watch`` hears of."""
    from dglbench.report.figures import FIGURES

    return list(FIGURES)


def write(
    report: Report,
    path: Path,
    claims: Sequence[Claim] | None = None,
    watch: Callable[[str], None] | None = None,
) -> None:
    """Write the page, whole or not at all."""
    text = build(report, claims, watch)
    try:
        atomic.write_text(path, text)
    except OSError as error:
        raise ReportError(
            f"the page could not be written to {path}: {error.strerror or error}; "
            "give --html another file."
        ) from error


def build(
    report: Report,
    claims: Sequence[Claim] | None = None,
    watch: Callable[[str], None] | None = None,
) -> str:
    """Return the page; ``watch`` hears what is being done."""
    import jinja2

    from dglbench import __version__

    evidence = Evidence(report)
    board = standings(report, evidence.reach, evidence.pairs)
    judged = judge(evidence, read_claims() if claims is None else claims)
    pictures, undrawn = _pictures(report, watch or (lambda _: None))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dglbench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["csv"] = lambda sheet: _encode(tables.render(sheet, "csv"))
    return environment.get_template("page.html").render(
        version=__version__,
        folder=report.folder.resolve().name,
        finished=_finished(report),
        outline=outline(report, board, judged),
        leaderboard=leaderboard(report, board),
        scale=_scales(board),
        colour=lambda method: style(str(method)).colour,
        pictures=pictures,
        undrawn=undrawn,
        judged=judged,
        verdicts=Counter(item.verdict for item in judged),
        tables=[pairwise(report), selected(report), budget(report)],
        machines=_machines(report.runs),
        lost=[run for run in report.runs if run.state != "done"],
        unreadable=report.unreadable,
        runs=_shortened(every_run(report)),
        all_runs=every_run(report),
        commands=reproduce(report),
        configs=[(file.name, file.read_text("utf-8", "replace")) for file in configs(report)],
    )


def _pictures(
    report: Report, watch: Callable[[str], None]
) -> tuple[list[Picture], list[tuple[str, str]]]:
    """Draw all figures; those the logs do not allow are named with the reason."""
    from dglbench.report import figures

    drawn, undrawn = [], []
    for name, figure in figures.FIGURES.items():
        watch(f"drawing {name}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{name}.svg"
                figures.save(name, report, file, "svg")
                svg = file.read_text("utf-8")
            data = figure.data(report)
        except ReportError as error:
            undrawn.append((name, str(error)))
            continue
        csv = "" if data.is_empty() else _encode(data.write_csv(float_precision=9))
        drawn.append(Picture(name, figure.title, figure.caption, _encode(svg), csv, _width_px(svg)))
    return drawn, undrawn


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _width_px(svg: str) -> int:
    found = re.search(r'<svg[^>]*\swidth="([\d.]+)pt"', svg)
    return round(float(found[1]) * _PX_PER_PT) if found else 480


def _scales(board: Mapping[str, Sequence[Standing]]) -> dict[str, tuple[float, float]]:
    """Return, per setting, the ends of the axis that the small interval plots share."""
    scales = {}
    for label, found in board.items():
        ends = [end for each in found for end in each.interval or (each.run.test_regret,)]
        ends += [each.run.test_regret for each in found]
        low, high = min(ends), max(ends)
        scales[label] = (low, high) if high > low else (low - 1, high + 1)
    return scales


def _finished(report: Report) -> str:
    """Return when the last run finished: the page is a function of the logs, not of today."""
    times = [run.finished for run in report.runs]
    return max(times, default="")[:10]


def _machines(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Describe every different environment once, with how many runs were made in it."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(replace(run.environment, load_1min=None)), []).append(run)
    described = []
    for group in groups.values():
        seen = group[0].environment
        loads = [
            run.environment.load_1min for run in group if run.environment.load_1min is not None
        ]
        described.append(
            {
                "runs": len(group),
                "cpu": seen.cpu,
                "cores": seen.cores,
                "memory": seen.memory_gib,
                "platform": seen.platform,
                "machine": seen.machine,
                "python": seen.python,
                "threads": seen.threads,
                "concurrency": seen.concurrency,
                "load": f"{min(loads):.1f}–{max(loads):.1f}" if loads else None,
                "revision": seen.git_revision[:10] if seen.git_revision else None,
                "dirty": bool(seen.git_dirty),
                "versions": dict(seen.versions),
            }
        )
    return sorted(described, key=lambda item: -item["runs"])


def _shortened(sheet: Sheet) -> Sheet:
    """Drop finished runs that were not chosen from a table too long to read."""
    if len(sheet.rows) <= _MOST_ROWS:
        return sheet
    import dataclasses

    kept = tuple(row for row in sheet.rows if row[3].value != "done")[:_MOST_ROWS]
    note = f"{len(sheet.rows) - len(kept):,} further runs are in the CSV."
    return dataclasses.replace(sheet, rows=kept, notes=(*sheet.notes, note))
