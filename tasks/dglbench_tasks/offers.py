"""Offers: at most one offer to each customer, within a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from dglbench.layout import Kind, Link
from dglbench.problem import Array, Problem
from dglbench.streams import stream
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, split_sizes_to_rows

__all__ = ["Offers", "OffersSettings"]


@dataclass(frozen=True)
class OffersSettings:
    """How many customers, which offers, how much may be spent."""

    n: Annotated[int, Ge(1), Doc("customers of an instance")] = 40
    costs: Annotated[
        tuple[Annotated[int, Ge(1)], ...], Doc("what each offer costs, from small to large")
    ] = (2, 5, 10)
    budget_fraction: Annotated[
        float, Gt(0), Le(1), Doc("budget, as a fraction of the dearest offer to all")
    ] = 0.25
    features: Annotated[int, Ge(1), Doc("features of a customer")] = 5
    strength: Annotated[
        float, Ge(0), Doc("how much the response depends on the features, on the logit scale")
    ] = 1.5
    noise: Annotated[float, Ge(0), Doc("standard deviation of noise on the response's logit")] = 0.5
    train: Annotated[int, Ge(1), Doc("training instances")] = 400
    val: Annotated[int, Ge(1), Doc("validation instances")] = 100
    test: Annotated[int, Ge(1), Doc("test instances")] = 200

    def __post_init__(self) -> None:
        if not self.costs:
            raise ValueError("costs must name at least one offer, got none.")

    @property
    def budget(self) -> int:
        """What may be spent on all customers; enough for one offer at least."""
        part = math.floor(self.budget_fraction * self.n * max(self.costs) + 1e-9)
        return max(part, min(self.costs))


class Offers(Task):
    """Make the offers that bring most responses: a multiple-choice knapsack.

        maximise Σ r_is x_is   subject to   Σ cost_s x_is ≤ budget,   Σ_s x_is = 1

    Option 0 is *no offer*, which costs nothing and brings nothing. Customer i responds to
    offer s with probability

        r_is = sigmoid(l_s + strength · f_is + noise),   l_s = −2 + 1.5 log(cost_s / cost_1)

    where f_is is drawn once for each offer: coefficients ~ N(0, 1) on the features and on
    their absolute values, standardised over all customers. Features are N(0, 1). The
    predictor is a logistic regression for each offer and cannot express the absolute values.
    Larger offers work better and cost more, so where the budget goes is decided by slopes,
    which errors in the mean do not touch. The relaxation is fractional in one customer.
    """

    name: ClassVar[str] = "offers"
    summary: ClassVar[str] = "at most one offer per customer within a budget (synthetic)"
    integral: ClassVar[bool | None] = False
    sizes: ClassVar[tuple[int, ...]] = (40,)
    Settings: ClassVar[type[Any]] = OffersSettings
    rows: ClassVar[Kind | None] = "item"
    link: ClassVar[Link] = "sigmoid"

    def generate(self, settings: OffersSettings, seed: int) -> Dataset:
        """Draw customers and their responses."""
        sizes = (settings.train, settings.val, settings.test)
        shape = (sum(sizes), settings.n, settings.features)
        features = stream(seed, "offers", "features").standard_normal(shape)
        response = _response(features, settings, seed)
        constants = {"costs": list(settings.costs), "budget": settings.budget}
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, constants),
            constants=constants,
            features=features,
            labels=np.concatenate([np.zeros_like(response[..., :1]), response], axis=-1),
            split=split_sizes_to_rows(sizes, np.arange(sum(sizes))),
        )

    def problem(self, settings: OffersSettings, constants: Mapping[str, Any]) -> Problem:
        """One row: what the offers cost, at most the budget."""
        costs = np.array([0.0, *constants["costs"]])
        use = np.broadcast_to(costs, (1, settings.n, len(costs)))
        predicted = np.broadcast_to(costs > 0, use.shape[1:])
        return Problem.build(A=use, b=[constants["budget"]], predicted=predicted)

    def label_axis(self, settings: OffersSettings) -> LabelAxis:
        """Place each response at the cost of its offer."""
        return LabelAxis("cost of the offer", np.tile(settings.costs, settings.n))


def _response(features: Array, settings: OffersSettings, seed: int) -> Array:
    """Return r for all customers and offers, (K, n, offers)."""
    offers = len(settings.costs)
    inputs = np.concatenate([features, np.abs(features)], axis=-1)
    draws = stream(seed, "offers", "coefficients")
    appeal = inputs @ draws.standard_normal((inputs.shape[-1], offers))
    appeal -= appeal.mean(axis=(0, 1))
    spread = appeal.std(axis=(0, 1))
    appeal /= np.where(spread > 0, spread, 1.0)
    costs = np.asarray(settings.costs, dtype=np.float64)
    logits = -2.0 + 1.5 * np.log(costs / costs[0]) + settings.strength * appeal
    if settings.noise:
        noise = stream(seed, "offers", "noise").standard_normal(logits.shape)
        logits += settings.noise * noise
    response: Array = 0.5 * (1.0 + np.tanh(0.5 * logits))  # the sigmoid, stable for large logits
    return response
