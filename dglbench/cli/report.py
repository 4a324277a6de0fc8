"""``dglbench report``: tables, figures, claims and a page, from a folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dglbench.cli import console
from dglbench.cli.report_terminal import (
    open_files,
    print_sheet,
    print_unfinished,
    show_claims,
)
from dglbench.errors import ReportError
from dglbench.report.names import CHANGES, FIGURE_NAMES, TABLE_NAMES

if TYPE_CHECKING:
    from dglbench.report import Report
    from dglbench.report.style.layout import Layout

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench report results --html report.html --open",
    "dglbench report results --figure time-vs-regret --methods spo,dgl-5 --tasks matching-50",
)

_OUT = Path("figures")


def run(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or one run; several are read together; --table changes compares "
            "two.  [default: results]",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Draw this figure; repeat for several: {', '.join(FIGURE_NAMES)} or all.  "
            "[default: none]",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Show this table; repeat for several: "
            f"{', '.join((*TABLE_NAMES, CHANGES))} or all.  "
            "[default: leaderboard, if nothing else is asked for]",
        ),
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Check the paper's claims on these logs.")
    ] = False,
    claims_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Further claims to check, as TOML.  [default: none]"),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one self-contained page.  [default: none]"),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The page's title (else the folder's name).")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD", help="Compare with this method in summary, ranks and equivalence."
        ),
    ] = None,
    band: Annotated[
        float,
        typer.Option(help="Regrets within this share of each other count as equal (equivalence)."),
    ] = 0.01,
    best_of: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            help="The second reading: what the best of R runs by validation is expected to have, "
            "at most half the repeats.  [default: half the repeats]",
        ),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(help="The difference to be found, in percentage points (power)."),
    ] = 0.5,
    width: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            help="Width of figures: column or text (one or both columns of a paper), or inches.",
        ),
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT",
            help="png, svg or pdf for figures; md, csv or tex for tables; repeat for "
            "several.  [default: png, and the terminal]",
        ),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method, predictor or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for figures, and for tables if they have a --format; or a file such as "
            "main.pdf for a single figure.  [default: figures, and the terminal]",
        ),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Only these methods.  [default: all]")
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Only these tasks or settings.  [default: all]"),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="A,B-C,…", help="Only these data seeds.  [default: all]"),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the page and the figures when they are drawn.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Draw figures, tables and a page from the logs; without options, the leaderboard."""
    if plugin:
        from dglbench.plugin_files import load_plugins

        load_plugins(plugin)
    from dglbench.report import request

    figures, tables = request.figure_names(figure or []), request.table_names(table or [])
    folders = results or [Path("results")]
    request.check_folders(folders, tables)
    nothing_asked = not (figures or tables or claims or claims_file or html)
    if nothing_asked:
        tables = ["leaderboard"]
    if open_ and not (figures or html):
        raise ReportError("--open shows figures and pages; add --figure NAME or --html FILE.")
    out, format = request.file_asked(out, format or [], figures)
    picture_formats, table_formats = request.formats(format, bool(figures), bool(tables))
    target = out or _OUT
    request.check_places(
        target if figures or (out and table_formats) else None, html, picture_formats
    )
    from dglbench.report import load
    from dglbench.report.narrow import narrow, with_best_of

    # The list of runs also explains why nothing finished, so it alone needs no result.
    only_runs = tables == ["runs"] and not (figures or claims or claims_file or html)
    each = [[folder] for folder in folders] if CHANGES in tables else [folders]
    reports = [
        narrow(load(*some, require_done=not only_runs), methods=methods, tasks=tasks, seeds=seeds)
        for some in each
    ]
    if best_of is not None:
        reports = [with_best_of(each, best_of) for each in reports]
    report = reports[0]
    _note_twice(report)
    if report.folder not in folders:
        console.note(f"runs: {report.folder}")
    document: dict[str, Any] = {"results": str(report.folder)}
    if tables:
        wanted = _Wanted(table_formats, out, baseline, band, gap / 100)
        document["tables"] = _show_tables(reports, tables, wanted, quiet=json)
    if claims or claims_file:
        document["claims"] = show_claims(report, claims_file, quiet=json)
    if figures:
        everything = "all" in (figure or [])
        layout = request.layout(width, every_method=methods is not None)
        document["figures"] = _draw(report, figures, picture_formats, target, everything, layout)
    if html:
        _write_page(report, html, claims_file, title, baseline)
        document["html"] = str(html)
    if json:
        document["unreadable"] = [item._asdict() for item in report.unreadable]
        console.print_json(document)
    elif nothing_asked:
        _hint(folders)
    if open_:
        open_files([document.get("html"), *document.get("figures", {}).values()])
    return 0


