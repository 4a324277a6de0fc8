"""A x, Aᵀλ and A J Aᵀ of every structure are those of its matrix."""

import numpy as np
import pytest
from class_cases import PROBLEMS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dglbench.problem import Problem
from dglbench.structure import ColumnSums


@pytest.mark.parametrize("structure", PROBLEMS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_three_operations_are_those_of_the_matrix(
    structure: str, data: st.DataObject, seed: int
) -> None:
    import torch

    problem: Problem = data.draw(PROBLEMS[structure]).take([2, 0, 1])
    alone = [problem.take([k]) if problem.rows_vary else problem for k in range(3)]
    A, rng = [one.matrix.toarray() for one in alone], np.random.default_rng(seed)
    z = rng.dirichlet(np.ones(problem.options), size=(3, problem.groups))
    duals = rng.normal(size=(3, problem.rows))
    flat = z.reshape(3, -1)
    expected = {
        "usage": np.stack([A[k] @ flat[k] for k in range(3)]),
        "prices": np.stack([duals[k] @ A[k] for k in range(3)]).reshape(z.shape),
        "curvature": np.zeros((3, problem.rows, problem.rows)),
    }
    for g in range(problem.groups):
        for k in range(3):
            part = A[k][:, g * problem.options : (g + 1) * problem.options]
            J = np.diag(z[k, g]) - np.outer(z[k, g], z[k, g])
            expected["curvature"][k] += part @ J @ part.T
    for name, answer in expected.items():
        given_ = duals if name == "prices" else z
        assert np.allclose(getattr(problem, name)(given_), answer)
        tensor = torch.tensor(given_, requires_grad=True)
        ours = getattr(problem.structure, name)(tensor)
        assert np.allclose(ours.detach().numpy(), answer)
        if name != "curvature":
            direction = torch.tensor(rng.normal(size=answer.shape))
            (gradient,) = torch.autograd.grad((ours * direction).sum(), tensor)
            other = "prices" if name == "usage" else "usage"
            assert np.allclose(gradient.numpy(), getattr(problem, other)(direction.numpy()))


@pytest.mark.parametrize("options", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_curve_as_their_matrix_says(options: int, absent: bool, weighted: bool) -> None:
    structure = ColumnSums(options - absent, 6, options)
    draws = np.random.default_rng(options)
    z = draws.dirichlet(np.ones(options), size=(4, 6))
    weight = draws.random((4, 6)) if weighted else np.ones((4, 6))
    A = structure.matrix.toarray()
    for k, found in enumerate(structure.curvature(z, weight if weighted else None)):
        J = np.zeros((6 * options, 6 * options))
        for g in range(6):
            part = slice(g * options, (g + 1) * options)
            J[part, part] = weight[k, g] * (np.diag(z[k, g]) - np.outer(z[k, g], z[k, g]))
        assert np.allclose(found, A @ J @ A.T, rtol=1e-12, atol=1e-14)
    assert np.allclose(structure.usage(z), (A @ z.reshape(4, -1).T).T, rtol=1e-14)


@given(
    A=hnp.arrays(float, (2, 3, 2), elements=st.floats(0, 9)),
    x=hnp.arrays(float, (4, 3, 2), elements=st.floats(0, 1)),
    duals=hnp.arrays(float, (4, 2), elements=st.floats(0, 9)),
)
def test_usage_and_prices_are_adjoint(A, x, duals):
    problem = Problem.build(A, [100, 100])
    by_rows = (problem.usage(x) * duals).sum(axis=1)
    by_options = (problem.prices(duals) * x).sum(axis=(1, 2))
    assert np.allclose(by_rows, by_options)
