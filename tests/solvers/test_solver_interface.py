"""What goes in, what comes out, and the one clear error when it cannot."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from solver_cases import brute_force, coefficients, families, knapsack, matching, scores, value

from dglbench.errors import DglbenchError, OptionError, ProblemError, SolverError
from dglbench.plugins import find_task
from dglbench.problem import Array, Problem
from dglbench.solvers import Solver
from dglbench.solvers.batched import Batched
from dglbench.solvers.batched_knapsack import BatchedKnapsack
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench.solvers.pdlp import PdlpSolver

PROBLEMS = {"matching": matching([3, 2, 4], 8), "knapsack": knapsack([3, 5, 7, 5], 9)}
SOLVERS = [
    pytest.param(solver, id=f"{name}-{solver.family}")
    for name, problem in PROBLEMS.items()
    for solver in families(problem)
]
QUESTIONS = ("decide", "relax", "duals")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_torch_in_torch_out(solver: Solver, question: str) -> None:
    values = coefficients("smooth", (5, solver.problem.groups, solver.problem.options), 0)
    expected = getattr(solver, question)(values)
    assert isinstance(expected, np.ndarray)
    assert expected.dtype == np.float64
    tensor = torch.tensor(values, requires_grad=True)
    answer = getattr(solver, question)(tensor)
    assert isinstance(answer, torch.Tensor)
    assert not answer.requires_grad
    assert answer.numpy().tobytes() == expected.tobytes()
    assert getattr(solver, question)(tensor.float()).dtype == torch.float32


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_instances_no_answers(solver: Solver, question: str) -> None:
    problem = solver.problem
    answer = getattr(solver, question)(np.zeros((0, problem.groups, problem.options)))
    assert len(answer) == 0


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coefficients_must_be_finite(solver: Solver, question: str, bad: float) -> None:
    values = np.zeros((4, solver.problem.groups, solver.problem.options))
    values[2, 1, 0] = bad
    with pytest.raises(SolverError, match="instance 2 has NaN or infinite"):
        getattr(solver, question)(values)


@pytest.mark.parametrize("solver", SOLVERS)
def test_shape_must_fit_the_problem(solver: Solver) -> None:
    with pytest.raises(SolverError, match="must have shape"):
        solver.decide(np.zeros((solver.problem.groups, solver.problem.options)))
    with pytest.raises(SolverError, match="numpy array or a torch tensor"):
        solver.duals([[0.0]])  # type: ignore[call-overload]


@pytest.mark.parametrize("solver", SOLVERS)
def test_input_is_left_alone(solver: Solver) -> None:
    values = coefficients("smooth", (5, solver.problem.groups, solver.problem.options), 0)
    before = values.copy()
    for question in QUESTIONS:
        getattr(solver, question)(values)
    assert (values == before).all()


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (2.0, "instance 0: no choice of one option per group meets all rows"),
        (2**0.5, "instance 0: scip ended INFEASIBLE"),  # rows that are no whole numbers
    ],
)
def test_integer_infeasible_names_instance_and_status(use: float, sentence: str) -> None:
    # Half of each option fits, no whole one does: the relaxation alone is feasible.
    problem = Problem.build(use * np.eye(2)[:, None, :], [1.0, 1.0])
    solver = OrtoolsSolver(problem)
    values = np.zeros((2, 1, 2))
    assert solver.relax(values).sum() == pytest.approx(2.0)
    with pytest.raises(SolverError, match=sentence):
        solver.decide(values)


def test_mask_that_strands_individuals_is_an_error() -> None:
    mask = np.array([[1, 1, 0]] * 3 + [[1, 1, 1]], dtype=bool)
    with pytest.raises(DglbenchError, match=r"INFEASIBLE|capacit"):
        OrtoolsSolver(Problem.build(np.eye(3)[:, None, :] * mask, [1, 1, 5], mask)).decide(
            np.zeros((1, 4, 3))
        )


def test_batched_solvers_say_what_they_need() -> None:
    with pytest.raises(ProblemError, match="assignment problem"):
        BatchedMatching(PROBLEMS["knapsack"])
    with pytest.raises(ProblemError, match="take"):
        BatchedKnapsack(PROBLEMS["matching"])
    with pytest.raises(ProblemError, match="integer capacities"):
        BatchedMatching(matching([3, 2.5, 4], 8))  # type: ignore[list-item]
    mask = np.array([[1, 0], [1, 1]], dtype=bool)
    with pytest.raises(ProblemError, match="every location"):
        BatchedMatching(Problem.build(np.eye(2)[:, None, :] * mask, [2, 2], mask))


def test_the_batched_family_goes_by_structure_where_the_task_has_no_solver_of_its_own() -> None:
    task = find_task("matching")
    assert task.batched_solver(PROBLEMS["matching"]) is None
    assert isinstance(Batched.build(task, PROBLEMS["matching"]), BatchedMatching)
    two_rows = Problem.knapsack([[1.0, 2.0], [2.0, 1.0]], [2.0, 2.0])
    with pytest.raises(OptionError, match="has no batched solver; use --solver ortools"):
        Batched.build(task, two_rows)


@pytest.mark.parametrize("first", ["cvxpy", "ortools"])
def test_cvxpy_and_ortools_import_in_either_order(first: str) -> None:
    """Fails with highspy 1.15: see the bound in pyproject.toml."""
    lines = {
        "cvxpy": "import cvxpy",
        "ortools": "from ortools.linear_solver import pywraplp",
    }
    order = [lines.pop(first), *lines.values()]
    program = "\n".join([*order, "assert pywraplp.Solver.CreateSolver('GLOP')"])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_large_matching_stays_within_bounds() -> None:
    """1000 individuals, 20 locations, 1000 instances: at most 500 MB on top of the input."""
    program = """
