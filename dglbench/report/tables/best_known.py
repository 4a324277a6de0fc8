"""The best known regret of every dataset and predictor, by whom, and at what cost."""

from __future__ import annotations

from dglbench.report.loading import Report
from dglbench.report.statistics.best_known import BestKnown, BestKnowns
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural, without_seed
from dglbench.report.tables.sheet import SETTING, Cell, Column, Sheet, count, share, text
from dglbench.words import seconds

__all__ = ["best_known"]


def best_known(report: Report) -> Sheet:
    """List, for each setting, data seed and predictor, the run that validation prefers to all."""
    found = BestKnowns(report).all
    methods = {each.run.identity.method for each in found}
    notes = [
        "best known: of all finished runs on these data with this predictor, whatever their "
        "method, options, start and repeat, the one with the lowest validation regret, and its "
        f"test regret. {plural(len(found), 'row')}, "
        f"found by {plural(len(methods), 'method')}.",
        "time: training seconds of that run; of how many: the runs that it was chosen from, and "
        "their training seconds together, on whichever machines they were made.",
    ]
    return Sheet(
        "best-known", "Best known regrets", _COLUMNS, tuple(map(_row, found)), tuple(notes),
        by="setting",
    )  # fmt: skip


_COLUMNS = (
    SETTING,
    Column("seed", "data seed", "which data were drawn", numeric=True),
    Column("predictor", "predictor", "what was trained"),
    Column("test_regret", "best known", "test regret of the run", numeric=True),
    Column("val_regret", "validation", "validation regret, by which it was chosen", numeric=True),
    Column("absolute_regret", "absolute", "in the unit of the labels", numeric=True),
    Column("method", "by", "its method"),
    Column("train_s", "time", "training seconds of the run", numeric=True),
    Column("solves", "solver calls", "instances solved to its selected epoch", numeric=True),
    Column("runs", "of how many", "runs that it was chosen from", numeric=True),
    Column("runs_s", "in all", "training seconds of these runs together", numeric=True),
    Column("run_id", "run", "the run", files_only=True),
)


def _row(found: BestKnown) -> tuple[Cell, ...]:
    run = found.run
    selected = run.record.selected
    exact = [p for p in run.unit.label.split(", ") if p != f"seed {run.unit.seed}"]
    spent = sum(each.train_s or 0.0 for each in found.among)
    return (
        Cell(without_seed(run.unit), ", ".join(exact)),
        count(run.unit.seed),
        text(run.identity.predictor),
        share(found.regret),
        share(run.val_regret),
        Cell(f"{run.absolute_regret:.3g}", run.absolute_regret),
        Cell(style(run.identity.method).label, run.identity.method),
        Cell(seconds(run.train_s or 0.0), run.train_s),
        count(selected.solves if selected else None),
        count(len(found.among)),
        Cell(seconds(spent), spent),
        text(run.run_id),
    )
