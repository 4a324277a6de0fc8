"""A few test instances as pictures: the best decision, and the one that was taken instead.

A run keeps the decisions of its test instances, and so does a pack; only the data are made again.
Where that cannot be done, or gives other data than the runs were evaluated on, nothing is shown.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dglbench.data.loading import load_dataset
from dglbench.data.plot import comparison_of
from dglbench.errors import DglbenchError
from dglbench.plugins import find_task
from dglbench.report.cells import Result
from dglbench.report.loading import Report, Run
from dglbench.report.method_names import ACCURATE
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.style.palette import style
from dglbench.solvers import evaluation_solver
from dglbench.statistics import SMALLEST_VALUE, Numbers
from dglbench.task import Dataset, Shown, Task, TaskSpec

__all__ = ["Example", "Examples", "Row", "examples"]

_PLACES = (0.25, 0.5, 0.75, 0.95)
"""Which instances are shown: those at these quantiles of the mean regret of what is shown."""
_MOST_SETTINGS = 6
_SAME = 1e-6
"""Data made again on another processor differ in the last bits."""


class Example(NamedTuple):
    """A picture with what it shows in words."""

    svg: str
    """Base64: an image cannot run scripts."""
    regret: float
    """Of this decision, as a share of the optimum."""


class Row(NamedTuple):
    """The pictures of one method."""

    method: str
    test_regret: float
    """Of this run, over all test instances."""
    pictures: tuple[Example, ...]


class Examples(NamedTuple):
    """The pictures of one setting."""

    title: str
    seed: int
    rows: tuple[Row, ...]


def examples(report: Report) -> list[Examples]:
    """Draw test instances of the settings whose tasks can draw a decision on the optimum."""
    found: list[Examples] = []
    for comparison in by_setting(report):
        if len(found) == _MOST_SETTINGS:
            break
        try:
            found += _of_setting(report, comparison)
        except DglbenchError:  # the task, or the file that it reads, is not there
            continue
    return found


def _of_setting(report: Report, comparison: Comparison) -> Iterator[Examples]:
    unit = comparison.units[0]
    task = find_task(unit.task)
    draw = comparison_of(task)
    runs = [_kept(result) for result in _sides(comparison.results)]
    if draw is None or not runs:
        return
    identity = runs[0].identity
    spec = TaskSpec(unit.task, task.parse_settings(unit.settings), unit.seed)
    dataset = load_dataset(spec, identity.data_digest)
    taken = [_Decisions.of(report, run, dataset) for run in runs]
    if not all(each is not None and each.same_data(dataset) for each in taken):
        return
    decided = [each for each in taken if each is not None]
    rows = _instances(decided)
    best = {int(each): _best(task, dataset, int(each)) for each in decided[0].instances[rows]}
    yield Examples(
        comparison.title,
        unit.seed,
        tuple(
            Row(run.method, run.test_regret, tuple(_pictures(draw, dataset, each, rows, best)))
            for run, each in zip(runs, decided, strict=True)
        ),
    )


def _sides(results: Sequence[Result]) -> list[Result]:
    """Return, by validation, the best that trains for accuracy and the best for decisions."""
    sides = [
        [result for result in results if (result.first.identity.method in ACCURATE) is accurate]
        for accurate in (True, False)
    ]
    return [min(side, key=lambda result: result.val_regret) for side in sides if side]


def _kept(result: Result) -> Run:
    """Return the run of the first data seed that validation keeps."""
    cell = result.cells[0]
    return cell.runs[int(cell.validation.argmin())]


class _Decisions(NamedTuple):
    """What a run decided for its test instances."""

    instances: Any
    chosen: Any
    """(K, G): the option taken in each group."""
    achieved: Numbers
    relative: Numbers
    """Regret as a share of the optimum."""

    @classmethod
    def of(cls, report: Report, run: Run, dataset: Dataset) -> _Decisions | None:
        """Read a run's decisions; None if only their worth was kept."""
        rows = report.source.tables("decisions", [run.run_id], lists=True).rows
        groups = dataset.problem.groups
        if rows.is_empty() or not (rows["options"].list.len() == groups).all():
            return None
        optimum = rows["optimal_value"].abs().to_numpy()
        return cls(
            rows["instance"].to_numpy(),
            rows["options"].explode().to_numpy().reshape(-1, groups),
            rows["achieved_value"].to_numpy(),
            rows["regret"].to_numpy() / np.maximum(optimum, SMALLEST_VALUE),
        )

    def plan(self, dataset: Dataset, at: int) -> Numbers:
        """Return one decision as (1, G, S)."""
        options = np.arange(dataset.problem.options)
        taken: Numbers = (self.chosen[[at], :, None] == options).astype(np.float64)
        return taken

    def same_data(self, dataset: Dataset) -> bool:
        """Say whether the decisions are worth on these data what was logged, as a sample shows."""
        problem = dataset.problem
        if self.instances.max() >= len(dataset.labels):
            return False
        for at in range(0, len(self.instances), max(1, len(self.instances) // 8)):
            values = problem.values(dataset.labels[self.instances[[at]]])
            worth = problem.objective(values, self.plan(dataset, at))[0]
            if not np.isclose(worth, self.achieved[at], rtol=_SAME, atol=_SAME):
                return False
        return True


def _instances(decided: Sequence[_Decisions]) -> list[int]:
    """Return where among the test instances the shown ones are, from little regret to much."""
    mean = np.mean([each.relative for each in decided], axis=0)
    order = np.argsort(mean, kind="stable")
    return [int(order[round(place * (len(order) - 1))]) for place in _PLACES]


def _best(task: Task, dataset: Dataset, row: int) -> Shown:
    values = dataset.problem.values(dataset.labels[[row]])
    decision = evaluation_solver(task, dataset.problem).decide(values, rows=[row])
    worth = float(dataset.problem.objective(values, decision)[0])
    return Shown(row, dataset.labels[row], decision[0], worth)


def _pictures(
    draw: Callable[[Dataset, Shown, Shown], str],
    dataset: Dataset,
    decided: _Decisions,
    rows: Sequence[int],
    best: dict[int, Shown],
) -> Iterator[Example]:
    for at in rows:
        shown = best[int(decided.instances[at])]
        taken = shown._replace(decision=decided.plan(dataset, at)[0])
        svg = base64.b64encode(draw(dataset, shown, taken).encode()).decode()
        yield Example(svg, float(decided.relative[at]))


def label(row: Row) -> str:
    """Return what the method of a row is called."""
    return style(row.method).label