def _note_twice(report: Report) -> None:
    twice = report.source.twice
    if twice:
        first, second = next(iter(twice.values()))
        console.note(
            f"{len(twice)} runs are in two places with other seconds, such as {first} and "
            f"{second}: those of the first are shown."
        )


class _Wanted(NamedTuple):
    """The options of tables."""

    formats: Sequence[str]
    out: Path | None
    baseline: str | None
    band: float
    gap: float


def _show_tables(
    reports: Sequence[Report], names: Sequence[str], wanted: _Wanted, *, quiet: bool
) -> dict[str, Any]:
    from dglbench import atomic
    from dglbench.report import tables

    records: dict[str, Any] = {}
    for name in names:
        if name == tables.CHANGES:
            from dglbench.report.tables.changes import changes

            sheet = changes(*reports)
        else:
            sheet = tables.build(name, reports[0], wanted.baseline, wanted.band, wanted.gap)
        records[name] = {"rows": sheet.records(), "notes": list(sheet.notes)}
        for format in wanted.formats:
            if wanted.out is not None:
                path = wanted.out / f"{name}.{format}"
                try:
                    atomic.write_text(path, tables.render(sheet, format))
                except OSError as error:
                    raise _unwritable(path, error) from error
                records[name].setdefault("file", str(path))
                console.note(f"{name}: {path}")
            elif not quiet:
                console.out.file.write(tables.render(sheet, format))
        if not wanted.formats and not quiet:
            print_sheet(sheet)
            if name == "leaderboard":
                print_unfinished(reports[0])
    return records


def _draw(
    report: Report,
    names: Sequence[str],
    formats: Sequence[str],
    out: Path,
    everything: bool,
    layout: Layout,
) -> dict[str, str | None]:
    """Draw figures; of ``all``, those that cannot be drawn are noted and passed over.

    Return where each is in the first of its formats; the others lie beside it.
    """
    from dglbench.report import figures

    drawn: dict[str, str | None] = {}
    for name in names:
        for format in formats:
            path = out if out.suffix == f".{format}" else out / f"{name}.{format}"
            try:
                figures.save(name, report, path, format, layout)
            except ReportError as error:
                if not everything:
                    raise
                console.warn(str(error))
                drawn[name] = None
                break
            except OSError as error:
                raise _unwritable(path, error) from error
            console.note(f"{name}: {path}")
            drawn.setdefault(name, str(path))
    return drawn


def _write_page(
    report: Report,
    html: Path,
    claims_file: Path | None,
    title: str | None,
    baseline: str | None,
) -> None:
    from dglbench.report import page
    from dglbench.report.claims.judge import read_claims

    claims = read_claims(claims_file)
    with console.progress("drawing the page", len(page.steps())) as tracker:

        def watch(step: str) -> None:
            tracker.describe(step)
            tracker.advance()

        page.write(report, html, claims, watch, title=title, baseline=baseline)
    console.note(f"page: {html}")


def _unwritable(path: Path, error: OSError) -> ReportError:
    return ReportError(
        f"{path} could not be written: {error.strerror or error}; choose another --out."
    )


def _hint(folders: Sequence[Path]) -> None:
    console.note(
        f"more: dglbench report {' '.join(map(str, folders))} --html report.html "
        "(all on one page), --table summary (all settings at a glance), ranks, pairwise or all, "
        "--figure time-vs-regret or all, --claims"
    )
