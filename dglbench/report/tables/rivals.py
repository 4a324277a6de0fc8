"""For each setting, the best trained for accuracy and the best trained for decisions."""

from __future__ import annotations

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.rivals import Rivalry, rivalries, verdict
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import SETTING, Cell, Column, Sheet, points, share, text
from dglbench.words import seconds

__all__ = ["rivals"]


def rivals(report: Report) -> Sheet:
    """List both sides of every setting, what the second saves, and what both cost."""
    found = rivalries(report, Pairs(report))
    if not found:
        raise ReportError(
            "rivals needs a setting with a method trained for accuracy (two-stage, least-squares, "
            "boosted-trees) and one trained for decisions; `dglbench sweep --preset when-it-pays "
            f"--tasks matching-50 --out {report.folder}` makes both."
        )
    over = sorted({each.comparison.over for each in found})
    notes = [
        "Does training for decisions pay? Of the methods that train for accuracy, with any "
        "predictor, validation chooses one, and one of all others. gain: test regret of the first "
        "minus that of the second, percentage points with its 95 % interval. It does not pay where "
        "the whole interval lies at or below 0.1 points; else the verdict is \"cannot tell with "
        "these repeats\" where it holds 0.",
        "time: training seconds of one run, without evaluation and without a shared warm start. "
        f"Taken over {' or '.join(over)}.",
    ]  # fmt: skip
    return Sheet("rivals", "Does it pay?", _COLUMNS, tuple(map(_row, found)), tuple(notes))


_COLUMNS = (
    SETTING,
    Column("accurate", "for accuracy", "the best method that trains for accuracy, by validation"),
    Column("accurate_regret", "regret", "its test regret", numeric=True),
    Column("accurate_s", "time", "its training seconds", numeric=True),
    Column("focused", "for decisions", "the best method that trains for decisions, by validation"),
    Column("focused_regret", "regret", "its test regret", numeric=True),
    Column("focused_s", "time", "its training seconds", numeric=True),
    Column("gain", "gain (95 %)", "regret that training for decisions saves", numeric=True),
    Column("gain_low", "from", "lower end of its interval", numeric=True, files_only=True),
    Column("gain_high", "to", "upper end of its interval", numeric=True, files_only=True),
    Column("verdict", "verdict", "pays, does not pay, or cannot tell with these repeats"),
)


def _row(rivalry: Rivalry) -> tuple[Cell, ...]:
    said = verdict(rivalry)
    comparison = rivalry.comparison
    return (
        Cell(comparison.title, comparison.label),
        *_side(rivalry.accurate),
        *_side(rivalry.focused),
        *_gain(rivalry),
        text(said, "best" if said == "pays" else "bad" if said == "does not pay" else "muted"),
    )


def _side(result: Result) -> tuple[Cell, Cell, Cell]:
    spent = sum(cell.train_s for cell in result.cells) / len(result.cells)
    named = Cell(style(result.method).label, result.method)
    return named, share(result.regret()), Cell(seconds(spent), spent)


def _gain(rivalry: Rivalry) -> tuple[Cell, Cell, Cell]:
    gain, mean = rivalry.gain, points(rivalry.gain_mean)
    if gain is None:
        return mean, Cell("", None), Cell("", None)
    low, high = points(gain.low), points(gain.high)
    words = f"{mean.text} ({low.text} to {high.text})"
    return Cell(words, mean.value), Cell("", low.value), Cell("", high.value)
