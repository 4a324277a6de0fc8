"""What the logs say, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dglbench.report.claims.judge import Judged
from dglbench.report.loading import Report
from dglbench.report.statistics.standings import Standing
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural, title
from dglbench.words import percent, ratio, seconds

__all__ = ["Outline", "outline"]


class Outline(NamedTuple):
    """The summary: what was compared, who won how often, and each setting in a few sentences."""

    scope: str
    winners: str
    claims: str
    settings: tuple[tuple[str, str], ...]
    """Label and sentences."""


def outline(
    report: Report, board: Mapping[str, Sequence[Standing]], judged: Sequence[Judged]
) -> Outline:
    """Write the summary."""
    return Outline(
        _scope(report, board),
        _winners(board),
        _claims(judged),
        tuple(
            (title(unit), _setting(board[unit.label], report.comparability(unit).comparable))
            for unit in report.units
            if unit.label in board
        ),
    )


def _scope(report: Report, board: Mapping[str, Sequence[Standing]]) -> str:
    states = Counter(run.state for run in report.runs)
    lost = len(report.runs) - states["done"] + len(report.unreadable)
    total = len(report.runs) + len(report.unreadable)
    sentence = (
        f"{plural(len(report.methods), 'method')} compared in {plural(len(board), 'setting')}, "
        f"from {plural(total, 'run')}"
    )
    return f"{sentence}; {lost} of them without a result." if lost else f"{sentence}, all finished."


def _winners(board: Mapping[str, Sequence[Standing]]) -> str:
    first: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for standings in board.values():
        for standing in standings:
            first[standing.run.method] += standing.is_best
            shared[standing.run.method] += standing.is_best or standing.ties_best
    if len(board) == 1 or not any(len(standings) > 1 for standings in board.values()):
        return ""
    wins = [f"{style(name).label} in {count}" for name, count in first.most_common() if count]
    top, reached = shared.most_common(1)[0]
    return (
        f"Lowest test regret: {listing(wins)} of {len(board)} settings. Most often lowest or not "
        f"distinguishable from the lowest: {style(top).label}, in {reached}."
    )


def _claims(judged: Sequence[Judged]) -> str:
    """Count the verdicts, the paper's claims apart from those of dglbench and of the user."""
    whose = {"paper": " of the paper", "dglbench": " of dglbench's own", "own": " of yours"}
    sentences = []
    for origin in dict.fromkeys(item.claim.origin for item in judged):
        verdicts = Counter(item.verdict for item in judged if item.claim.origin == origin)
        sentences.append(
            f"Of {plural(verdicts.total(), 'claim')}{whose.get(origin, f' of {origin}')} "
            f"these logs support {verdicts['supported']}, support {verdicts['holds in part']} in "
            f"part, refute {verdicts['refuted']} and cannot decide "
            f"{verdicts['not decidable here']}."
        )
    return " ".join(sentences)


def _setting(standings: Sequence[Standing], comparable: bool) -> str:
    best = standings[0]
    name = style(best.run.method).label
    if len(standings) == 1:
        return f"{name} alone was run: {percent(best.run.test_regret)} test regret."
    sentences = [
        f"{name} has the lowest test regret, {percent(best.run.test_regret)}{_gain(best)}."
    ]
    ties = [style(each.run.method).label for each in standings if each.ties_best]
    if ties:
        be = "is" if len(ties) == 1 else "are"
        sentences.append(f"{listing(ties, most=6)} {be} not distinguishable from it.")
    else:
        second = standings[1]
        sentences.append(
            f"Next comes {style(second.run.method).label} with {percent(second.run.test_regret)}."
        )
    if not comparable:
        return " ".join([*sentences, "Its times were made under different conditions: not ranked."])
    near = [each for each in standings if each.near_s is not None]
    fastest = min(near, key=lambda each: each.near_s or 0.0)
    sentences.append(
        f"{style(fastest.run.method).label} was first within 5 % of it, "
        f"after {seconds(fastest.near_s or 0.0)} of training."
    )
    sentences += _lead(fastest)
    return " ".join(sentences)


def _gain(best: Standing) -> str:
    start = best.run.warm_start_regret
    return "" if start is None else f" (the warm start had {percent(start)})"


def _lead(standing: Standing) -> list[str]:
    leads = [
        (style(name).label, ratio(speedup.times).removesuffix("×"))
        for name, speedup in standing.speedups.items()
        if speedup.times is not None and name != standing.run.method and speedup.times > 1
    ]
    if not leads:
        return []
    words = [f"{name}'s regret {times} times sooner than {name}" for name, times in leads]
    return [f"It had {listing(words)}."]
