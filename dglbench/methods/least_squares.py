"""Least squares: the linear model with the lowest squared error, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge
from typing_extensions import Doc

from dglbench.layout import Table
from dglbench.methods.base import Fitting
from dglbench.methods.fitted import FittedMethod
from dglbench.problem import Array

__all__ = ["LeastSquares", "LeastSquaresOptions", "Line", "solve"]


@dataclass(frozen=True)
class LeastSquaresOptions:
    """Options of `LeastSquares`."""

    ridge: Annotated[
        float, Ge(0), Doc("penalty on squared weights of standardised features; not on intercepts")
    ] = 0.0


class Line(NamedTuple):
    """z_j = shared · s + own_j · x + intercept_j."""

    shared: Array
    """(S,): one weight for all outputs."""
    own: Array
    """(outputs, F)."""
    intercept: Array
    """(outputs,)."""


class LeastSquares(FittedMethod):
    """min Σ (z − W x − c)² + ridge · ‖W‖² over the labels that count, then optimise.

    The labels themselves are fitted, also where networks end in a sigmoid: the closed form has
    none. Of a pair, features that act alike on every output get one weight, as in `linear`.
    Where several solutions are equal, the one with the smallest weights is taken.

    Solver calls: none.
    """

    summary: ClassVar[str] = "linear model in closed form; no solver, no epochs"
    Options: ClassVar[type[Any]] = LeastSquaresOptions

    def fit(self, fitting: Fitting) -> None:
        """Solve for the weights and set them."""
        import torch

        line = solve(fitting.table("train"), fitting.shared, self.options.ridge)
        own = {"weight": torch.from_numpy(line.own), "bias": torch.from_numpy(line.intercept)}
        if fitting.shared:
            own = {f"own.{name}": weights for name, weights in own.items()}
            own["shared.weight"] = torch.from_numpy(line.shared[None])
        fitting.network.load_state_dict(own)


def solve(table: Table, shared: int, ridge: float = 0.0) -> Line:
    """Solve for all outputs; the first ``shared`` features have one weight for all of them.

    What the features of its own and the intercept explain of an output is taken from labels and
    shared features alike; the rest of both decides the shared weights (Frisch, Waugh and Lovell).
    """
    inputs, targets, counted = table
    alike, own = inputs[:, :shared], inputs[:, shared:]
    together = counted.all()
    outputs = targets.shape[1]
    blocks = [np.arange(outputs)] if together else [np.array([j]) for j in range(outputs)]
    systems = []
    for block in blocks:
        rows = slice(None) if together else counted[:, block[0]]
        systems.append(_System(own[rows], alike[rows], targets[rows][:, block], ridge))
    weights = _shared_weights(systems, shared, ridge)
    found = np.concatenate([system.own(weights) for system in systems], axis=1)
    return Line(weights, found[1:].T, found[0])


class _System:
    """Outputs that are observed on the same rows: their design, and what it leaves unexplained."""

    def __init__(self, own: Array, alike: Array, targets: Array, ridge: float) -> None:
        features = own.shape[1]
        penalty = np.sqrt(ridge) * np.eye(features + 1)[1:]  # none on the intercept
        nothing = np.zeros((features, alike.shape[1] + targets.shape[1]))
        self._design = np.vstack([np.hstack([np.ones((len(own), 1)), own]), penalty])
        self._right = np.vstack([np.hstack([alike, targets]), nothing])
        self._explained = np.linalg.lstsq(self._design, self._right, rcond=None)[0]
        self._shared = alike.shape[1]

    def left(self) -> tuple[Array, Array]:
        """Return shared features and the mean target, both without what the design explains.

        All its outputs have the same shared features, so their mean stands for all of them.
        """
        rest = self._right - self._design @ self._explained
        number = rest.shape[1] - self._shared
        share = np.sqrt(number)
        return share * rest[:, : self._shared], share * rest[:, self._shared :].mean(axis=1)

    def own(self, weights: Array) -> Array:
        """(1 + F, outputs): intercepts and weights, given those of shared features."""
        alike, targets = np.split(self._explained, [self._shared], axis=1)
        found: Array = targets - (alike @ weights)[:, None]
        return found


def _shared_weights(systems: list[_System], shared: int, ridge: float) -> Array:
    if not shared:
        return np.zeros(0)
    parts = [system.left() for system in systems]
    design = np.vstack([*(features for features, _ in parts), np.sqrt(ridge) * np.eye(shared)])
    right = np.concatenate([*(targets for _, targets in parts), np.zeros(shared)])
    weights: Array = np.linalg.lstsq(design, right, rcond=None)[0]
    return weights
