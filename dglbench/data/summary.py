"""What a dataset is like: its labels, and how hard its problems are.

Label statistics cover every instance. Statistics that need a solver cover every
instance of small data and an evenly spaced sample of large data, and say which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array, Mask, Problem
from dglbench.solvers import Solver, evaluation_solver
from dglbench.streams import stream
from dglbench.task import SPLITS, Dataset, Task

__all__ = ["DataSummary", "LabelStatistics", "duals_are_unique", "summarise", "work"]

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}

# Coefficients that are solved at most: all instances of the paper's settings, 100
# instances of 1,000 individuals and 20 locations (a few seconds).
_SOLVED_NUMBERS = 2_000_000
_SOLVED_ONE_BY_ONE = 200  # instances, without a batched solver
_DUALS_NUMBERS = 400_000
_DUALS_CHECKED = 100  # instances whose dual face is measured: two small LPs each
_CHUNK_NUMBERS = 1_000_000
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LabelStatistics:
    """The distribution of predicted options' true values."""

    instances: int
    mean: float
    sd: float
    min: float
    q05: float
    q25: float
    median: float
    q75: float
    q95: float
    max: float


@dataclass(frozen=True)
class DataSummary:
    """The numbers behind ``dglbench generate``'s tables."""

    instances: int
    groups: int
    options: int
    rows: int
    sense: str
    """maximise or minimise; labels and optimal values are in the task's own sense."""
    labels: dict[str, LabelStatistics]
    """By split, and ``all``."""
    solver: str
    solved: int
    """Instances behind the next six numbers."""
    optimal_value_mean: float
    optimal_value_sd: float
    rows_binding: float
    """Mean number of global rows that the LP optimum uses up."""
    fractional_share: float
    """Share of instances whose LP optimum, as the solver returns it, is not integer."""
    gap_mean: float
    """Integrality gap: (LP value - integer value) / |integer value|."""
    gap_max: float
    duals_checked: int
    nonunique_share: float
    """Share of these instances whose duals optimality leaves open; see `duals_are_unique`."""

    def as_document(self) -> dict[str, Any]:
        """Return everything JSON-ready."""
        return asdict(self)


def work(task: Task, dataset: Dataset) -> int:
    """Return how many instances `summarise` will report to ``tick``."""
    solver = evaluation_solver(task, dataset.problem)
    return len(_solved_rows(dataset, solver))


def summarise(
    task: Task, dataset: Dataset, tick: Callable[[int], None] = lambda done: None
) -> DataSummary:
    """Describe a dataset; ``tick`` is called with the instances done."""
    problem, solver = dataset.problem, evaluation_solver(task, dataset.problem)
    chosen = _solved_rows(dataset, solver)
    checked = chosen[_evenly_spaced(len(chosen), _duals_checked(problem))]
    exact, relaxed, binding, fractional, unique = [], [], [], [], []
    for rows in _chunks(chosen, problem):
        values, at = problem.values(dataset.labels[rows]), problem.take(rows)
        x = solver.relax(values, rows)
        part = (np.abs(x - np.rint(x)) > _TOLERANCE).any(axis=(1, 2))
        decision = np.rint(x)  # an LP optimum that is integer is the integer optimum
        if part.any():
            decision[part] = solver.decide(values[part], rows[part])
        exact.append((values * decision).sum(axis=(1, 2)))
        relaxed.append(np.where(part, (values * x).sum(axis=(1, 2)), exact[-1]))
        room = _TOLERANCE * np.maximum(1.0, np.abs(at.b))
        binding.append((at.usage(x) >= at.b - room).sum(axis=1))
        fractional.append(part)
        unique += [
            duals_are_unique(problem.take([rows[i]]), values[i], x[i])
            for i in np.flatnonzero(np.isin(rows, checked))
        ]
        tick(len(rows))
    best = np.concatenate(exact)
    own = best if problem.sense == "maximise" else -best
    gap = (np.concatenate(relaxed) - best) / np.maximum(np.abs(best), np.finfo(float).tiny)
    return DataSummary(
        instances=len(dataset.labels),
        groups=problem.groups,
        options=problem.options,
        rows=problem.rows,
        sense=problem.sense,
        labels=_label_statistics(dataset),
        solver=solver.family,
        solved=len(chosen),
        optimal_value_mean=float(own.mean()),
        optimal_value_sd=float(best.std()),
        rows_binding=float(np.concatenate(binding).mean()),
        fractional_share=float(np.concatenate(fractional).mean()),
        gap_mean=float(gap.mean()),
        gap_max=float(gap.max()),
        duals_checked=len(checked),
        nonunique_share=1.0 - float(np.mean(unique)),
    )


