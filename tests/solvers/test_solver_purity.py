"""An answer depends on the problem and the coefficients, and on nothing else: same bits always."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from solver_cases import coefficients, families, knapsack, matching

from dglbench.problem import Array, Problem

QUESTIONS = ("decide", "relax", "duals")


def general() -> Problem:
    rng = np.random.default_rng(5)
    mask = rng.random((8, 4)) < 0.8
    mask[:, 0] = True
    A = rng.gamma(2.0, 1.0, size=(3, 8, 4)) * mask
    return Problem.build(A, A[:, :, 0].sum(axis=1), mask)


PROBLEMS = {
    "matching": matching([7, 7, 7], 20),
    "full": matching([6, 9, 5], 20),
    "closed": matching([12, 0, 10], 20),
    "many-locations": matching([4] * 8, 30),
    "knapsack": knapsack(np.random.default_rng(6).choice([3, 5, 7], 30).tolist(), 70),
    "general": general(),
}
CASES = [
    pytest.param(name, index, question, id=f"{name}-{solver.family}-{question}")
    for name, problem in PROBLEMS.items()
    for index, solver in enumerate(families(problem))
    for question in QUESTIONS
]


def batch(problem: Problem) -> Array:
    """Smooth and tied coefficients: ties are where history would show."""
    shape = (12, problem.groups, problem.options)
    return np.concatenate([coefficients("smooth", shape, 7), coefficients("ties", shape, 8)])


def answer(name: str, family: int, question: str, values: Array) -> Array:
    return getattr(families(PROBLEMS[name])[family], question)(values)


@pytest.mark.parametrize(("name", "family", "question"), CASES)
def test_history_and_company_do_not_matter(name: str, family: int, question: str) -> None:
    values = batch(PROBLEMS[name])
    expected = answer(name, family, question, values)
    reverse = answer(name, family, question, values[::-1].copy())[::-1]
    assert expected.tobytes() == np.ascontiguousarray(reverse).tobytes()

    solver = families(PROBLEMS[name])[family]
    for index in (3, 0, 17, 3, 12, 23):
        alone = getattr(solver, question)(values[index : index + 1])
        assert alone.tobytes() == expected[index : index + 1].tobytes()
        solver.relax(coefficients("smooth", (5, *values.shape[1:]), index))
        solver.decide(values[:4])


def digest() -> str:
    """A hash of all answers of all solvers; run in this process and in another."""
    answers = hashlib.sha256()
    for problem in PROBLEMS.values():
        for solver in families(problem):
            for question in QUESTIONS:
                answers.update(getattr(solver, question)(batch(problem)).tobytes())
    return answers.hexdigest()


def test_another_process_gives_the_same_bits() -> None:
    here = Path(__file__).parent
    other = subprocess.run(
        [sys.executable, "-c", "import test_solver_purity as t; print(t.digest())"],
        env={**os.environ, "PYTHONPATH": str(here), "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest()
