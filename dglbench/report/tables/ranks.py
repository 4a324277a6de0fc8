"""Mean ranks over settings in both readings, and which pairs of methods differ."""

from __future__ import annotations

from dglbench.report.loading import Report
from dglbench.report.statistics.complete_blocks import Blocks, check_baseline
from dglbench.report.statistics.ranking import Ranking, p_words, ranking
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import Cell, Column, Sheet, text

__all__ = ["ranks"]


def ranks(report: Report, baseline: str | None = None) -> Sheet:
    """List mean ranks and whether each pair differs."""
    baseline = check_baseline(report, baseline)
    found = ranking(report, baseline)
    if found is None:
        why = "Ranks over settings need two methods with results in two settings or more."
        return Sheet("ranks", "Ranks over settings", _COLUMNS, (), (why,))
    rows = _rows(found, 1, "one run")
    notes = [f"{found.friedman_words} {found.test_words}".strip()]
    r = report.best_of
    if 1 < r <= found.blocks.most:
        again = ranking(report, baseline, r)
        if again is not None:
            rows += _rows(again, r, f"best of {r}")
            notes.append(f"Best of {r}: {again.friedman_words}".strip())
    notes.append("A setting counts once, whatever data seeds and repeats it was run with.")
    by = "reading" if len({row[0].value for row in rows}) > 1 else None
    columns = _COLUMNS if by else (_ONE_READING, *_COLUMNS[1:])
    return Sheet("ranks", "Ranks over settings", columns, tuple(rows),
                 (*notes, *found.blocks.left_out), by=by)  # fmt: skip


def _rows(found: Ranking, r: int, reading: str) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for better, worse in found.pairs:
        apart = found.differ(better, worse)
        gap = found.rank(worse) - found.rank(better)
        wins = _wins(found.blocks, better, worse, r)
        word = "better" if apart else "not distinguishable"
        rows.append(
            (
                text(reading),
                Cell(style(better).label, better, "best" if apart else ""),
                Cell(f"{found.rank(better):.2f}", found.rank(better)),
                Cell(style(worse).label, worse),
                Cell(f"{found.rank(worse):.2f}", found.rank(worse)),
                Cell(f"{gap:.2f}", gap),
                Cell(f"{wins} of {len(found.blocks.settings)}", wins),
                Cell(p_words(found.pairs[better, worse]), found.pairs[better, worse]),
                Cell(word, word, "best" if apart else "muted"),
            )
        )
    return rows


_READING = "one run, or the best of several by validation"
_ONE_READING = Column("reading", "reading", _READING, files_only=True)
_COLUMNS = (
    Column("reading", "reading", _READING),
    Column("method", "method", "the method with the lower mean rank"),
    Column("rank", "mean rank", "mean over settings; 1 is the lowest regret", numeric=True),
    Column("other", "against", "the method it is compared with"),
    Column("other_rank", "its rank", "mean rank of the other", numeric=True),
    Column("gap", "ranks apart", "difference of the mean ranks", numeric=True),
    Column("wins", "lower in", "settings in which its regret is lower", numeric=True),
    Column("p_holm", "p (Wilcoxon–Holm)", "signed-rank test, corrected over pairs", numeric=True),
    Column("verdict", "so", "whether the test in use finds a difference"),
)


def _wins(design: Blocks, better: str, worse: str, r: int) -> int:
    one, other = (design.regret(r)[:, design.methods.index(name)] for name in (better, worse))
    return int((one < other).sum())
