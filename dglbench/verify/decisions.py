"""Whether every test decision is feasible and worth what is said: valued anew from the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from dglbench.errors import DglbenchError
from dglbench.packs.layout import data_key
from dglbench.plugins import find_task
from dglbench.problem import Array, Problem
from dglbench.problem_checks import allowance
from dglbench.runs.record import Regrets, RunRecord
from dglbench.statistics import bootstrap_interval
from dglbench.task import Dataset
from dglbench.training.evaluation import Evaluation, Evaluator, SplitEvaluator
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_decisions"]

_SAME = 1e-9
"""Regrets are computed again from the same numbers: only rounding may differ."""


def check_decisions(subject: Subject, made: Mapping[str, Dataset]) -> Verdict:
    """Recompute feasibility, value, optimum and regret of every decision of every finished run."""
    problems: list[str] = []
    checked = 0
    groups: dict[str, list[str]] = {}
    for name, record in subject.done.items():
        groups.setdefault(data_key(record.identity), []).append(name)
    for key, names in groups.items():
        if key not in made:
            problems += [f"{name}: its data could not be made" for name in names]
            continue
        try:
            judge = Evaluator(find_task(made[key].spec.task), made[key]).splits["test"]
            allowed = judge.allowance
        except DglbenchError as error:
            problems += [f"{name}: its optima could not be found: {error}" for name in names]
            continue
        for name, rows in subject.by_run("decisions", names):
            found = list(_run(subject.done[name], rows, judge, allowed))
            problems += [f"{name}: {problem}" for problem in found]
            checked += rows.height
    good = (
        f"{checked:,} test decisions of {len(subject.done)} runs are feasible, and worth what the "
        "pack says"
    )
    return judged("decisions", good, problems)


def _run(
    record: RunRecord, rows: pl.DataFrame, judge: SplitEvaluator, allowed: Array
) -> Iterator[str]:
    if rows["instance"].to_list() != judge.instances.tolist():
        yield (
            f"it has {rows.height} decisions, not one for each of the {len(judge.instances)} test "
            "instances in order"
        )
        return
    problem = judge.problem.take(judge.instances)
    if rows["options"].null_count():
        yield "its decisions were not logged, only what they are worth; make it again"
        return
    choices = _choices(rows["options"], problem)
    if choices is None:
        yield (
            f"its decisions do not name one of {problem.options} options in each of "
            f"{problem.groups} groups"
        )
        return
    if (bad := _infeasible(choices, problem)).size:
        yield f"{bad.size} decisions break a constraint, the first of instance {_at(judge, bad)}"
    outcome = judge.value(choices, record.selected.test.mse if record.selected else np.nan)
    # Where the search for the optimum was stopped here, it may have been stopped elsewhere there.
    near = allowed + judge.gaps
    truth = {
        "optimal_value": ("the optimum", outcome.optimal, near),
        "achieved_value": ("the value", outcome.achieved, allowed),
        "regret": ("the regret", outcome.regret, near),
    }
    for name, (words, true, apart) in truth.items():
        logged = rows[name].to_numpy()
        if (bad := np.flatnonzero(~(np.abs(true - logged) <= apart))).size:
            at = bad[0]
            yield (
                f"{words} of {bad.size} decisions is not what the data say, the first of instance "
                f"{_at(judge, bad)}: {logged[at]:.12g}, recomputed {true[at]:.12g}"
            )
    if record.selected is not None:
        known = outcome._replace(optimal=rows["optimal_value"].to_numpy())
        yield from _figures(record.selected.test, known)


def _choices(options: pl.Series, problem: Problem) -> Any:
    """Return the chosen options as (K, G), None if they are no choice of one option per group."""
    lengths = options.list.len()
    if not (lengths == problem.groups).all():
        return None
    choices = options.explode().to_numpy().reshape(-1, problem.groups)
    return choices if (choices < problem.options).all() else None


def _infeasible(choices: Any, problem: Problem) -> Any:
    """Return the positions of decisions that take an absent option or break a row of A x ≤ b."""
    taken = np.zeros((len(choices), *problem.shape))
    np.put_along_axis(taken, choices[:, :, None].astype(np.intp), 1.0, axis=2)
    absent = ((taken > 0) & ~problem.mask).any(axis=(1, 2))
    over = problem.usage(taken) - problem.b
    spare = allowance(problem.b)
    broken = np.where(problem.equality, np.abs(over) > spare, over > spare).any(axis=1)
    return np.flatnonzero(absent | broken)


def _at(judge: SplitEvaluator, bad: Any) -> int:
    return int(judge.instances[bad[0]])


def _figures(said: Regrets, outcome: Evaluation) -> Iterator[str]:
    """Hold the run's test figures and their intervals against those of its decisions."""
    true: dict[str, Any] = outcome.metrics()
    relative = outcome.relative
    true["relative_regret_ci"] = bootstrap_interval(relative) if relative.size else None
    true["pooled_regret_ci"] = bootstrap_interval(outcome.regret, outcome.sizes)
    for name, value in true.items():
        kept = getattr(said, name, None)
        if kept is not None and not np.allclose(
            kept, np.nan if value is None else value, rtol=1e-6, atol=_SAME, equal_nan=True
        ):
            yield f"its test {name} is {kept}, its decisions give {value}"