import resource, numpy as np
from solver_cases import matching
from dglbench.solvers.batched_matching import BatchedMatching
values = np.random.default_rng(0).random((1000, 1000, 20))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
solver = BatchedMatching(matching([50] * 20, 1000))
duals = solver.duals(values)
x = solver.decide(values)
extra = peak() - before
dual_value = (values - duals[:, None, :]).max(axis=2).sum(axis=1) + duals @ solver.problem.b
print(extra, np.abs((values * x).sum(axis=(1, 2)) - dual_value).max())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    megabytes, gap = map(float, done.stdout.split())
    assert megabytes < 500
    assert gap < 1e-8


def test_every_family_answers_where_it_can() -> None:
    """What the solver tests run over: any problem for ortools and pdlp, structure for batched."""
    general = {OrtoolsSolver, PdlpSolver}
    assert {type(s) for s in families(PROBLEMS["matching"])} == general | {BatchedMatching}
    assert {type(s) for s in families(PROBLEMS["knapsack"])} == general | {BatchedKnapsack}
    assert {type(s) for s in families(Problem.build(np.ones((1, 2, 3)), [2.0]))} == general


def worth(solver: Solver, values: Array, answer: Array) -> Array:
    """What decisions (K, G, S) reach, or the bound that duals (K, M) give."""
    if answer.ndim == 3:
        return value(values, answer)
    best = scores(solver.problem, values, answer).max(axis=2)
    return best.sum(axis=1) + answer @ solver.problem.b


HUGE = {
    "matching": ([1e30, 2.0, 1e300], [9.0, 2.0, 9.0], np.eye(3)[:, None, :] * np.ones((1, 8, 1))),
    "closed": ([0.0, 1e30], [0.0, 9.0], np.eye(2)[:, None, :] * np.ones((1, 8, 1))),
    "knapsack": ([1e30], [21.0], np.stack([[3.0, 5, 7, 5], np.zeros(4)], axis=1)[None]),
    "fractions": ([1e300], [3.0], np.stack([[0.3, 0.5, 0.7, 0.55], np.zeros(4)], axis=1)[None]),
    "general": ([1e30, 7.0], [99.0, 7.0], 1.0 + np.arange(24.0).reshape(2, 4, 3) % 5),
    "capacity": ([1e25, 1e40], [99.0, 99.0], 1.0 + np.arange(24.0).reshape(2, 4, 3) % 5),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_capacity_is_one_that_nothing_uses_up(name: str) -> None:
    huge, modest, A = HUGE[name]
    values = coefficients("smooth", (5, *A.shape[1:]), 3) - 0.4
    solvers = [families(Problem.build(A, b)) for b in (huge, modest)]
    assert [type(one) for one in solvers[0]] == [type(one) for one in solvers[1]]
    for ours, plain in zip(*solvers, strict=True):
        for question in QUESTIONS:
            answer, modestly = getattr(ours, question)(values), getattr(plain, question)(values)
            if ours.tolerance and question != "decide":  # which optimum it nears may differ
                assert worth(plain, values, answer) == pytest.approx(
                    worth(plain, values, modestly), abs=ours.tolerance * len(A[0])
                )
            else:
                assert answer == pytest.approx(modestly, abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_decisions_are_as_good_as_declared(solver: Solver) -> None:
    """The bound on a decision's error is small, scales with the values and is kept."""
    values = coefficients("smooth", (50, solver.problem.groups, solver.problem.options), 9)
    error = solver.decision_error(values)
    assert error.shape == (50,)
    assert (error >= 0).all()
    assert (error < 1e-9).all()
    assert solver.decision_error(1e6 * values) == pytest.approx(1e6 * error)
    missed = brute_force(solver.problem, values) - value(values, solver.decide(values))
    assert (missed <= error + 1e-12).all()
