"""Time the exact solver families on every task beside a pywraplp model rebuilt for every instance.

    python benchmarks/solvers.py [--quick] [--sizes] [--only NAME] [--json FILE]

With --sizes, decisions alone, `batched` beside OR-Tools' own solver of the structure (min-cost
flow, dynamic programming) from small to large.

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
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from ortools.linear_solver import pywraplp
from rich.console import Console
from rich.table import Table

from dglbench.plugins import find_task
from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.batched import batched_solver
from dglbench.solvers.ortools import OrtoolsSolver

QUESTIONS = ("decide", "relax", "duals")
CONTENDERS = ("rebuilt", "ortools", "batched")


@dataclass(frozen=True)
class Setting:
    """One problem with its coefficients."""

    name: str
    problem: Problem
    values: Array
    batched: Solver | None
    """None where the structure allows no batched solver."""
    decided: int | None = None
    """How many instances are decided, where that is an integer program; None for all."""


@dataclass(frozen=True)
class Timing:
    """Microseconds an instance, median over the turns."""

    setting: str
    question: str
    instances: int
    rebuilt_us: float
    ortools_us: float
    batched_us: float | None


@dataclass(frozen=True)
class Bar:
    """How many times faster one contender has to be than another."""

    setting: str
    question: str
    slow: str
    fast: str
    at_least: float
    asked: str | None = None
    """What the slow one is asked, if not the same: OR-Tools has duals of paths without GLOP."""


BARS = (
    Bar("matching-50", "duals", "rebuilt", "ortools", 2.5),
    Bar("matching-50", "duals", "ortools", "batched", 4.0),
    Bar("knapsack-48", "duals", "ortools", "batched", 10.0),
    Bar("path-5x5", "relax", "ortools", "batched", 50.0),
    Bar("path-5x5", "duals", "ortools", "batched", 50.0, asked="relax"),  # GLOP
    Bar("path-5x5", "decide", "ortools", "batched", 10.0),  # OR-Tools' min-cost flow
    Bar("top-5-of-50", "relax", "ortools", "batched", 50.0),
    Bar("top-5-of-50", "duals", "ortools", "batched", 50.0),
)


MOST_RATIO = 1.2
SIZES = ((10, 3, 400), (50, 3, 400), (200, 5, 100), (1000, 20, 10), (3000, 50, 3), (10000, 50, 1))
KNAPSACKS = ((10, 400), (48, 400), (200, 50), (1000, 10), (10000, 1))
TRANSPORTS = ((30, 5, 400), (200, 10, 50), (1000, 20, 10))
GRIDS = ((5, 400), (15, 50), (50, 5), (100, 2))


def matching(n: int, instances: int) -> Setting:
    """Sigmoid utilities with an effect of individual and location; capacities just above n/3."""
    rng = np.random.default_rng(n)
    latent = rng.normal(size=(instances, n, 1)) + rng.normal(size=(instances, n, 3))
    problem = Problem.assignment(n, [-(-n // 3)] * 3)
    return setting(f"matching-{n}", problem, 1 / (1 + np.exp(-latent)))


def located(n: int, locations: int, instances: int) -> Setting:
    """The matching task's own data: some locations are wanted more than others."""
    task = find_task("matching")
    chosen = task.Settings(n=n, locations=locations, train=instances, val=1, test=1)
    dataset = task.generate(chosen, 3)
    return setting(f"matching-{n}x{locations}", dataset.problem, dataset.labels[:instances])