def duals_are_unique(problem: Problem, values: Array, x: Array) -> bool:
    """Say whether optimality fixes what options cost compared with each other.

    With an LP optimum x, both (G, S), the optimal λ are exactly those with λ ≥ 0 on
    ≤ rows, λ_m = 0 on rows that x does not use up, and, for every option s that x uses
    and every option t of the same group,

        y_s - a_s·λ ≥ y_t - a_t·λ.

    The range of c·λ over this set, for one random direction c, is 0 if and only if
    the set is a point. c is a random mix of the comparisons, so it is orthogonal to
    directions along which none of them changes (in matching: all prices rise alike),
    and such a shift does not count as a choice. Two linear programs in M variables.
    ``problem`` is of this one instance, or of all where they share it.
    """
    from scipy.optimize import linprog

    mask, b = problem.mask.reshape(problem.shape), problem.b.reshape(-1)
    scale = float(np.abs(values[mask]).max()) or 1.0
    comparisons, bounds_on = _comparisons(problem, mask, values / scale, x)
    direction = _direction(comparisons)
    if direction is None:
        return True
    slack = b - problem.usage(x[None])[0]
    spare = slack > _TOLERANCE * np.maximum(1.0, np.abs(b))
    limits = [
        (None, None) if exact else (0.0, 0.0 if free else None)
        for exact, free in zip(problem.equality, spare, strict=True)
    ]
    ends = []
    for sign in (1.0, -1.0):
        answer = linprog(
            sign * direction, A_ub=comparisons, b_ub=bounds_on, bounds=limits, method="highs"
        )
        if answer.status != 0:  # unbounded: a row without capacity can cost any amount
            return False
        ends.append(sign * answer.fun)
    return bool(ends[1] - ends[0] <= _TOLERANCE)


def _comparisons(problem: Problem, mask: Mask, values: Array, x: Array) -> tuple[Any, Array]:
    """Return (a_s - a_t), sparse, and (y_s - y_t) for every used option s and every other t."""
    group, used = np.nonzero((x > _TOLERANCE) & mask)
    other = mask[group].copy()
    other[np.arange(len(group)), used] = False
    pair, rival = np.nonzero(other)
    first = group[pair] * problem.options
    columns = problem.matrix.tocsc()
    costs = columns[:, first + used[pair]] - columns[:, first + rival]
    gains = values[group[pair], used[pair]] - values[group[pair], rival]
    return costs.T.tocsr(), gains


def _direction(comparisons: Any) -> Array | None:
    """Draw a direction in the space that the comparisons see, or None if they see nothing."""
    weights = stream(0, "summary", "direction").standard_normal(comparisons.shape[0])
    draw = np.asarray(comparisons.T @ weights)
    length = float(np.linalg.norm(draw))
    if length <= 1e-9:
        return None
    direction: Array = draw / length
    return direction


def _label_statistics(dataset: Dataset) -> dict[str, LabelStatistics]:
    parts = {name: dataset.rows(name) for name in SPLITS}
    parts["all"] = np.arange(len(dataset.labels))
    return {name: _distribution(dataset, rows) for name, rows in parts.items() if rows.size}


def _distribution(dataset: Dataset, rows: npt.NDArray[np.intp]) -> LabelStatistics:
    # One copy, which the quantiles then reorder in place.
    whole = rows.size == len(dataset.labels)
    labels = dataset.labels if whole else dataset.labels[rows]
    counted = dataset.problem.take(rows).counted
    values = labels[:, counted].ravel() if counted.ndim < labels.ndim else labels[counted]
    mean, sd = float(values.mean()), float(values.std())
    quantiles = np.quantile(values, list(QUANTILES.values()), overwrite_input=True)
    return LabelStatistics(
        instances=len(rows),
        mean=mean,
        sd=sd,
        min=float(values.min()),
        max=float(values.max()),
        **dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
    )


def _solved_rows(dataset: Dataset, solver: Solver) -> npt.NDArray[np.intp]:
    most = _SOLVED_NUMBERS // dataset.problem.size
    if solver.family == "ortools":
        most = min(most, _SOLVED_ONE_BY_ONE)
    return _evenly_spaced(len(dataset.labels), max(most, 10))


def _duals_checked(problem: Problem) -> int:
    return min(_DUALS_CHECKED, max(_DUALS_NUMBERS // problem.size, 10))


def _evenly_spaced(count: int, most: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def _chunks(rows: npt.NDArray[np.intp], problem: Problem) -> Iterator[npt.NDArray[np.intp]]:
    step = max(1, _CHUNK_NUMBERS // problem.size)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
