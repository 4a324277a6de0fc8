"""Whether solver, method, predictor and protocol of a run fit its data, checked before any work."""

from __future__ import annotations

from dglbench.errors import OptionError
from dglbench.plugins import find_method, find_task
from dglbench.predictors.choice import check_predictor
from dglbench.solvers import make_solver
from dglbench.task import Dataset
from dglbench.training.spec import RunSpec

__all__ = ["check_fit"]


def check_fit(spec: RunSpec, dataset: Dataset) -> None:
    """Raise a `DglbenchError` of one sentence if a run cannot be made on these data.

    The solver, the method or the predictor may refuse them; an epoch chosen by validation needs
    instances to validate on.
    """
    task, problem = find_task(spec.data.task), dataset.problem
    if spec.protocol.choose == "best" and not len(dataset.rows("val")):
        raise OptionError(
            f"{spec.data.setting_name} has no validation instances, so no epoch can be chosen by "
            "them (choose=best); write --choose last, or give the data validation instances."
        )
    if spec.protocol.schedule == "plateau" and not len(dataset.rows("val")):
        raise OptionError(
            f"{spec.data.setting_name} has no validation instances for --schedule plateau to "
            "watch; take another schedule, or give the data validation instances."
        )
    if problem.rows_vary and spec.solver == "batched":
        raise OptionError(
            f"in {spec.data.setting_name} what options use (A) differs by instance, which the "
            f"{spec.solver} solver does not take; use --solver ortools."
        )
    make_solver(spec.solver, task, problem)
    predictor = check_predictor(spec.predictor, task, dataset, spec.data.setting_name)
    if predictor.fitted and spec.method != predictor.name:
        raise OptionError(
            f"predictor {predictor.name} is fitted by the method {predictor.name} alone, so "
            f"{spec.method} cannot train it; choose linear or mlp for {spec.method}, or the method "
            f"{predictor.name}."
        )
    for method in (spec.method, *([spec.lead_in.method] if spec.lead_in else [])):
        reason = find_method(method).cls.refuses(problem)
        if reason:
            raise OptionError(f"method {method} cannot handle {spec.data.setting_name}: {reason}")
