"""Problems small enough to enumerate, and a method on one of them without a training loop."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.clock import Clock, Ledger, Meter
from dglbench.layers import MeteredLayer
from dglbench.losses.batch import Batch, Constraints, goes_with
from dglbench.methods.base import Method, Training
from dglbench.plugins import MethodChoice, find_layer
from dglbench.problem import Array, Problem
from dglbench.solvers import solver_for
from dglbench.solvers.metered import MeteredSolver
from dglbench.streams import stream

if TYPE_CHECKING:
    import torch

__all__ = ["PROBES", "Bench", "Probe"]


@dataclass(frozen=True)
class Probe:
    """A problem whose decisions can all be listed."""

    name: str
    problem: Problem
    arrays: Mapping[str, Any]
    """A, b and groups as an import takes them, without features and labels."""

    def values(self, count: int, *words: str) -> Array:
        """Draw option values (count, G, S) of mean 0 and standard deviation 1."""
        drawn = stream(0, "conformance", self.name, *words).normal(
            size=(count, *self.problem.shape)
        )
        return np.where(self.problem.predicted & self.problem.mask, drawn, 0.0)

    @cached_property
    def decisions(self) -> Array:
        """(N, G, S): every feasible decision."""
        groups, options = self.problem.shape
        picks = itertools.product(range(options), repeat=groups)
        every = np.eye(options)[np.array(list(picks))]
        room = self.problem.b - self.problem.usage(every)
        fits = np.where(self.problem.equality, np.abs(room) < 1e-9, room > -1e-9).all(axis=1)
        found: Array = every[fits]
        return found

    def smoothed_regret(self, labels: Array, predictions: Array, sigma: float, draws: int) -> Array:
        """(K,): the mean regret of the best decision for ŷ + σ·noise, the same noise each time."""
        listed = self.decisions.reshape(len(self.decisions), -1)
        worth = labels.reshape(len(labels), -1) @ listed.T
        noise = stream(0, "conformance", self.name, "noise")
        total = np.zeros(len(labels))
        for _ in range(draws):
            moved = predictions + sigma * noise.normal(size=predictions.shape)
            moved = np.where(self.problem.predicted, moved, 0.0).reshape(len(labels), -1)
            taken = (moved @ listed.T).argmax(axis=1)
            total += worth.max(axis=1) - worth[np.arange(len(labels)), taken]
        return total / draws


def _assignment() -> Probe:
    capacities, groups = np.array([2.0, 2.0, 2.0]), 5
    A = np.broadcast_to(np.eye(3)[:, None, :], (3, groups, 3))
    return Probe(
        "assignment",
        Problem.assignment(groups, capacities),
        {"A": np.array(A), "b": capacities},
    )


def _two_rows() -> Probe:
    weights = np.array([[3.0, 5, 7, 3, 5, 4], [4.0, 2, 3, 6, 5, 3]])
    b = np.array([13.0, 11.0])
    return Probe("knapsack", Problem.knapsack(weights, b), {"A": weights, "b": b})


_CALLS = 10

PROBES = (_assignment(), _two_rows())


class Bench:
    """A method that is ready for `loss`, on instances whose predictions are given directly."""

    def __init__(
        self, choice: MethodChoice, options: Any, probe: Probe, labels: Array, predictions: Array
    ) -> None:
        import torch

        problem = probe.problem
        self.probe, self._labels = probe, torch.from_numpy(labels)
        self._now = torch.from_numpy(predictions)
        self.method: Method = choice.cls(options)
        meter = Meter(Clock(), Ledger())
        self.method.prepare(
            Training(
                constraints=Constraints(problem),
                labels=self._labels,
                solver=MeteredSolver(solver_for(problem), meter),
                predict=lambda: self._now,
                meter=meter,
                layer=lambda name, **own: MeteredLayer(find_layer(name)(problem, **own), meter),
                parameter_labels=self._packed(self._labels),
                draws=lambda name: stream(0, "conformance", name),
            )
        )
        self.method.start_epoch(0)

    def loss(self, predictions: Array) -> float:
        """Return the loss of all instances."""
        import torch

        return float(self.method.loss(self._batch(torch.from_numpy(predictions))).detach())

    def gradient(self, predictions: Array) -> Array:
        """Return its gradient (K, G, S), as training takes it; the mean of several that differ."""
        found = [self._gradient(predictions) for _ in range(2)]
        if not np.array_equal(found[0], found[1]):
            found += [self._gradient(predictions) for _ in range(_CALLS - 2)]
        mean: Array = np.mean(found, axis=0)
        return np.where(self.probe.problem.predicted & self.probe.problem.mask, mean, 0.0)

    def _gradient(self, predictions: Array) -> Array:
        import torch

        inputs = torch.from_numpy(predictions.copy())
        if goes_with(type(self.method), "loss", "loss_and_gradient"):
            known = self.method.loss_and_gradient(self._batch(inputs))
            if known is not None:
                return np.array(known[1])
        inputs.requires_grad_()
        (slope,) = torch.autograd.grad(self.method.loss(self._batch(inputs)), inputs)
        return np.array(slope)

    def _batch(self, predictions: torch.Tensor) -> Batch:
        import torch

        packed = (self._packed(predictions), self._packed(self._labels))
        return Batch(torch.arange(len(predictions)), predictions, self._labels, *packed)

    def _packed(self, values: torch.Tensor) -> torch.Tensor:
        """Return the parameters behind option values, which are those themselves or *take*."""
        return values if self.probe.problem.value_map.matrix is None else values[:, :, 0]
