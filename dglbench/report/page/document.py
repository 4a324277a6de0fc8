"""The page: everything the report has to say, in one HTML file that needs no network.

Figures are SVG images inside the file, their numbers ``data:`` links; an image
cannot run scripts, so nothing in the logs can either. All other text goes through
Jinja2's escaping, and the chart's data through its ``tojson``.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dglbench import atomic
from dglbench.errors import ReportError
from dglbench.packs.layout import SUFFIX
from dglbench.report import tables
from dglbench.report.claims.evidence import Evidence
from dglbench.report.claims.judge import Claim, judge, read_claims
from dglbench.report.commands import configs, reproduce
from dglbench.report.loading import Report
from dglbench.report.method_names import plain
from dglbench.report.page.answers import answers
from dglbench.report.page.chart import chart_data, opening_units, runtime
from dglbench.report.page.chart_spec import specification, spread_specification
from dglbench.report.page.examples import examples
from dglbench.report.page.for_time import for_time
from dglbench.report.page.machines import machines
from dglbench.report.page.outline import outline
from dglbench.report.page.pictures import LONG_TEXT, PACKED, csv_link, pack, pictures
from dglbench.report.statistics.comparisons import compare
from dglbench.report.statistics.ranking import ranking
from dglbench.report.statistics.standings import Board, standings
from dglbench.report.style.palette import on_dark, style
from dglbench.report.style.titles import listing
from dglbench.report.tables.anytime import anytime
from dglbench.report.tables.budget import budget
from dglbench.report.tables.equivalence import equivalence
from dglbench.report.tables.leaderboard import leaderboard
from dglbench.report.tables.pairwise import pairwise
from dglbench.report.tables.power import power
from dglbench.report.tables.profile import profile
from dglbench.report.tables.ranks import ranks
from dglbench.report.tables.resources import resources
from dglbench.report.tables.restarts import restarts
from dglbench.report.tables.rivals import rivals
from dglbench.report.tables.runs import runs
from dglbench.report.tables.seeds import seeds
from dglbench.report.tables.selected import selected
from dglbench.report.tables.sheet import Sheet
from dglbench.report.tables.summary import summary
from dglbench.report.tables.total import total
from dglbench.words import percent

__all__ = ["build", "steps", "write"]

_MOST_ROWS = 500
"""Beyond this a table on the page lists what matters; its CSV still holds every row."""
_MOST_RUNS = 5000
"""The same for the table of runs: what its search box cannot find, a reader takes as not run."""
_LONG_PART = 60_000
"""From so many characters on, a table is packed: tables repeat themselves."""
_BESIDE = {
    "restarts": ("restarts", "total"),
    "spread": ("seeds", "power"),
    "ranks": ("ranks", "equivalence"),
    "profile": ("profile",),
    "anytime": ("anytime",),
}
"""Which tables stand under which figure."""
_PAYS = ("when-it-pays", "predictors")
"""The figures that stand beside the table of rivals."""
_FRONT = ("restarts", "spread", "time-vs-regret", "tuning")
"""The figures that are open; the others are folded."""


def steps() -> list[str]:
    """Return the names of the steps that a ``watch`` hears of."""
    from dglbench.report.figures import FIGURES

    return list(FIGURES)


def write(
    report: Report,
    path: Path,
    claims: Sequence[Claim] | None = None,
    watch: Callable[[str], None] | None = None,
    *,
    title: str | None = None,
    baseline: str | None = None,
) -> None:
    """Write the page, whole or not at all."""
    text = build(report, claims, watch, title=title, baseline=baseline)
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
    *,
    title: str | None = None,
    baseline: str | None = None,
) -> str:
    """Return the page; ``watch`` hears what is being done."""
    import jinja2

    from dglbench import __version__

    evidence = Evidence(report)
    boards = standings(report, evidence.reach, evidence.pairs)
    judged = judge(evidence, read_claims() if claims is None else claims)
    opening = opening_units(report)
    overview = tables.say_measure(summary(report, baseline, boards, evidence.reach), report)
    watch = watch or (lambda _: None)
    drawn, undrawn = pictures(report, watch)
    swatches = {name: f"m{at}" for at, name in enumerate(_named(report))}
    chart = chart_data(report, opening, evidence.pairs)
    for name, look in chart["methods"].items():
        look["swatch"] = swatches[name]
    beside = {
        "ranks": ranks(report, baseline),
        "equivalence": equivalence(report, baseline),
        "profile": profile(report, evidence.reach),
        "anytime": anytime(report),
        "seeds": seeds(report, evidence.reach),
        "power": power(report),
        "restarts": restarts(report),
        "total": total(report),
    }
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dglbench.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pack"] = pack
    # What the page shortens.
    whole: dict[str, Sheet] = {"pairwise": pairwise(report, evidence.pairs)}

    def as_csv(sheet: Sheet) -> str:
        return csv_link(tables.render(whole.get(sheet.name, sheet), "csv"))

    environment.filters["csv"] = as_csv
    environment.filters["folded"] = _folded
    environment.filters["unbroken"] = _unbroken
    environment.filters["percent"] = percent
    environment.filters["lowerfirst"] = _lowerfirst
    return environment.get_template("page.html").render(
        version=__version__,
        title=title or f"dglbench: {_names(report)}",
        finished=max((run.finished for run in report.runs), default="")[:10],
        answers=answers(report, ranking(report), boards, evidence.pairs),
        outline=outline(report, boards, judged),
        overview=overview,
        for_time=for_time(boards),
        rivals=_rivals(report),
        examples=examples(report),
        methods=report.methods,
        bases=list(dict.fromkeys(plain(name) for name in report.methods)),
        chart=chart,
        opening=compare(report, opening).title if opening else "",
        specification={"curves": specification(), "spread": spread_specification()},
        runtime=pack(runtime()),
        leaderboard=tables.say_measure(
            leaderboard(report, boards, evidence.reach, evidence.pairs), report
        ),
        scale=_scales(boards),
        look=style,
        swatches=swatches,
        first_shown=_first_shown(report),
        packed=PACKED,
        long_text=LONG_TEXT,
        on_dark=on_dark,
        pictures=[picture for picture in drawn if picture.name in _FRONT],
        paying=[picture for picture in drawn if picture.name in _PAYS],
        further=[picture for picture in drawn if picture.name not in (*_PAYS, *_FRONT)],
        undrawn=undrawn,
        beside={
            name: [tables.say_measure(beside[each], report) for each in names]
            for name, names in _BESIDE.items()
        },
        judged=judged,
        decided=("supported", "holds in part", "refuted"),
        verdicts=Counter(item.verdict for item in judged),
        tables=[
            _against_the_best(whole["pairwise"]),
            selected(report),
            budget(report),
            resources(report),
        ],
        machines=machines(report.runs),
        lost=[run for run in report.runs if run.state != "done"],
        unreadable=report.unreadable,
        runs=_shortened(runs(report)),
        all_runs=runs(report),
        commands=reproduce(report),
        configs=list(configs(report).items()),
    )


def _names(report: Report) -> str:
    """Return what the results are called that the page joins."""
    places = [report.folder, *(source.path for source in report.source.sources)]
    return listing(list(dict.fromkeys(_name(place) for place in places)), most=3)


def _name(folder: Path) -> str:
    """Return what the results are called: of ``tuned/runs``, ``tuned``; of a pack its name."""
    whole = folder.resolve()
    name = whole.parent.name if whole.name == "runs" and whole.parent.name else whole.name
    return name.removesuffix(SUFFIX)


def _folded(html: str) -> Markup:
    """Pack a part of the page that is long; the page's script puts it back.

    What comes in is the template's own text, escaped already.
    """
    whole = Markup(html)
    if len(whole) <= _LONG_PART:
        return whole
    words = "This long part needs scripts; its CSV holds the same."
    return Markup(
        '<div data-folded="{}"><noscript><p class="notes">{}</p></noscript></div>'
    ).format(pack(whole), words)


def _lowerfirst(words: str) -> str:
    """Write a title within a sentence."""
    return words[:1].lower() + words[1:]


def _unbroken(words: str) -> str:
    """Let a long heading break after its commas only: ``matching-50,`` and ``seed 10``."""
    return (
        words.replace(", ", "\n").replace("-", "\u2011").replace(" ", "\u00a0").replace("\n", ", ")
    )


def _scales(boards: Sequence[Board]) -> dict[str, tuple[float, float]]:
    """Return, per setting, the ends of the axis that the small interval plots share."""
    scales = {}
    for board in boards:
        found = board.standings
        ends = [end for each in found for end in each.interval or (each.result.regret(),)]
        ends += [each.result.regret() for each in found]
        # Not the ends of a warm start's interval: it is no method, and often by far the widest.
        ends += [each.regret for each in board.starts]
        low, high = min(ends), max(ends)
        scales[board.comparison.title] = (low, high) if high > low else (low - 1, high + 1)
    return scales


def _named(report: Report) -> list[str]:
    """Return every method the page names, finished or not."""
    return list(dict.fromkeys([*report.methods, *(run.method for run in report.runs)]))


def _rivals(report: Report) -> Sheet | None:
    """Return the table of both kinds of training; None if only one kind was run."""
    try:
        return rivals(report)
    except ReportError:
        return None


def _first_shown(report: Report) -> set[str]:
    """Return the methods, without predictor, that the chart shows before the reader chooses."""
    from dglbench.report.style.choice import best_of_each_family, is_crowded
    from dglbench.report.style.layout import FREE

    crowded = is_crowded(report, FREE)
    shown = best_of_each_family(report, report.units) if crowded else set(report.methods)
    return {plain(name) for name in shown}


def _against_the_best(sheet: Sheet) -> Sheet:
    """Keep, of too many pairs, those with the method of the lowest regret in the setting."""
    if len(sheet.rows) <= _MOST_ROWS:
        return sheet
    first: dict[Any, Any] = {}
    for row in sheet.rows:  # pairs come with the lowest regret first
        first.setdefault(row[0].value, row[1].value)
    kept = tuple(row for row in sheet.rows if row[1].value == first[row[0].value])
    note = (
        "Shown are the pairs with the lowest test regret of each setting; "
        f"{len(sheet.rows) - len(kept):,} further pairs are in the CSV."
    )
    return dataclasses.replace(sheet, rows=kept, notes=(*sheet.notes, note))


def _shortened(sheet: Sheet) -> Sheet:
    """Drop finished runs that were not chosen from a table too long to read."""
    if len(sheet.rows) <= _MOST_RUNS:
        return sheet
    kept = tuple(row for row in sheet.rows if row[3].value != "done")[:_MOST_RUNS]
    note = f"{len(sheet.rows) - len(kept):,} further runs are in the CSV."
    return dataclasses.replace(sheet, rows=kept, notes=(*sheet.notes, note))