def by_size(only: str, console: Console) -> bool:
    """Print batched over OR-Tools by size; whether none is slower than `MOST_RATIO`."""
    makers: list[tuple[str, Callable[[], Setting]]] = [
        *(
            ("matching", partial(located, n, locations, instances))
            for n, locations, instances in SIZES
        ),
        *(("knapsack", partial(knapsack, n, k)) for n, k in KNAPSACKS),
        *(("path", partial(path, size, k)) for size, k in GRIDS),
        *(
            ("transport", partial(of_task, "transport", k, n=n, destinations=places))
            for n, places, k in TRANSPORTS
        ),
    ]
    table = Table(title="Milliseconds a decision (median of three turns)")
    for column in ("setting", "instances", "ortools", "batched", "batched / ortools"):
        table.add_column(column, justify="right")
    met = True
    for _, make in (pair for pair in makers if only in pair[0]):
        one = make()
        if one.batched is None:
            raise SystemExit(f"{one.name} has no batched solver.")
        contenders = (OrtoolsSolver(one.problem), one.batched)
        taken: list[list[float]] = [[], []]
        for solver in contenders:
            solver.decide(one.values[:1])
        for _turn in range(3):
            for times, solver in zip(taken, contenders, strict=True):
                start = time.perf_counter()
                solver.decide(one.values)
                times.append((time.perf_counter() - start) / len(one.values) * 1e3)
        theirs, ours = (statistics.median(times) for times in taken)
        met = met and ours <= MOST_RATIO * theirs
        row = (f"{theirs:.3f}", f"{ours:.3f}", f"{ours / theirs:.2f}")
        table.add_row(one.name, str(len(one.values)), *row)
    console.print(table)
    console.print(f"{'met   ' if met else 'MISSED'} none slower than {MOST_RATIO:g} × OR-Tools")
    return met


