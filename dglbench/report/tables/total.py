"""What a result took altogether: training, restarts, warm start and tuning."""

from __future__ import annotations

from collections.abc import Mapping

from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.searches import Cost, search_costs
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.curves import reference_regret
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import (
    METHOD,
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    share,
    text,
)
from dglbench.runs.record import Summary, WarmStartSummary
from dglbench.words import seconds

__all__ = ["total"]


def total(report: Report) -> Sheet:
    """List the seconds behind each method's regret, for one run and for best of r."""
    costs = search_costs(report)
    r = report.best_of
    rows = []
    for setting in by_setting(report):
        for result in sorted(setting.results, key=lambda each: (each.regret(), each.method)):
            readings = (1, r) if 1 < r <= result.most else (1,)
            rows += [_row(report, setting, result, each, costs) for each in readings]
    notes = [
        "training: mean seconds of one run; restarts: those of the r − 1 further runs; warm start: "
        "of the shared predictor, where a run began from one; tuning: training seconds of the "
        "search that chose the options (0: none, or its record is not in this folder). Evaluation "
        "is in none of them.",
        "points per second: by how many percentage points the regret is below the warm start's, "
        "per second of the total; — where no method began from a warm start. It falls with time "
        "spent: compare methods of like regret.",
        "† summed over seconds made under different conditions (machine, threads or concurrency).",
    ]
    return Sheet("total", "Seconds in all", _COLUMNS, tuple(rows), tuple(notes), by="setting")


_COLUMNS = (
    SETTING,
    METHOD,
    Column("reading", "reading", "one run, or the best of several by validation"),
    Column("regret", "test regret", "expected test regret", numeric=True),
    Column("train_s", "training", "seconds of one run", numeric=True),
    Column("restart_s", "restarts", "seconds of the further runs", numeric=True),
    Column("warm_start_s", "warm start", "seconds of the shared predictor", numeric=True),
    Column("tuning_s", "tuning", "training seconds of the search", numeric=True),
    Column("total_s", "total", "all of these", numeric=True),
    Column("gain", "points per second", "regret below the warm start's per total second",
           numeric=True),
)  # fmt: skip


def _row(
    report: Report, setting: Comparison, result: Result, r: int, costs: Mapping[str, Cost]
) -> tuple[Cell, ...]:
    cells = result.cells
    train = sum(cell.train_s for cell in cells) / len(cells)
    warm = [w.seconds for run in result.runs if (w := _warm_start(run.record.summary)) is not None]
    warm_s = sum(warm) / len(warm) if len(warm) == len(result.runs) else 0.0
    found = [next((costs[run.run_id] for run in cell.runs if run.run_id in costs), None)
             for cell in cells]  # fmt: skip
    tuning = sum(cost.tuning_s for cost in found if cost is not None) / len(cells)
    alike = len(result.conditions) == 1 and all(cost is None or cost.alike for cost in found)
    whole = r * train + warm_s + tuning
    starts = [start for unit in setting.units if (start := reference_regret(report, unit))]
    gain = None
    if starts and whole > 0:
        gain = 100 * (sum(starts) / len(starts) - result.regret(r)) / whole
    spent = seconds(whole)
    return (
        Cell(setting.title, setting.label),
        Cell(style(result.method).label, result.method),
        text("one run" if r == 1 else f"best of {r}"),
        share(result.regret(r)),
        _seconds(train),
        _seconds((r - 1) * train),
        _seconds(warm_s),
        _seconds(tuning),
        Cell(spent, whole) if alike else Cell(f"{spent} †", None, "muted"),
        NOTHING if gain is None or not alike else Cell(f"{gain:.3g}".replace("-", "−"), gain),
    )


def _warm_start(summary: Summary | None) -> WarmStartSummary | None:
    return None if summary is None else summary.warm_start


def _seconds(value: float) -> Cell:
    return Cell(seconds(value) if value > 0 else "0", value)
