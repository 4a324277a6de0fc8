"""The probability that one method is better than another, for every pair."""

from __future__ import annotations

from itertools import combinations

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.complete_blocks import average_ranks, blocks, check_baseline
from dglbench.report.statistics.equivalence import BAND, SAMPLES, Probabilities, probabilities
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import Cell, Column, Sheet

__all__ = ["equivalence"]

FEW = 6
"""With fewer settings the prior and chance weigh as much as the data."""
SURE = 0.95
_MOST_METHODS = 12
"""With more, each is compared with the best alone: 26 methods have 325 pairs, a minute's work."""


def equivalence(report: Report, baseline: str | None = None, band: float = BAND) -> Sheet:
    """List every pair of methods, or those with the baseline, the likelier better one first."""
    if not 0 < band < 1:
        raise ReportError(f"the band must be a share between 0 and 1, such as 0.01; got {band:g}.")
    baseline = check_baseline(report, baseline)
    design = blocks(report)
    columns = _columns(band)
    if len(design.settings) < 2 or len(design.methods) < 2:
        why = "A comparison over settings needs two methods with results in two settings or more."
        return Sheet("equivalence", _TITLE, columns, (), (why,))
    regret = design.regret()
    notes = []
    if baseline is None and len(design.methods) > _MOST_METHODS:
        mean_ranks = average_ranks(regret).mean(axis=0)
        baseline = design.methods[int(mean_ranks.argmin())]
        notes = [
            f"With {len(design.methods)} methods each is compared with {style(baseline).label}, "
            "which has the best mean rank; --baseline or --methods chooses others."
        ]
    rows = []
    for one, other in combinations(range(len(design.methods)), 2):
        if baseline is not None and baseline not in (design.methods[one], design.methods[other]):
            continue
        found = probabilities(regret[:, one], regret[:, other], band)
        if found.worse > found.better:
            one, other = other, one  # noqa: PLW2901 - the likelier better one is named first
            found = Probabilities(found.worse, found.alike, found.better)
        rows.append(_row(design.methods[one], design.methods[other], found))
    rows.sort(key=lambda row: -float(row[2].value or 0))
    notes += [
        f"better: the probability that the method has the lower regret by more than "
        f"{100 * band:g} % on most further settings of this kind; Bayesian signed-rank test over "
        f"{design.scope}, "
        f"{SAMPLES:,} draws. A verdict needs {_percent(SURE)}.",
    ]
    if len(design.settings) < FEW:
        notes.append(
            f"Only {len(design.settings)} settings: read these as a hint, not as a finding "
            f"({FEW} or more would be better)."
        )
    return Sheet("equivalence", _TITLE, columns, tuple(rows), (*notes, *design.left_out))


_TITLE = "Probability of being better over settings"


def _columns(band: float) -> tuple[Column, ...]:
    within = f"{100 * band:g} %"
    return (
        Column("method", "method", "the method that is more likely better"),
        Column("other", "against", "the method it is compared with"),
        Column("better", f"better by > {within}", "probability", numeric=True),
        Column("alike", f"within {within}", "probability", numeric=True),
        Column("worse", f"worse by > {within}", "probability", numeric=True),
        Column("verdict", "so", f"what has a probability of {_percent(SURE)} or more"),
    )


def _row(one: str, other: str, found: Probabilities) -> tuple[Cell, ...]:
    verdict = "open"
    if found.better >= SURE:
        verdict = "better"
    elif found.alike >= SURE:
        verdict = "practically the same"
    return (
        Cell(style(one).label, one, "best" if verdict == "better" else ""),
        Cell(style(other).label, other),
        *(Cell(_percent(share), share) for share in found),
        Cell(verdict, verdict, "muted" if verdict == "open" else "best"),
    )


def _percent(share: float) -> str:
    if share > 0.995:
        return "> 99 %"  # drawn at random: never quite certain
    return "< 1 %" if share < 0.005 else f"{100 * share:.0f} %"
