"""Over data seeds and repeats: mean and spread of each, apart, of every method in every setting."""

from __future__ import annotations

import numpy as np

from dglbench.report.cells import Cell as Repeats
from dglbench.report.cells import Result
from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.comparisons import BAND_SEEDS, families
from dglbench.report.statistics.curves import reference_regret
from dglbench.report.statistics.time_to_regret import Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import without_seed
from dglbench.report.tables.sheet import (
    METHOD,
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    count,
    share,
    text,
)
from dglbench.words import percent, seconds

__all__ = ["seeds"]


def seeds(report: Report, reach: Reach | None = None) -> Sheet:
    """List, per setting and method, mean and spread of test regret over data seeds and repeats."""
    reach = reach or Reach(report)
    rows, few, missing = [], False, False
    for units in families(report):
        if len(units) < 2 and all(cell.repeats < 2 for cell in report.cells(units[0])):
            continue
        for method in report.methods:
            cells = [
                report.chosen[unit.key, method]
                for unit in units
                if (unit.key, method) in report.chosen
            ]
            if cells:
                few |= 1 < len(cells) < BAND_SEEDS
                missing |= len(cells) < len(units)
                rows.append(_row(report, units, method, cells, reach))
    notes = [
        "each data seed draws a different dataset, so the spread over seeds has two causes: the "
        "datasets differ, and so does the method's success on them. A repeat changes only initial "
        "weights and batches: its spread is that of one data seed, the root mean square over "
        "seeds. gain: by what share training reduced the warm start's regret, mean over seeds.",
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
            "No setting here was run with several seeds or repeats; `--seeds 10,25,95` would, or, "
            "on the same data, `--repeats 8`."
        ]
    return Sheet("seeds", "Over seeds and repeats", _COLUMNS, tuple(rows), tuple(notes),
                 by="setting")  # fmt: skip


_COLUMNS = (
    SETTING,
    METHOD,
    Column("seeds", "seeds", "data seeds with a result", numeric=True),
    Column("repeats", "repeats", "repeats on each", numeric=True),
    Column("mean", "mean regret", "mean test regret over seeds and repeats", numeric=True),
    Column("sd", "sd (seeds)", "standard deviation of the seeds' means (n − 1)", numeric=True),
    Column("sd_repeats", "sd (repeats)", "standard deviation over repeats of a seed",
           numeric=True),
    Column("low", "lowest", "lowest test regret of a run", numeric=True),
    Column("high", "highest", "highest test regret of a run", numeric=True),
    Column("gain", "gain", "reduction of the warm start's regret", numeric=True),
    Column("time", "time (mean)", "training time to the selected epoch", numeric=True),
)  # fmt: skip


def _row(
    report: Report, units: list[Unit], method: str, cells: list[Repeats], reach: Reach
) -> tuple[Cell, ...]:
    fewer = len(cells) < len(units)
    result = Result(method, tuple(cells))
    means, regrets = result.by_seed(), [run.test_regret for run in result.runs]
    starts = {unit.key: reference_regret(report, unit) for unit in units}
    gains = [1 - cell.regret() / start for cell in cells if (start := starts[cell.unit.key])]
    within = [float(cell.regrets.var(ddof=1)) for cell in cells if len(cell.runs) > 1]
    spent = reach.selected(result)[0]
    alike = len(result.conditions) == 1
    return (
        text(without_seed(units[0])),
        Cell(style(method).label, method),
        Cell(f"{len(cells)} of {len(units)}", len(cells), "muted") if fewer else count(len(cells)),
        count(result.repeats),
        share(float(means.mean())),
        share(float(means.std(ddof=1))) if len(cells) >= BAND_SEEDS else NOTHING,
        share(float(np.sqrt(np.mean(within)))) if within else NOTHING,
        share(min(regrets)),
        share(max(regrets)),
        Cell(percent(float(np.mean(gains)), 0), float(np.mean(gains))) if gains else NOTHING,
        Cell(seconds(spent), spent) if alike else Cell(f"{seconds(spent)} †", None, "muted"),
    )