def knapsack(n: int, instances: int) -> Setting:
    """Price × weight with noise; weights from {3, 5, 7}, capacity half their sum."""
    rng = np.random.default_rng(n)
    weights = rng.choice([3, 5, 7], n).astype(float)
    prices = rng.gamma(4.0, 15.0, size=(instances, n))
    earned = prices * weights + rng.normal(0, 5, size=(instances, n))
    return setting(f"knapsack-{n}", Problem.knapsack(weights, weights.sum() // 2), earned)


def path(size: int, instances: int) -> Setting:
    """The cheapest way from corner to corner of a grid, right and down, with random edge costs."""
    rng = np.random.default_rng(size)
    right = [(v, v + 1) for v in range(size * size) if (v + 1) % size]
    down = [(v, v + size) for v in range(size * (size - 1))]
    problem = Problem.paths([*right, *down], 0, size * size - 1)
    costs = rng.gamma(2.0, 1.0, size=(instances, *problem.label_shape))
    return setting(f"path-{size}x{size}", problem, costs)


def top_k(n: int, k: int, instances: int) -> Setting:
    """Exactly k of n items, with scores of either sign."""
    scores = np.random.default_rng(n).normal(size=(instances, n))
    return setting(f"top-{k}-of-{n}", Problem.top_k(n, k), scores)


def of_task(name: str, instances: int, decided: int | None = None, **settings: object) -> Setting:
    """A task's own data at its first size."""
    task = find_task(name)
    chosen = task.Settings(**{"train": instances, "val": 1, "test": 1, **settings})
    dataset = task.generate(chosen, 3)
    made = setting(f"{name}-{chosen.n}", dataset.problem, dataset.labels[:instances])
    return replace(made, decided=decided)


def setting(name: str, problem: Problem, labels: Array) -> Setting:
    return Setting(name, problem, problem.values(labels), batched_solver(problem))


def rebuilt(problem: Problem, values: Array, question: str) -> None:
    """Answer as a plain loop would: a new pywraplp model for each instance."""
    cells = [(g, s) for g, s in np.argwhere(problem.mask).tolist()]
    weights = problem.A.tolist()
    lower = np.where(problem.equality, problem.b, -np.inf).tolist()
    for coefficients in values.tolist():
        solver = pywraplp.Solver.CreateSolver("SCIP" if question == "decide" else "GLOP")
        integer = question == "decide"
        x = {cell: solver.Var(0, 1, integer, "") for cell in cells}
        for g in range(problem.groups):
            pick_one = solver.Constraint(1, 1)
            for s in np.flatnonzero(problem.mask[g]).tolist():
                pick_one.SetCoefficient(x[g, s], 1)
        rows = []
        for use, least, most in zip(weights, lower, problem.b.tolist(), strict=True):
            row = solver.Constraint(least, most)
            rows.append(row)
            for g, s in cells:
                if use[g][s]:
                    row.SetCoefficient(x[g, s], use[g][s])
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
    """Let the contenders take turns; the rebuilt model, the slowest, gets fewer instances."""
    values = setting.values[: setting.decided] if question == "decide" else setting.values
    few = values[: max(4, len(values) // 20)]
    ortools = OrtoolsSolver(setting.problem)
    runs: dict[str, tuple[Callable[[Array], object], Array]] = {
        "rebuilt": (lambda batch: rebuilt(setting.problem, batch, question), few),
        "ortools": (getattr(ortools, question), values),
    }
    if setting.batched is not None:
        runs["batched"] = (getattr(setting.batched, question), values)
    for run, batch in runs.values():
        run(batch[:2])  # builds what is built once
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, (run, batch) in runs.items():
            start = time.perf_counter()
            run(batch)
            taken[name].append((time.perf_counter() - start) / len(batch) * 1e6)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    batched = medians.get("batched")
    return Timing(
        setting.name, question, len(values), medians["rebuilt"], medians["ortools"], batched
    )


def ratio(timing: Timing, slow: str, fast: str, asked: Timing | None = None) -> float | None:
    """How many times faster; ``asked`` has the slow one's time if it was asked something else."""
    ours = asdict(timing)[f"{fast}_us"]
    return None if ours is None else float(asdict(asked or timing)[f"{slow}_us"] / ours)


def number(value: float | None, unit: str = "") -> str:
    """One decimal, or a dash where there is no such solver."""
    return "–" if value is None else f"{value:,.1f}{unit}"


def show(timings: list[Timing], console: Console) -> None:
    table = Table(title="Microseconds an instance (median)")
    for column in ("setting", "question"):
        table.add_column(column, no_wrap=True)
    for column in ("instances", *CONTENDERS, "rebuilt / ortools", "ortools / batched"):
        table.add_column(column, justify="right")
    for timing in timings:
        table.add_row(
            timing.setting,
            timing.question,
            str(timing.instances),
            *(number(asdict(timing)[f"{name}_us"]) for name in CONTENDERS),
            number(ratio(timing, "rebuilt", "ortools"), "×"),
            number(ratio(timing, "ortools", "batched"), "×"),
            end_section=timing.question == QUESTIONS[-1],
        )
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    parser.add_argument("--sizes", action="store_true", help="decisions from small to large")
    parser.add_argument("--only", default="", metavar="NAME", help="settings with this in the name")
    options = parser.parse_args()
    if options.sizes:
        return 0 if by_size(options.only, Console()) else 1
    turns = 3 if options.quick else 7
    makers: dict[str, Callable[[], Setting]] = {
        "matching-50": partial(matching, 50, 400),
        "knapsack-48": partial(knapsack, 48, 400),
        "path-5x5": partial(path, 5, 400),
        "top-5-of-50": partial(top_k, 50, 5, 400),
        "transport-30": partial(of_task, "transport", 400),
        # Their decisions are integer programs, 10 to 250 ms each.
        "multi-knapsack-32": partial(of_task, "multi-knapsack", 400, 20),
        "offers-40": partial(of_task, "offers", 400, 20),
        "scheduling-10": partial(of_task, "scheduling", 400, 4),
    }
    if options.quick:
        makers["scheduling-10"] = partial(of_task, "scheduling", 20, 2)
    else:
        makers |= {
            "matching-10": partial(matching, 10, 400),
            "matching-200": partial(matching, 200, 50),
            "knapsack-24": partial(knapsack, 24, 400),
            "knapsack-200": partial(knapsack, 200, 50),
            "path-15x15": partial(path, 15, 50),
        }
    # In a file the numbers would be cut at 80 characters.
    console = Console() if sys.stdout.isatty() else Console(width=120)
    timings = []
    for name, make in makers.items():
        if options.only in name:
            console.print(f"[dim]{name} …[/dim]")
            one = make()
            timings += [measure(one, question, turns) for question in QUESTIONS]
    show(timings, console)
    found = {(timing.setting, timing.question): timing for timing in timings}
    verdicts = []
    for bar in BARS:
        if (bar.setting, bar.question) not in found:
            continue
        asked = found[bar.setting, bar.asked or bar.question]
        timing = found[bar.setting, bar.question]
        reached = ratio(timing, bar.slow, bar.fast, asked) or 0.0
        verdicts.append({**asdict(bar), "reached": reached, "met": reached >= bar.at_least})
        slow = f"{bar.slow} at {bar.asked}" if bar.asked else bar.slow
        console.print(
            f"{'met   ' if reached >= bar.at_least else 'MISSED'} {bar.setting} {bar.question}: "
            f"{bar.fast} {reached:.1f}× faster than {slow} (bar {bar.at_least:g}×)"
        )
    if options.json:
        document = {"timings": [asdict(timing) for timing in timings], "bars": verdicts}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(verdict["met"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
