"""``dglbench report``: tables, figures, claims and a page, from a folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dglbench.cli import console
from dglbench.cli.report_names import FIGURE_NAMES, TABLE_NAMES, open_files
from dglbench.errors import ReportError

if TYPE_CHECKING:
    from dglbench.report import Report
    from dglbench.report.sheet import Cell, Sheet

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench report results --html report.html --open",
    "dglbench report results --figure time-vs-regret --methods spo,dgl-5 --tasks matching-50",
)

_FIGURE_FORMATS = ("png", "svg", "pdf")
_TABLE_FORMATS = ("md", "csv", "tex")
_OUT = Path("figures")
_RICH_ROWS = 400
"""A longer table is printed plainly: nobody reads it on a screen, and Rich is slow."""


def run(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or one run; several are read together.  [default: results]",
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
            help=f"Show this table; repeat for several: {', '.join(TABLE_NAMES)} or all.  "
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
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT",
            help="png, svg or pdf for figures; md, csv or tex for tables; repeat for both.  "
            "[default: png, and the terminal]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where figures go, and tables if a --format of theirs is given.  "
            "[default: figures, and the terminal]",
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
    figures, tables = _figure_names(figure or []), _table_names(table or [])
    nothing_asked = not (figures or tables or claims or claims_file or html)
    if nothing_asked:
        tables = ["leaderboard"]
    picture_format, table_format = _formats(format or [], bool(figures), bool(tables))
    from dglbench.report import load
    from dglbench.report.narrow import narrow

    # The list of runs is there to explain why nothing finished, so it alone needs no result.
    only_runs = tables == ["runs"] and not (figures or claims or claims_file or html)
    report = load(*(results or [Path("results")]), require_done=not only_runs)
    if report.folder not in (results or [Path("results")]):
        console.note(f"runs: {report.folder}")
    report = narrow(report, methods=methods, tasks=tasks, seeds=seeds)
    document: dict[str, Any] = {"results": str(report.folder)}
    if tables:
        document["tables"] = _show_tables(report, tables, table_format, out, quiet=json)
    if claims or claims_file:
        document["claims"] = _show_claims(report, claims_file, quiet=json)
    if figures:
        everything = "all" in (figure or [])
        target = out or _OUT
        document["figures"] = _draw(report, figures, picture_format, target, everything)
    if html:
        _write_page(report, html, claims_file)
        document["html"] = str(html)
    if json:
        document["unreadable"] = [item._asdict() for item in report.unreadable]
        console.print_json(document)
    elif nothing_asked:
        _hint(report.folder)
    if open_:
        open_files([document.get("html"), *document.get("figures", {}).values()])
    return 0


def _figure_names(asked: Sequence[str]) -> list[str]:
    if not asked:
        return []
    from dglbench.report import figures

    if "all" in asked:
        return list(figures.FIGURES)
    return [figures.find(name).name for name in dict.fromkeys(asked)]


def _table_names(asked: Sequence[str]) -> list[str]:
    from dglbench.report.tables import TABLES

    if "all" in asked:
        return list(TABLES)
    for name in asked:
        if name not in TABLES:
            raise ReportError(
                f"there is no table {name!r}; there are {', '.join(TABLES)}, and all."
            )
    return list(dict.fromkeys(asked))


def _formats(asked: Sequence[str], figures: bool, tables: bool) -> tuple[str, str | None]:
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


def _show_tables(
    report: Report, names: Sequence[str], format: str | None, out: Path | None, *, quiet: bool
) -> dict[str, Any]:
    from dglbench import atomic
    from dglbench.report import tables

    records: dict[str, Any] = {}
    for name in names:
        sheet = tables.build(name, report)
        records[name] = {"rows": sheet.records(), "notes": list(sheet.notes)}
        if out is not None and format is not None:
            path = out / f"{name}.{format}"
            try:
                atomic.write_text(path, tables.render(sheet, format))
            except OSError as error:
                raise _unwritable(path, error) from error
            records[name]["file"] = str(path)
            console.note(f"{name}: {path}")
        elif format is not None and not quiet:
            console.out.file.write(tables.render(sheet, format))
        elif not quiet:
            _print_sheet(sheet)
            if name == "leaderboard":
                _print_unfinished(report)
    return records


def _print_sheet(sheet: Sheet) -> None:
    from rich.text import Text

    tones = {"best": "bold", "near": "", "muted": "dim", "bad": "red"}
    columns = [sheet.columns[at] for at in sheet.shown]
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


def _print_unfinished(report: Report) -> None:
    """Failed, timed-out and diverged runs are always shown; the first few in full."""
    from dglbench.report.leaderboard import unfinished

    lost = unfinished(report)
    for sentence in lost[:8]:
        console.warn(f"no result: {sentence}")
    if len(lost) > 8:
        console.warn(f"no result: {len(lost) - 8} more; --table runs lists them all")


def _show_claims(report: Report, file: Path | None, *, quiet: bool) -> list[Any]:
    from rich.text import Text

    from dglbench.report.checks import Evidence
    from dglbench.report.claims import judge, read_claims

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
            for finding in item.findings:
                line = f"    {finding.outcome:<7}{finding.setting}: {finding.text}"
                console.out.print(Text(line, "dim"), highlight=False, soft_wrap=whole)
    return [item.document() for item in judged]


def _draw(
    report: Report, names: Sequence[str], format: str, out: Path, everything: bool
) -> dict[str, str | None]:
    """Draw figures; of ``all``, those that cannot be drawn are noted and passed over."""
    from dglbench.report import figures

    drawn: dict[str, str | None] = {}
    for name in names:
        path = out / f"{name}.{format}"
        try:
            figures.save(name, report, path, format)
        except ReportError as error:
            if not everything:
                raise
            console.warn(str(error))
            drawn[name] = None
        except OSError as error:
            raise _unwritable(path, error) from error
        else:
            console.note(f"{name}: {path}")
            drawn[name] = str(path)
    return drawn


def _write_page(report: Report, html: Path, claims_file: Path | None) -> None:
    from dglbench.report import page
    from dglbench.report.claims import read_claims

    claims = read_claims(claims_file)
    if html.is_dir():
        raise ReportError(
            f"{html} is a folder; give --html a file, such as {html / 'report.html'}."
        )
    with console.progress("drawing the page", len(page.steps())) as tracker:

        def watch(step: str) -> None:
            tracker.describe(step)
            tracker.advance()

        page.write(report, html, claims, watch)
    console.note(f"page: {html}")


def _unwritable(path: Path, error: OSError) -> ReportError:
    return ReportError(
        f"{path} could not be written: {error.strerror or error}; choose another --out."
    )


def _hint(results: Path) -> None:
    console.note(
        f"more: dglbench report {results} --html report.html (all on one page), "
        "--figure time-vs-regret or all, --table pairwise, selected, budget, runs or all, --claims"
    )
