"""The one sentence at the top of the page: which method should I use?"""

from __future__ import annotations

from collections.abc import Sequence

from dglbench.report.loading import Report
from dglbench.report.page.outline import names, no_gain
from dglbench.report.statistics.profiles import anytime_means, anytime_scores
from dglbench.report.statistics.ranking import Ranking
from dglbench.report.statistics.standings import Board
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing
from dglbench.words import percent

__all__ = ["verdict"]


def verdict(report: Report, found: Ranking | None, boards: Sequence[Board]) -> str:
    """Name the best method by mean rank, those not distinguishable from it, and the fastest."""
    if found is None:
        return _one_setting(boards)
    lowest = found.mean_ranks[0]
    best = [name for name in found.methods if found.rank(name) - lowest < 1e-9]
    has = "has" if len(best) == 1 else "have"
    sentence = (
        f"Over {found.blocks.scope} {_names(best)} {has} the lowest mean rank by test regret of "
        f"one run, {lowest:.2f} of {len(found.methods)}"
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


def _one_setting(boards: Sequence[Board]) -> str:
    parts = []
    for board in boards[:3]:
        leaders = board.leaders
        has = "has" if len(leaders) == 1 else "have"
        words = (
            f"On {board.comparison.title} {names(leaders)} {has} the lowest test regret, "
            f"{percent(board.standings[0].result.regret())}"
        )
        if board.ties:
            be = "is" if len(board.ties) == 1 else "are"
            it = "it" if len(leaders) == 1 else "them"
            words += f" ({names(board.ties)} {be} not distinguishable from {it})"
        parts.append(words + no_gain(board))
    return f"{'; '.join(parts)}." if parts else "No run has finished."


def _names(methods: Sequence[str]) -> str:
    return listing([style(name).label for name in methods], most=4)
