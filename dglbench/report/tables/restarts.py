"""Best of r for r = 1, 2, 4, …, of every method on every data seed: behind the restart curves."""

from __future__ import annotations

from dglbench.report.cells import Result
from dglbench.report.loading import Report, Unit
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
)
from dglbench.words import percent, seconds

__all__ = ["restarts"]


def restarts(report: Report) -> Sheet:
    """List the expected test regret of one run and of best of r, by data seed and method."""
    results = [Result(cell.method, (cell,)) for cell in report.cells()]
    readings = _readings(results)
    verdicts = {unit.key: report.comparability(unit) for unit in report.units}
    rows = [
        _row(result, readings, comparable=verdicts[result.units[0].key].comparable)
        for result in results
    ]
    notes = [
        "best of r: r runs are trained, and the one with the lowest validation regret is kept; its "
        "expected test regret, computed exactly from the repeats, at r times the seconds of one "
        "run. `--figure restarts` draws the means over data seeds."
    ]
    if any(result.repeats > result.most for result in results):
        notes.append(
            "in brackets: r beyond half of the repeats, where one draw decides too much to be an "
            "estimate."
        )
    else:
        notes.append("One run each: `--repeats 8` trains from eight starts.")
    notes += [f"† {verdict.reason}" for verdict in verdicts.values() if verdict.reason]
    return Sheet("restarts", "Best of r runs", _columns(readings), tuple(rows), tuple(notes),
                 by="setting")  # fmt: skip


def _readings(results: list[Result]) -> list[int]:
    """Return r = 1, 2, 4, … and the numbers of repeats that were run."""
    run = {result.repeats for result in results}
    return sorted(run | {1} | {2**k for k in range(max(run, default=1).bit_length())})


def _columns(readings: list[int]) -> tuple[Column, ...]:
    return (
        SETTING,
        Column("seed", "data seed", "which data were drawn", numeric=True),
        METHOD,
        Column("repeats", "repeats", "training runs on these data", numeric=True),
        *(
            Column(
                f"best_of_{r}",
                "one run" if r == 1 else f"best of {r}",
                "expected test regret of one run"
                if r == 1
                else f"expected test regret of the best of {r} runs by validation",
                numeric=True,
            )
            for r in readings
        ),
        Column("estimates_to", "estimates to", "the largest r that is an estimate: half the "
               "repeats", numeric=True, files_only=True),
        Column("low", "lowest", "lowest test regret of a run", numeric=True),
        Column("high", "highest", "highest test regret of a run", numeric=True),
        Column("train_s", "time", "mean training seconds of one run", numeric=True),
    )  # fmt: skip


def _row(result: Result, readings: list[int], *, comparable: bool) -> tuple[Cell, ...]:
    (cell,) = result.cells
    spent = seconds(cell.train_s)
    return (
        _setting(cell.unit),
        Cell(str(cell.unit.seed), cell.unit.seed),
        Cell(style(result.method).label, result.method),
        count(result.repeats),
        *(_best_of(result, r) for r in readings),
        count(result.most),
        share(float(cell.regrets.min())),
        share(float(cell.regrets.max())),
        Cell(spent, cell.train_s) if comparable else Cell(f"{spent} †", None, "muted"),
    )


def _setting(unit: Unit) -> Cell:
    exact = [part for part in unit.label.split(", ") if part != f"seed {unit.seed}"]
    return Cell(without_seed(unit), ", ".join(exact))


def _best_of(result: Result, r: int) -> Cell:
    if r > result.repeats:
        return NOTHING
    value = result.regret(r)
    return share(value) if r <= result.most else Cell(f"({percent(value)})", value, "muted")
