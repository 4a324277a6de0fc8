"""PyEPO's losses, one method each: what it needs, its options, its solver calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.methods.base import Claims
from dglbench.methods.pyepo.base import PyepoMethod, PyepoOptions, Target

__all__ = [
    "Aimle",
    "Cmap",
    "Dbb",
    "Dpo",
    "Imle",
    "Ltr",
    "Nce",
    "Nid",
    "Pfyl",
    "Pg",
    "Rfwo",
    "Rfyl",
    "Spo",
]

Samples = Annotated[int, Ge(1), Doc("perturbed copies of an instance, each solved")]
Sigma = Annotated[float, Gt(0), Doc("size of a perturbation, in scaled label units")]
Interpolation = Annotated[float, Gt(0), Doc("how far the gradient looks along the target's own")]
TwoSides = Annotated[bool, Doc("look to both sides: a central difference, one more solve")]
Noise = Annotated[
    Literal["additive", "multiplicative"], Doc("how costs are perturbed; the latter keeps signs")
]
Kappa = Annotated[float, Gt(0), Doc("the sum-of-gamma noise: about how many options are chosen")]
Iterations = Annotated[int, Ge(1), Doc("most steps of Frank–Wolfe, each a solve of the batch")]
Gap = Annotated[float, Ge(0), Doc("Frank–Wolfe gap at which an instance is solved")]


class Spo(PyepoMethod):
    """SPO+ (Elmachtoub and Grigas 2022), as `dglbench.methods.spo`.

    Solver calls: one per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's SPO+; one solve per instance and step"
    claims: ClassVar[Claims] = Claims(stationary=True)
    module: ClassVar[str] = "SPOPlus"
    takes: ClassVar[tuple[str, ...]] = ("true_cost", "true_sol", "true_obj")


@dataclass(frozen=True)
class PgOptions(PyepoOptions):
    """Options of `Pg`."""

    sigma: Annotated[float, Gt(0), Doc("width of the finite difference along the labels")] = 0.1
    two_sides: TwoSides = False


class Pg(PyepoMethod):
    """Perturbation gradient (Gupta and Huang 2024).

    Solver calls: two per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's perturbation gradient; two solves per instance and step"
    claims: ClassVar[Claims] = Claims(stationary=True)
    Options: ClassVar[type[Any]] = PgOptions
    module: ClassVar[str] = "perturbationGradient"
    takes: ClassVar[tuple[str, ...]] = ("true_cost",)


@dataclass(frozen=True)
class DbbOptions(PyepoOptions):
    """Options of `Dbb`."""

    lambd: Interpolation = 10.0
    target: Target = "objective"


class Dbb(PyepoMethod):
    """Differentiable black box (Vlastelica et al. 2020).

    Solver calls: two per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's black-box gradient; two solves per instance and step"
    claims: ClassVar[Claims] = Claims(of_loss=False, stationary=True)
    Options: ClassVar[type[Any]] = DbbOptions
    module: ClassVar[str] = "blackboxOpt"


@dataclass(frozen=True)
class NidOptions(PyepoOptions):
    """Options of `Nid`."""

    target: Target = "objective"


class Nid(PyepoMethod):
    """Negative identity (Sahoo et al. 2023): the solver's derivative taken as ±1.

    Solver calls: one per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's negative identity; one solve per instance and step"
    claims: ClassVar[Claims] = Claims(of_loss=False, stationary=True)
    Options: ClassVar[type[Any]] = NidOptions
    module: ClassVar[str] = "negativeIdentity"


@dataclass(frozen=True)
class PfylOptions(PyepoOptions):
    """Options of `Pfyl`."""

    n_samples: Samples = 10
    sigma: Sigma = 1.0
    noise: Noise = "additive"


class Pfyl(PyepoMethod):
    """Perturbed Fenchel–Young loss (Berthet et al. 2020; multiplicative: Dalle et al. 2022).

    Solver calls: n_samples per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's perturbed Fenchel–Young loss; n_samples solves per instance"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = PfylOptions
    module: ClassVar[str] = "perturbedFenchelYoung"
    takes: ClassVar[tuple[str, ...]] = ("true_sol",)
    own: ClassVar[tuple[str, ...]] = (*PyepoMethod.own, "noise")

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        if options.noise == "multiplicative":
            self.module = f"{type(self).module}Mul"  # type: ignore[misc]  # this one's own

    def arguments(self, seed: int) -> dict[str, Any]:
        """See `PyepoMethod.arguments`."""
        return {**super().arguments(seed), "seed": seed}


@dataclass(frozen=True)
class DpoOptions(PfylOptions):
    """Options of `Dpo`."""

    variance_reduction: Annotated[bool, Doc("subtract the other samples' mean reward")] = True
    target: Target = "mse"


class Dpo(Pfyl):
    """Differentiable perturbed optimizer (Berthet et al. 2020).

    Solver calls: n_samples per instance and step.
    """

    summary: ClassVar[str] = "PyEPO's perturbed optimizer; n_samples solves per instance and step"
    Options: ClassVar[type[Any]] = DpoOptions
    module: ClassVar[str] = "perturbedOpt"
    takes: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class AimleOptions(PyepoOptions):
    """Options of `Aimle`."""

    n_samples: Samples = 10
    sigma: Sigma = 1.0
    kappa: Kappa = 5.0
    two_sides: TwoSides = False
    target: Target = "l1"


