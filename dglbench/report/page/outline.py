"""What the logs say, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dglbench.report.claims.judge import Judged
from dglbench.report.loading import Report
from dglbench.report.method_names import plain, qualifier
from dglbench.report.statistics.standings import Board, Standing
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural
from dglbench.words import percent, ratio, seconds

__all__ = ["Outline", "names", "no_gain", "outline"]


class Outline(NamedTuple):
    """The summary: what was compared, who won how often, and each setting in a few sentences."""

    scope: str
    winners: str
    claims: str
    settings: tuple[tuple[str, str], ...]
    """Label and sentences."""


def outline(report: Report, boards: Sequence[Board], judged: Sequence[Judged]) -> Outline:
    """Write the summary."""
    return Outline(
        _scope(report, boards),
        _winners(boards),
        _claims(judged),
        tuple((board.comparison.title, _setting(report, board)) for board in boards),
    )


def _scope(report: Report, boards: Sequence[Board]) -> str:
    states = Counter(run.state for run in report.runs)
    lost = len(report.runs) - states["done"] + len(report.unreadable)
    total = len(report.runs) + len(report.unreadable)
    sentence = (
        f"{_methods(report)} compared in {plural(len(boards), 'setting')}, "
        f"from {plural(total, 'run')}"
    )
    return f"{sentence}; {lost} of them without a result." if lost else f"{sentence}, all finished."


def _methods(report: Report) -> str:
    """Count the methods, and apart from that how many they are with every predictor and start."""
    plainly = plural(len({plain(name) for name in report.methods}), "method")
    found = {qualifier(name) for name in report.methods} - {""}
    if len(found) < 2:
        return plainly
    return f"{plainly} ({len(report.methods)} with their predictors or starts)"


def _winners(boards: Sequence[Board]) -> str:
    first: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for board in boards:
        first.update(standing.result.method for standing in board.leaders)
        shared.update(s.result.method for s in board.standings if s.is_best or s.ties_best)
    if len(boards) == 1 or not any(len(board.standings) > 1 for board in boards):
        return ""
    wins = [f"{style(name).label} in {count}" for name, count in first.most_common() if count]
    top, reached = shared.most_common(1)[0]
    return (
        f"Lowest test regret: {listing(wins)} of {len(boards)} settings. Most often lowest or not "
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


def _setting(report: Report, board: Board) -> str:
    leaders, regret = board.leaders, board.standings[0].result.regret()
    over = board.comparison.over
    if len(board.standings) == 1:
        name = style(leaders[0].result.method).label
        return f"{name} alone was run: {percent(regret)} test regret ({over})."
    has = "has" if len(leaders) == 1 else "have"
    sentences = [
        f"{names(leaders)} {has} the lowest test regret of one run, {percent(regret)}{_gain(board)}"
        f" ({over}){no_gain(board)}."
    ]
    if board.ties:
        be = "is" if len(board.ties) == 1 else "are"
        it = "it" if len(leaders) == 1 else "them"
        sentences.append(f"{names(board.ties)} {be} not distinguishable from {it}.")
    elif len(leaders) < len(board.standings):
        second = board.standings[len(leaders)].result
        sentences.append(f"Next: {style(second.method).label} with {percent(second.regret())}.")
    sentences += _restarted(report, board)
    if not board.comparability.comparable:
        return " ".join([*sentences, "Its times were made under different conditions: not ranked."])
    near = [each for each in board.standings if each.near_s is not None]
    if near:
        fastest = min(near, key=lambda each: each.near_s or 0.0)
        sentences.append(
            f"{style(fastest.result.method).label} is expected first within 5 % of it, "
            f"after {seconds(fastest.near_s or 0.0)} of training."
        )
        sentences += _lead(fastest)
    return " ".join(sentences)


def names(standings: Sequence[Standing]) -> str:
    """Return what several methods are called, of many the first."""
    return listing([style(each.result.method).label for each in standings], most=6)


def no_gain(board: Board) -> str:
    """Say that no method improved on the warm start that it began from, where that is so."""
    if not board.unimproved:
        return ""
    return f", and {' and '.join(start.no_gain for start in board.starts)}"


def _gain(board: Board) -> str:
    if board.unimproved or board.start is None:
        return ""
    return f" (the warm start had {percent(board.start)})"


def _restarted(report: Report, board: Board) -> list[str]:
    """Say who is lowest in the other reading, best of r."""
    r = report.best_of
    able = [each.result for each in board.standings if 1 < r <= each.result.most]
    if not able:
        return []
    best = min(able, key=lambda result: round(result.regret(r), 12))
    return [f"Best of {r}: {style(best.method).label} with {percent(best.regret(r))}."]


def _lead(standing: Standing) -> list[str]:
    leads = [
        (style(name).label, ratio(speedup.times).removesuffix("×"))
        for name, speedup in standing.speedups.items()
        if speedup.times is not None
        and name != standing.result.first.identity.method
        and speedup.times > 1
    ]
    if not leads:
        return []
    words = [f"{name}'s regret {times} times sooner than {name}" for name, times in leads]
    return [f"It had {listing(words)}."]
