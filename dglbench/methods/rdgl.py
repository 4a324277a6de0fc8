"""The Dual-Guided Loss with prices that react, as methods: when their λ is renewed.

    −(1/G) y·z̃ + α·MSE,   gradient −J (y − A_Fᵀ w)/G,   w = (A_F J A_Fᵀ)⁻¹ A_F J y

The form is that of `dglbench.losses.reactive`; λ is always the dual of the smoothed problem at
τ, so both solver families lead to the same run up to rounding. Newton steps count as
``newton_steps`` and never as solves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.methods.base import Claims, LearningRate, Start
from dglbench.methods.dgl import DglAuto, DglEvery, DglNone, _DualGuided

__all__ = [
    "RdglAuto",
    "RdglAutoOptions",
    "RdglEvery",
    "RdglEveryOptions",
    "RdglNewton",
    "RdglNewtonOptions",
    "RdglNone",
    "RdglOptions",
    "RdglStep",
]


@dataclass(frozen=True)
class RdglOptions:
    """Options that all variants share."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    tau: Annotated[float, Gt(0), Doc("temperature of the softmax, in scaled label units")] = 0.1
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0


class _Reactive(_DualGuided):
    """Prices react, and belong to the smoothed problem."""

    group: ClassVar[str] = "prices that react"
    Options: ClassVar[type[Any]] = RdglOptions
    dual_rule: ClassVar[str | None] = "smoothed"

    def _form(self) -> str:
        return "reactive"


class RdglNone(_Reactive, DglNone):
    """Prices from the true labels, once.

    Solver calls: one per instance at set-up, none per step.
    """

    summary: ClassVar[str] = "dual-guided loss, prices that react, λ from the labels"
    claims: ClassVar[Claims] = Claims(of_loss=False)


@dataclass(frozen=True)
class RdglEveryOptions(RdglOptions):
    """Options of `RdglEvery`."""

    U: Annotated[int, Ge(1), Doc("refresh all duals every U epochs")] = 1


class RdglEvery(_Reactive, DglEvery):
    """Prices from the current predictions, for every instance, at epochs 0, U, 2U, …

    Solver calls: one per instance every U epochs, the first at set-up.
    """

    summary: ClassVar[str] = "dual-guided loss, prices that react, λ renewed every U epochs"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = RdglEveryOptions


@dataclass(frozen=True)
class RdglAutoOptions(RdglOptions):
    """Options of `RdglAuto`."""

    delta: Annotated[
        float,
        Ge(0),
        Doc("how far soft decisions may break a row, or leave it unused where λ > 0"),
    ] = 1.0


class RdglAuto(_Reactive, DglAuto):
    """Prices renewed only where soft decisions break a row, or leave it unused, by more than δ.

    Solver calls: one per instance at set-up, then only for misled instances.
    """

    summary: ClassVar[str] = "dual-guided loss, prices that react, λ renewed where it misleads"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = RdglAutoOptions


class RdglStep(_Reactive):
    """Prices renewed for the batch at every step.

    Solver calls: one per instance at set-up, and one per instance and step.
    """

    summary: ClassVar[str] = "dual-guided loss, prices that react, λ renewed at every step"

    def _rule(self) -> dict[str, Any]:
        return {"refresh": "step"}


@dataclass(frozen=True)
class RdglNewtonOptions(RdglOptions):
    """Options of `RdglNewton`."""

    lr: LearningRate = 0.03  # prices that follow every step bear longer steps than prices that wait
    steps: Annotated[int, Ge(1), Doc("Newton steps at every visit of an instance, at most")] = 1


class RdglNewton(_Reactive):
    """Prices followed by Newton steps at every visit, from where they were.

    Solver calls: one per instance at set-up, none after it.
    """

    summary: ClassVar[str] = "dual-guided loss, prices that react, λ followed by Newton steps"
    Options: ClassVar[type[Any]] = RdglNewtonOptions

    def _rule(self) -> dict[str, Any]:
        return {"refresh": "newton", "newton_steps": self.options.steps}