class Aimle(PyepoMethod):
    """Adaptive implicit maximum likelihood (Minervini et al. 2023).

    Solver calls: 2 n_samples per instance and step, 3 with two_sides.
    """

    summary: ClassVar[str] = "PyEPO's adaptive implicit MLE; 2 n_samples solves per instance"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = AimleOptions
    module: ClassVar[str] = "adaptiveImplicitMLE"
    own: ClassVar[tuple[str, ...]] = (*PyepoMethod.own, "kappa")

    def arguments(self, seed: int) -> dict[str, Any]:
        """See `PyepoMethod.arguments`."""
        from pyepo.func.utils import sumGammaDistribution

        noise = sumGammaDistribution(kappa=self.options.kappa, seed=seed)
        return {**super().arguments(seed), "distribution": noise}


@dataclass(frozen=True)
class ImleOptions(AimleOptions):
    """Options of `Imle`."""

    lambd: Interpolation = 10.0


class Imle(Aimle):
    """Implicit maximum likelihood (Niepert et al. 2021).

    Solver calls: 2 n_samples per instance and step, 3 with two_sides.
    """

    summary: ClassVar[str] = "PyEPO's implicit MLE; 2 n_samples solves per instance and step"
    Options: ClassVar[type[Any]] = ImleOptions
    module: ClassVar[str] = "implicitMLE"


@dataclass(frozen=True)
class RfylOptions(PyepoOptions):
    """Options of `Rfyl`: PyEPO's defaults, but for its 10,000 steps of Frank–Wolfe."""

    lambd: Annotated[float, Gt(0), Doc("quadratic regularisation, in scaled label units")] = 1.0
    max_iter: Iterations = 20
    tol: Gap = 1e-6


class Rfyl(PyepoMethod):
    """Fenchel–Young loss of the quadratic regulariser, by Frank–Wolfe (Dalle et al. 2022).

    Solver calls: 1 to 1 + max_iter per instance and step.
    """

    summary: ClassVar[str] = (
        "PyEPO's regularised Fenchel–Young loss; max_iter solves, its 10,000 cut to 20"
    )
    Options: ClassVar[type[Any]] = RfylOptions
    module: ClassVar[str] = "regularizedFrankWolfeFenchelYoung"
    takes: ClassVar[tuple[str, ...]] = ("true_sol",)


@dataclass(frozen=True)
class RfwoOptions(RfylOptions):
    """Options of `Rfwo`."""

    target: Target = "mse"


class Rfwo(PyepoMethod):
    """Quadratically regularised decisions, by Frank–Wolfe (Dalle et al. 2022).

    Solver calls: 1 to 1 + max_iter per instance and step.
    """

    summary: ClassVar[str] = (
        "PyEPO's regularised optimizer; max_iter solves per step, its 10,000 cut to 20"
    )
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = RfwoOptions
    module: ClassVar[str] = "regularizedFrankWolfeOpt"


class Nce(PyepoMethod):
    """Noise-contrastive estimation over known solutions (Mulamba et al. 2021).

    Solver calls: solve_ratio per instance and step, to find further solutions.
    """

    summary: ClassVar[str] = "PyEPO's contrastive loss; solve_ratio solves per instance and step"
    module: ClassVar[str] = "noiseContrastiveEstimation"
    takes: ClassVar[tuple[str, ...]] = ("true_sol",)
    pooled: ClassVar[bool] = True


class Cmap(Nce):
    """Contrastive MAP: the best known solution alone (Mulamba et al. 2021).

    Solver calls: solve_ratio per instance and step, to find further solutions.
    """

    summary: ClassVar[str] = "PyEPO's contrastive MAP; solve_ratio solves per instance and step"
    claims: ClassVar[Claims] = Claims(stationary=True)
    module: ClassVar[str] = "contrastiveMAP"


@dataclass(frozen=True)
class LtrOptions(PyepoOptions):
    """Options of `Ltr`."""

    ranking: Annotated[
        Literal["pointwise", "pairwise", "listwise"], Doc("how known solutions are ranked")
    ] = "pairwise"


class Ltr(PyepoMethod):
    """Learning to rank known solutions (Mandi et al. 2022).

    Solver calls: solve_ratio per instance and step, to find further solutions.
    """

    summary: ClassVar[str] = "PyEPO's learning to rank; solve_ratio solves per instance and step"
    claims: ClassVar[Claims] = Claims(stationary=True)
    Options: ClassVar[type[Any]] = LtrOptions
    module: ClassVar[str] = "pairwiseLearningToRank"
    takes: ClassVar[tuple[str, ...]] = ("true_cost",)
    own: ClassVar[tuple[str, ...]] = (*PyepoMethod.own, "ranking")
    pooled: ClassVar[bool] = True

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.module = f"{options.ranking}LearningToRank"  # type: ignore[misc]  # this one's own
