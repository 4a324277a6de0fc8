"""What the page opens on: four questions of a reader, each answered in a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from dglbench.report.loading import Report
from dglbench.report.page.for_time import leads
from dglbench.report.page.verdict import verdict
from dglbench.report.statistics.comparisons import Comparison
from dglbench.report.statistics.intervals import FEWEST_SEEDS
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.ranking import Ranking
from dglbench.report.statistics.rivals import Rivalry, capacity, rivalries, short
from dglbench.report.statistics.rivals import verdict as verdict_of
from dglbench.report.statistics.standings import Board
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural

__all__ = ["Answer", "answers"]


class Answer(NamedTuple):
    """A question, what these results say to it, and where the page says more."""

    question: str
    words: str
    more: str
    """The section's id."""


def answers(
    report: Report, ranking: Ranking | None, boards: Sequence[Board], pairs: Pairs
) -> list[Answer]:
    """Answer what these results can answer."""
    found = [
        Answer("Which method?", verdict(report, ranking, boards), "leaderboard"),
        Answer("For how much time?", leads(boards), "for-time"),
        Answer("Does training for decisions pay?", _pays(report, pairs), "pays"),
        Answer("Is it luck?", _luck(boards), "explore"),
    ]
    return [each for each in found if each.words]


def _pays(report: Report, pairs: Pairs) -> str:
    """Count the settings in which the best trained for decisions beats the best for accuracy."""
    whole = rivalries(report, pairs)
    if not whole:
        return ""
    if len(whole) == 1:
        return _one(whole[0])
    settings = plural(len(whole), "setting")
    pays = [each for each in whole if verdict_of(each) == "pays"]
    costs = [each for each in whole if verdict_of(each) == "does not pay"]
    parts = [f"It pays in {len(pays)} of {settings}{_range(pays)}"]
    parts += [f"it does not in {len(costs)}"] if costs else []
    left = len(whole) - len(pays) - len(costs)
    parts += [f"in {left} these runs cannot tell"] if left else []
    sentences = [
        "; ".join(parts) + ", when validation chooses the best method of either kind.",
        _by_predictor(report, pairs),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _one(rivalry: Rivalry) -> str:
    gain = rivalry.gain
    said = (
        f"{style(rivalry.focused.method).label}, trained for decisions, has "
        f"{abs(100 * rivalry.gain_mean):.2f} points {'less' if rivalry.gain_mean > 0 else 'more'} "
        f"test regret than {style(rivalry.accurate.method).label}, trained for accuracy"
    )
    if gain is None:
        return f"{said}."
    if not rivalry.is_clear:
        return f"{said}; these runs cannot tell whether that would hold again."
    low, high = sorted((abs(100 * gain.low), abs(100 * gain.high)))
    return f"{said} (95 % interval {low:.2f} to {high:.2f}). Validation chose both."


def _range(found: Sequence[Rivalry]) -> str:
    gains = sorted(abs(100 * each.gain_mean) for each in found)
    if not gains:
        return ""
    if len(gains) == 1 or f"{gains[0]:.1f}" == f"{gains[-1]:.1f}":
        return f" ({gains[-1]:.1f} points of test regret)"
    return f" ({gains[0]:.1f} to {gains[-1]:.1f} points of test regret)"


def _by_predictor(report: Report, pairs: Pairs) -> str:
    """Say the same of each predictor by itself, where there are several."""
    names = {run.predictor for run in report.done if not run.identity.has_own_predictor}
    said = []
    for name in sorted(names, key=capacity) if len(names) > 1 else ():
        found = rivalries(report, pairs, name)
        pays = sum(verdict_of(each) == "pays" for each in found)
        said += [f"{short(name)} in {pays} of {len(found)}"] if found else []
    return f"With the same predictor on both sides it pays with {listing(said)}." if said else ""


def _luck(boards: Sequence[Board]) -> str:
    """Say over what was averaged, and how far single runs fall apart."""
    settings = [board.comparison for board in boards]
    over = list(dict.fromkeys(each.over for each in settings))
    words = over[0] if len(over) == 1 else "the data seeds and repeats that each setting names"
    enough = all(len(each.units) >= FEWEST_SEEDS for each in settings)
    speaks = (
        "intervals speak of further data of this kind"
        if enough
        else f"with fewer than {FEWEST_SEEDS} data seeds intervals speak of these data only"
    )
    sentences = [f"Every figure is a mean over {words}; {speaks}."]
    ranges = _ranges(settings)
    if not ranges:
        return " ".join([*sentences, "Each method ran once: another start may end elsewhere."])
    widest, where = max(ranges)
    sentences.append(
        "Between repeats of one method on the same data test regret differs by "
        f"{100 * median(width for width, _ in ranges):.2f} points in the median, and by "
        f"{100 * widest:.2f} at most ({where})."
    )
    return " ".join(sentences)


def _ranges(settings: Sequence[Comparison]) -> list[tuple[float, str]]:
    """Return how far the repeats of each cell fall apart, and which cell it is."""
    return [
        (
            float(cell.regrets.max() - cell.regrets.min()),
            f"{style(result.method).label} on {comparison.title}",
        )
        for comparison in settings
        for result in comparison.results
        for cell in result.cells
        if cell.repeats > 1
    ]
