"""What every method is held to, on problems whose decisions can be listed.

====================  ==========================================================================
mirror                labels negated and the sense swapped: the same run, with mirrored weights
unit                  labels in another unit: the same run
gradient              equals central differences of the loss, if the method says it is its gradient
descent               a step against it lowers the regret of argmax_x (ŷ + noise)·x, exactly
                      enumerated, if the method says that it descends
perfect predictions   have gradient 0, if the method says so
====================  ==========================================================================

What a method says is `Method.claims`. A wrong sign fails ``descent`` or ``gradient``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from dglbench import options
from dglbench.conformance.probes import PROBES, Bench, Probe
from dglbench.conformance.runs import image_difference
from dglbench.plugins import MethodChoice, find_method
from dglbench.problem import Array

__all__ = ["CHECKS", "Outcome", "check_method"]

State = Literal["holds", "fails", "not claimed", "refused"]

_INSTANCES, _DIFFERENTIATED = 240, 3
_STEP = 0.3
"""Size of the step down, in standard deviations of the labels."""
_NOISE, _DRAWS = 0.5, 100
_WIDTHS = (1e-5, 1e-3, 1e-2)
"""Of central differences: the best of them counts, for losses in single precision or with kinks."""


class Outcome(NamedTuple):
    """One check on one problem."""

    check: str
    problem: str
    state: State
    measured: float | None = None
    bar: str = ""
    reason: str = ""
    """Why it fails or was refused, where a number does not say it."""


class _Case(NamedTuple):
    """A method on a probe."""

    choice: MethodChoice
    given: Mapping[str, Any]
    options: Any
    probe: Probe

    def bench(self, labels: Array, predictions: Array) -> Bench:
        return Bench(self.choice, self.options, self.probe, labels, predictions)

    def drawn(self, count: int) -> tuple[Array, Array]:
        """Labels, and predictions that are as wrong as labels vary."""
        labels = self.probe.values(count, "labels")
        return labels, labels + self.probe.values(count, "errors")


class _Measured(NamedTuple):
    figure: float
    bar: str
    holds: bool


def check_method(name: str, given: Mapping[str, Any] | None = None) -> Iterator[Outcome]:
    """Check a method by its name, with its defaults or other options."""
    choice = find_method(name)
    asked = {**choice.from_name, **(given or {})}
    case_options = options.parse(choice.cls.Options, asked, owner=f"method {choice.name}")
    for probe in PROBES:
        case = _Case(choice, given or {}, case_options, probe)
        refused = choice.cls.refuses(probe.problem)
        for check, (claim, measure) in CHECKS.items():
            if refused:
                yield Outcome(check, probe.name, "refused", reason=refused)
            elif claim is not None and not getattr(choice.cls.claims, claim):
                yield Outcome(check, probe.name, "not claimed")
            else:
                yield _outcome(check, case, measure)


def _outcome(check: str, case: _Case, measure: Callable[[_Case], _Measured]) -> Outcome:
    try:
        figure, bar, holds = measure(case)
    except Exception as error:  # a method may fail in any way: that is its outcome
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Outcome(check, case.probe.name, "fails", reason=reason)
    return Outcome(check, case.probe.name, "holds" if holds else "fails", figure, bar)


def _image(factor: float, bar: float = 1e-6) -> Callable[[_Case], _Measured]:
    def measure(case: _Case) -> _Measured:
        found = image_difference(case.choice, case.given, case.probe, factor)
        return _Measured(found, f"≤ {bar:g}", found <= bar)

    return measure


def _gradient(case: _Case, bar: float = 0.01) -> _Measured:
    """Compare with central differences, relative to the length of the gradient."""
    labels, predictions = case.drawn(_INSTANCES)
    steepness = np.abs(case.bench(labels, predictions).gradient(predictions)).sum(axis=(1, 2))
    steepest = np.argsort(-steepness, kind="stable")[:_DIFFERENTIATED]
    labels, predictions = labels[steepest], predictions[steepest]
    bench = case.bench(labels, predictions)
    gradient = bench.gradient(predictions)
    length = max(float(np.linalg.norm(gradient)), 1e-12)
    places = np.argwhere(np.broadcast_to(case.probe.problem.predicted, labels.shape))
    errors = []
    for width in _WIDTHS:
        differences = np.zeros_like(gradient)
        for place in map(tuple, places.tolist()):
            for sign in (1.0, -1.0):
                moved = predictions.copy()
                moved[place] += sign * width
                differences[place] += sign * bench.loss(moved) / (2 * width)
        errors.append(float(np.linalg.norm(differences - gradient)) / length)
        if errors[-1] <= bar:
            break
    return _Measured(min(errors), f"≤ {bar:g}", min(errors) <= bar)


def _descent(case: _Case, bar: float = -2.0) -> _Measured:
    """Compare a step down with the same step up, by the t statistic over instances."""
    labels, predictions = case.drawn(_INSTANCES)
    gradient = case.bench(labels, predictions).gradient(predictions)
    size = np.sqrt(np.square(gradient).mean(axis=(1, 2), keepdims=True))
    step = _STEP * gradient / np.where(size > 0, size, np.inf)  # of equal length where there is one

    def regret(at: Array) -> Array:
        return case.probe.smoothed_regret(labels, at, _NOISE, _DRAWS)

    down = regret(predictions - step)
    gained = down - regret(predictions + step)
    t = float(gained.mean() / max(gained.std(ddof=1), 1e-12) * np.sqrt(_INSTANCES))
    lower = bool(down.mean() < regret(predictions).mean())
    return _Measured(t, f"t ≤ {bar:g}", lower and t <= bar)


def _stationary(case: _Case, bar: float = 1e-6) -> _Measured:
    """Compare the gradient at the labels with that at wrong predictions."""
    labels, predictions = case.drawn(_INSTANCES)
    at_labels = float(np.linalg.norm(case.bench(labels, labels).gradient(labels)))
    elsewhere = float(np.linalg.norm(case.bench(labels, predictions).gradient(predictions)))
    share = at_labels / max(elsewhere, 1e-12)
    return _Measured(share, f"≤ {bar:g}", share <= bar)


CHECKS: dict[str, tuple[str | None, Callable[[_Case], _Measured]]] = {
    "mirror": (None, _image(-1.0)),
    "unit": (None, _image(7.0)),
    "gradient": ("of_loss", _gradient),
    "descent": ("descends", _descent),
    "perfect predictions": ("stationary", _stationary),
}
"""Check to the claim that it needs, if any, and what measures it."""
