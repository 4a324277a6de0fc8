"""The one sentence at the top of the page: which method should I use?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dglbench.report.loading import Report
from dglbench.report.statistics.profiles import anytime_means, anytime_scores
from dglbench.report.statistics.ranking import Ranking
from dglbench.report.statistics.standings import Standing
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, title
from dglbench.words import percent

__all__ = ["verdict"]


def verdict(report: Report, found: Ranking | None, board: Mapping[str, Sequence[Standing]]) -> str:
    """Name the best method by mean rank, those not distinguishable from it, and the fastest."""
    if found is None:
        return _one_setting(report, board)
    lowest = found.mean_ranks[0]
    best = [name for name in found.methods if found.rank(name) - lowest < 1e-9]
    has = "has" if len(best) == 1 else "have"
    sentence = (
        f"Over {found.blocks.scope} {_names(best)} {has} the lowest mean rank by test regret, "
        f"{lowest:.2f} of {len(found.methods)}"
    )
    alike = [
        name
        for name in found.methods
        if name not in best and not any(found.differ(name, other) for other in best)
    ]
    if len(alike) + len(best) == len(found.methods) and alike:
        sentence += ", though these settings are too few to distinguish any two methods"
    elif alike:
        it = "it" if len(best) == 1 else "them"
        be = "is" if len(alike) == 1 else "are"
        sentence += f" ({_names(alike)} {be} not distinguishable from {it})"
    soonest = _soonest(report)
    return f"{sentence}; {soonest}." if soonest else f"{sentence}."


def _soonest(report: Report) -> str:
    """Name the method with the best anytime score."""
    scores, _ = anytime_scores(report)
    found = anytime_means(report, scores)
    means = {method: mean.score for method, mean in found.items() if mean.shared}
    if len(means) < 2:
        return ""
    first = next(iter(means))
    return (
        f"averaged over training time {style(first).label} held the lowest regret "
        f"(anytime score {means[first]:.2f}; 0 is best, 1 the warm start)"
    )


def _one_setting(report: Report, board: Mapping[str, Sequence[Standing]]) -> str:
    parts = []
    for unit in report.units:
        standings = board.get(unit.label)
        if not standings:
            continue
        best = standings[0]
        ties = [style(each.run.method).label for each in standings if each.ties_best]
        words = (
            f"On {title(unit)} {style(best.run.method).label} has the lowest test regret, "
            f"{percent(best.run.test_regret)}"
        )
        if ties:
            be = "is" if len(ties) == 1 else "are"
            words += f" ({listing(ties, most=6)} {be} not distinguishable from it)"
        parts.append(words)
    return f"{'; '.join(parts[:3])}." if parts else "No run has finished."


def _names(methods: Sequence[str]) -> str:
    return listing([style(name).label for name in methods], most=6)
