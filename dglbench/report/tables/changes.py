"""What changed between two result sets, cell by cell: an upgrade, a machine, another version.

The cells that stand for a method in a setting are matched by setting, data seed, solver and data.
Regrets are compared on the same test instances (paired bootstrap over repeats and instances),
speed by the seconds of an epoch, with a bootstrap interval over epochs of the ratio of their means.
A last column names what else differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.cells import Cell as Repeats
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.epochs import EPOCHS
from dglbench.report.statistics.paired import Difference, Pairs
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural
from dglbench.report.tables.sheet import (
    METHOD,
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    setting_cell,
    text,
)
from dglbench.statistics import LEVEL, RESAMPLES, Numbers, percentile_interval
from dglbench.streams import stream
from dglbench.words import percent

__all__ = ["Ratio", "changes", "epoch_ratio"]


class Ratio(NamedTuple):
    """Seconds of an epoch after, over those before, with its interval."""

    times: float
    low: float
    high: float


def changes(before: Report, after: Report) -> Sheet:
    """Compare two folders: the first is before, the second after."""
    keys = [(cell.unit.key, cell.method) for cell in before.cells()]
    shared = [key for key in keys if key in after.chosen]
    if not shared:
        raise ReportError(
            f"{before.folder} and {after.folder} have no setting and method in common; a change "
            "can be shown only of runs of the same task, settings, seed, solver and data."
        )
    old, new = Pairs(before), Pairs(after)
    clocks = [_epochs(report) for report in (before, after)]
    rows, verdicts = [], []
    for key in shared:
        first, second = before.chosen[key], after.chosen[key]
        difference = new.difference(Result(key[1], (second,)), Result(key[1], (first,)), old)
        ratio = epoch_ratio(clocks[0].get(key), clocks[1].get(key))
        rows.append(_row(first, second, difference, ratio))
        verdicts.append(rows[-1][-2].value)
    counted = ", ".join(
        f"{verdicts.count(word)} {word}" for word in dict.fromkeys(map(str, verdicts))
    )
    notes = [
        f"{before.folder} → {after.folder}: {plural(len(shared), 'cell')} in both ({counted}).",
        f"change: second minus first, mean over the same test instances, percentage points, with a "
        f"{100 * LEVEL:.0f} % bootstrap interval; epoch time: seconds per epoch of "
        "the second over those of the first, with an interval over epochs. † made under different "
        "conditions (machine, "
        "threads or parallel runs): the ratio then includes their effect.",
    ]
    only_old, only_new = len(keys) - len(shared), len(after.chosen) - len(shared)
    if only_old or only_new:
        notes.append(
            f"Only in the first: {plural(only_old, 'cell')}; only in the second: "
            f"{plural(only_new, 'cell')}."
        )
    return Sheet("changes", "What changed", _COLUMNS, tuple(rows), tuple(notes), by="setting")


def epoch_ratio(before: Numbers | None, after: Numbers | None) -> Ratio | None:
    """Return mean(after)/mean(before) with a percentile interval over resampled epochs."""
    if before is None or after is None or not before.mean() > 0:
        return None
    means = []
    for name, epochs in (("before", before), ("after", after)):
        generator = stream(0, "report", "changes", name)
        means.append(generator.choice(epochs, (RESAMPLES, len(epochs))).mean(axis=1))
    interval = percentile_interval(means[1] / np.maximum(means[0], 1e-12))
    return Ratio(float(after.mean() / before.mean()), *interval)


_COLUMNS = (
    SETTING,
    METHOD,
    Column("before", "regret before", "test regret in the first folder", numeric=True),
    Column("after", "after", "test regret in the second folder", numeric=True),
    Column("change", "change (95 %)", "mean difference, percentage points", numeric=True),
    Column("low", "from", "lower end of the interval", numeric=True, files_only=True),
    Column("high", "to", "upper end of the interval", numeric=True, files_only=True),
    Column("epoch", "epoch time (95 %)", "seconds per epoch, after over before", numeric=True),
    Column("epoch_low", "from", "lower end of the interval", numeric=True, files_only=True),
    Column("epoch_high", "to", "upper end of the interval", numeric=True, files_only=True),
    Column("verdict", "regret", "whether the interval of the change excludes 0"),
    Column("unlike", "differs in", "what differs between the two runs"),
)
_WORDS = {"lower": "lower", "higher": "higher", "open": "no change shown"}


def _row(
    first: Repeats, second: Repeats, difference: Difference | None, ratio: Ratio | None
) -> tuple[Cell, ...]:
    same = difference is not None and difference.low == difference.high == 0
    verdict = "not comparable" if difference is None else _WORDS[difference.verdict]
    verdict = "the same" if same else verdict
    return (
        setting_cell(second.unit),
        Cell(style(second.method).label, second.method),
        Cell(percent(first.regret()), first.regret()),
        Cell(percent(second.regret()), second.regret()),
        *_change(difference),
        *_ratio(ratio, alike=first.first.conditions == second.first.conditions),
        Cell(verdict, verdict, {"lower": "best", "higher": "bad"}.get(verdict, "muted")),  # type: ignore[arg-type]
        text("; ".join(_unlike(first, second)) or "—"),
    )


def _change(difference: Difference | None) -> tuple[Cell, Cell, Cell]:
    if difference is None:
        return NOTHING, Cell("", None), Cell("", None)
    mean, low, high = (100 * value for value in difference[:3])
    words = f"{mean:+.2f} ({low:+.2f} to {high:+.2f})".replace("-", "−")
    return Cell(words, mean), Cell("", low), Cell("", high)


def _ratio(ratio: Ratio | None, *, alike: bool) -> tuple[Cell, Cell, Cell]:
    if ratio is None:
        return NOTHING, Cell("", None), Cell("", None)
    words = f"{ratio.times:.2f}× ({ratio.low:.2f}–{ratio.high:.2f})"
    shown = Cell(words if alike else f"{words} †", ratio.times, "" if alike else "muted")
    return shown, Cell("", ratio.low), Cell("", ratio.high)


def _epochs(report: Report) -> dict[tuple[str, str], Numbers]:
    """Return the seconds of all epochs of each cell."""
    clocks = report.table("timing", report.chosen_runs()).with_columns(epochs=EPOCHS)
    timing = clocks.filter(pl.col("epoch") > 0)
    runs = {
        str(rows["run_id"][0]): (rows["epoch_s"] / rows["epochs"]).to_numpy()
        for rows in timing.partition_by("run_id", maintain_order=True)
    }
    return {
        key: np.concatenate(known)
        for key, cell in report.chosen.items()
        if (known := [runs[run.run_id] for run in cell.runs if run.run_id in runs])
    }


def _unlike(one: Repeats, other: Repeats) -> list[str]:
    """Name what differs: options, code, conditions, versions of libraries."""
    first, second = one.first, other.first
    words = _differing(first.options, second.options)
    if first.identity.source != second.identity.source:
        words.append("code")
    for name in first.conditions._fields:
        one, two = getattr(first.conditions, name), getattr(second.conditions, name)
        if one != two and name != "libraries":  # named one by one below
            words.append(name if name == "machine" else f"{name} {one} → {two}")
    versions = [dict(run.environment.versions) for run in (first, second)]
    return words + _differing(*versions)


def _differing(first: Any, second: Any) -> list[str]:
    names = dict.fromkeys([*first, *second])
    return [
        f"{name} {first.get(name, 'none')} → {second.get(name, 'none')}"
        for name in names
        if first.get(name) != second.get(name)
    ]
