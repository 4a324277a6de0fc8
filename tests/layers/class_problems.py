"""Problems for layers: random ones of the whole class, and a few fixed ones of each structure."""

from __future__ import annotations

import numpy as np
from class_cases import PROBLEMS

from dglbench.problem import Problem

__all__ = ["PROBLEMS", "SHARED"]

_rng = np.random.default_rng(3)
_edges = [(u, v) for u in range(6) for v in range(u + 1, 6)]
SHARED = {
    "matching": Problem.assignment(8, [3, 3, 2]),
    "transport": Problem.assignment(6, [2, 2, 2], exactly=True),
    "knapsack": Problem.knapsack([3.0, 5, 7, 3, 5, 1], 11.0),
    "two-knapsacks": Problem.knapsack(_rng.integers(1, 9, size=(2, 7)), [14.0, 15.0]),
    "paths": Problem.paths(_edges, 0, 5),
    "top-k": Problem.top_k(7, 3),
}
