"""The same setting with several seeds, of data or of training: mean and spread of a method."""

from __future__ import annotations

import numpy as np

from dglbench.report.loading import Report, Run, Unit
from dglbench.report.statistics.curves import reference_regret
from dglbench.report.statistics.seeds import BAND_SEEDS, families
from dglbench.report.statistics.time_to_regret import Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import without_seed
from dglbench.report.tables.sheet import METHOD, NOTHING, SETTING, Cell, Column, Sheet, count, text
from dglbench.words import percent, seconds

__all__ = ["seeds"]


def seeds(report: Report, reach: Reach | None = None) -> Sheet:
    """List, per setting and method, mean and spread of test regret over its seeds."""
    reach = reach or Reach(report)
    rows, few, missing = [], False, False
    for units in families(report):
        if len(units) < 2:
            continue
        for method in report.methods:
            runs = [
                report.chosen[unit.key, method]
                for unit in units
                if (unit.key, method) in report.chosen
            ]
            if runs:
                few |= len(runs) < BAND_SEEDS
                missing |= len(runs) < len(units)
                rows.append(_row(report, units, method, runs, reach))
    notes = [
        "each data seed draws a different dataset, so the spread has two causes: the datasets "
        "differ, and so does the method's success on them. A training seed changes only initial "
        "weights and batches. gain: by what share training reduced the warm start's regret, mean "
        "over seeds.",
    ]
    if missing:
        notes.append(
            "A method with fewer seeds than its setting (2 of 3) has a mean over other data than "
            "the methods beside it; compare them with --seeds."
        )
    if few:
        notes.append(
            f"With fewer than {BAND_SEEDS} seeds no standard deviation is given, only the range."
        )
    if not rows:
        notes = [
            "No setting here was run with several seeds; `--seeds 10,25,95` would, or, on the "
            "same data, `--train-seeds 0,1,2`."
        ]
    return Sheet("seeds", "Over seeds", _COLUMNS, tuple(rows), tuple(notes), by="setting")


_COLUMNS = (
    SETTING,
    METHOD,
    Column("seeds", "seeds", "seeds with a result", numeric=True),
    Column("mean", "mean regret", "mean test regret over seeds", numeric=True),
    Column("sd", "sd", "standard deviation over seeds (n − 1)", numeric=True),
    Column("low", "lowest", "lowest test regret", numeric=True),
    Column("high", "highest", "highest test regret", numeric=True),
    Column("gain", "gain", "reduction of the warm start's regret", numeric=True),
    Column("time", "time (mean)", "training time to the selected epoch", numeric=True),
)


def _row(
    report: Report, units: list[Unit], method: str, runs: list[Run], reach: Reach
) -> tuple[Cell, ...]:
    fewer = len(runs) < len(units)
    regrets = np.array([run.test_regret for run in runs])
    starts = {unit.key: reference_regret(report, unit) for unit in units}
    gains = [1 - run.test_regret / start for run in runs if (start := starts[run.unit.key])]
    alike = len({run.conditions for run in runs}) == 1
    spent = float(np.mean([reach.selected(run)[0] for run in runs]))
    return (
        text(without_seed(units[0])),
        Cell(style(method).label, method),
        Cell(f"{len(runs)} of {len(units)}", len(runs), "muted") if fewer else count(len(runs)),
        _share(float(regrets.mean())),
        _share(float(regrets.std(ddof=1))) if len(runs) >= BAND_SEEDS else NOTHING,
        _share(float(regrets.min())),
        _share(float(regrets.max())),
        Cell(percent(float(np.mean(gains)), 0), float(np.mean(gains))) if gains else NOTHING,
        Cell(seconds(spent), spent) if alike else Cell(f"{seconds(spent)} †", None, "muted"),
    )


def _share(value: float) -> Cell:
    return Cell(percent(value), value)
