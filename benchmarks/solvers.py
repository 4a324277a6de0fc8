"""Time both solver families beside a pywraplp model rebuilt for every instance.

    python benchmarks/solvers.py [--quick] [--json FILE]

One thread; all contenders of a setting take turns in one run, and the median of the turns
counts. Exits with code 1 if a bar is missed.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from ortools.linear_solver import pywraplp
from rich.console import Console
from rich.table import Table

from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.batched_knapsack import BatchedKnapsack
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools import OrtoolsSolver

QUESTIONS = ("decide", "relax", "duals")
CONTENDERS = ("rebuilt", "ortools", "batched")


@dataclass(frozen=True)
class Setting:
    """One problem with its coefficients."""

    name: str
    problem: Problem
    values: Array
    batched: Solver


@dataclass(frozen=True)
class Timing:
    """Microseconds an instance, median over the turns."""

    setting: str
    question: str
    instances: int
    rebuilt_us: float
    ortools_us: float
    batched_us: float


@dataclass(frozen=True)
class Bar:
    """How many times faster one contender has to be than another."""

    setting: str
    question: str
    slow: str
    fast: str
    at_least: float


BARS = (
    Bar("matching-50", "duals", "rebuilt", "ortools", 2.5),
    Bar("matching-50", "duals", "ortools", "batched", 4.0),
    Bar("knapsack-48", "duals", "ortools", "batched", 10.0),
)


def matching(n: int, instances: int) -> Setting:
    """Sigmoid utilities with an effect of individual and location; capacities just above n/3."""
    rng = np.random.default_rng(n)
    latent = rng.normal(size=(instances, n, 1)) + rng.normal(size=(instances, n, 3))
    problem = Problem.build(np.eye(3)[:, None, :] * np.ones((1, n, 1)), [-(-n // 3)] * 3)
    values = 1 / (1 + np.exp(-latent))
    return Setting(f"matching-{n}", problem, values, BatchedMatching(problem))


def knapsack(n: int, instances: int) -> Setting:
    """Price × weight with noise; weights from {3, 5, 7}, capacity half their sum."""
    rng = np.random.default_rng(n)
    A = np.zeros((1, n, 2))
    A[0, :, 0] = rng.choice([3, 5, 7], n)
    problem = Problem.build(A, [A.sum() // 2])
    values = np.zeros((instances, n, 2))
    prices = rng.gamma(4.0, 15.0, size=(instances, n))
    values[:, :, 0] = prices * A[0, :, 0] + rng.normal(0, 5, size=(instances, n))
    return Setting(f"knapsack-{n}", problem, values, BatchedKnapsack(problem))


def rebuilt(problem: Problem, values: Array, question: str) -> None:
    """Answer as a plain loop would: a new pywraplp model for each instance."""
    cells = [(g, s) for g in range(problem.groups) for s in range(problem.options)]
    for coefficients in values.tolist():
        solver = pywraplp.Solver.CreateSolver("SCIP" if question == "decide" else "GLOP")
        integer = question == "decide"
        x = {cell: solver.Var(0, 1, integer, "") for cell in cells}
        for g in range(problem.groups):
            pick_one = solver.Constraint(1, 1)
            for s in range(problem.options):
                pick_one.SetCoefficient(x[g, s], 1)
        rows = []
        for weights, bound in zip(problem.A.tolist(), problem.b.tolist(), strict=True):
            row = solver.Constraint(-solver.infinity(), bound)
            rows.append(row)
            for g, s in cells:
                if weights[g][s]:
                    row.SetCoefficient(x[g, s], weights[g][s])
        objective = solver.Objective()
        objective.SetMaximization()
        for g, s in cells:
            objective.SetCoefficient(x[g, s], coefficients[g][s])
        if solver.Solve() != pywraplp.Solver.OPTIMAL:
            raise SystemExit("the rebuilt model did not solve to optimality.")
        if question == "duals":
            _ = [row.dual_value() for row in rows]
        else:
            _ = [x[cell].solution_value() for cell in cells]


def measure(setting: Setting, question: str, turns: int) -> Timing:
    """Let the contenders take turns; slow decisions by the rebuilt model get fewer instances."""
    values = setting.values
    few = values[: max(4, len(values) // 20)] if question == "decide" else values
    ortools = OrtoolsSolver(setting.problem)
    runs: dict[str, tuple[Callable[[Array], object], Array]] = {
        "rebuilt": (lambda batch: rebuilt(setting.problem, batch, question), few),
        "ortools": (getattr(ortools, question), values),
        "batched": (getattr(setting.batched, question), values),
    }
    for run, batch in runs.values():
        run(batch[:2])  # builds what is built once
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, (run, batch) in runs.items():
            start = time.perf_counter()
            run(batch)
            taken[name].append((time.perf_counter() - start) / len(batch) * 1e6)
    medians = {f"{name}_us": statistics.median(times) for name, times in taken.items()}
    return Timing(setting.name, question, len(values), **medians)


def ratio(timing: Timing, slow: str, fast: str) -> float:
    times = asdict(timing)
    return float(times[f"{slow}_us"] / times[f"{fast}_us"])


def show(timings: list[Timing], console: Console) -> None:
    table = Table(title="Microseconds an instance (median)")
    for column in ("setting", "question"):
        table.add_column(column, no_wrap=True)
    for column in (*CONTENDERS, "rebuilt / ortools", "ortools / batched"):
        table.add_column(column, justify="right")
    for timing in timings:
        table.add_row(
            timing.setting,
            timing.question,
            *(f"{asdict(timing)[f'{name}_us']:,.1f}" for name in CONTENDERS),
            f"{ratio(timing, 'rebuilt', 'ortools'):.1f}×",
            f"{ratio(timing, 'ortools', 'batched'):.1f}×",
            end_section=timing.question == QUESTIONS[-1],
        )
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    options = parser.parse_args()
    turns = 3 if options.quick else 7
    settings = [matching(50, 400), knapsack(48, 400)]
    if not options.quick:
        settings = [
            *(matching(10, 400), settings[0], matching(200, 50)),
            *(knapsack(24, 400), settings[1], knapsack(200, 50)),
        ]
    timings = [measure(setting, question, turns) for setting in settings for question in QUESTIONS]

    console = Console()
    show(timings, console)
    found = {(timing.setting, timing.question): timing for timing in timings}
    verdicts = []
    for bar in BARS:
        reached = ratio(found[bar.setting, bar.question], bar.slow, bar.fast)
        verdicts.append({**asdict(bar), "reached": reached, "met": reached >= bar.at_least})
        console.print(
            f"{'met   ' if reached >= bar.at_least else 'MISSED'} {bar.setting} {bar.question}: "
            f"{bar.fast} {reached:.1f}× faster than {bar.slow} (bar {bar.at_least:g}×)"
        )
    if options.json:
        document = {"timings": [asdict(timing) for timing in timings], "bars": verdicts}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(verdict["met"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
