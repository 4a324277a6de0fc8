"""The runs of a resolved sweep: every configuration on every dataset, spelled out."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dglbench.data.loading import identify
from dglbench.errors import OptionError
from dglbench.plugins import WITH, find_layer, find_method, find_solver, find_task
from dglbench.predictors.choice import default_predictor, find_predictor
from dglbench.runs.code_hash import source_hash
from dglbench.runs.record import Identity
from dglbench.sweep.request.method_plan import MethodPlan
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.resolve import Sweep, resolve
from dglbench.sweep.request.settings import Setting
from dglbench.sweep.request.space import Axis
from dglbench.task import Dataset, TaskSpec
from dglbench.training.spec import RunSpec, protocol_of

__all__ = [
    "Group",
    "make_groups",
    "one_spec",
    "repeated_specs",
    "request_like",
    "run_source",
    "single_run",
]


@dataclass(frozen=True)
class Group:
    """One method on one dataset, with the configurations that are known before anything runs.

    A search over several data seeds is one group; ``data`` is the first of its datasets.
    """

    data: TaskSpec
    method: str
    solver: str
    specs: tuple[RunSpec, ...]
    train_seed: int = 0
    space: Mapping[str, Axis] = field(default_factory=dict)
    """What is searched."""
    trials: int = 0
    """How many configurations ``random`` and ``optuna`` try."""
    tuned: Mapping[str, Any] | None = None
    """A description of the search that chose the configuration, where it was made elsewhere."""
    tuning_data: tuple[tuple[TaskSpec, str | None], ...] = ()
    """The datasets of a search over several data seeds, each with its content hash."""

    @property
    def predictor(self) -> str:
        """What is trained."""
        return self.specs[0].predictor

    @property
    def label(self) -> str:
        """The method, with its predictor where that is neither the task's default nor its own."""
        usual = (default_predictor(find_task(self.data.task)), self.method)
        return self.method if self.predictor in usual else f"{self.method}{WITH}{self.predictor}"


def make_groups(sweep: Sweep) -> list[list[Group]]:
    """Spell out every configuration; the groups of one dataset stand together."""
    units: list[list[Group]] = []
    seen: set[str] = set()
    trials = sweep.trials or 0
    for setting in sweep.settings:
        bases = [(plan, _configurations(sweep, setting, plan)) for plan in setting.methods]
        if setting.tune_seeds:
            new = [(plan, specs) for plan, specs in bases if specs[0].run_id not in seen]
            seen |= {specs[0].run_id for _, specs in new}
            units += [_tuning_groups(sweep, setting, new)] if new else []
            continue
        for seed in setting.seeds:
            data = TaskSpec(setting.task, setting.settings, seed)
            content = setting.data_digest or identify(data)
            for train_seed in setting.train_seeds:
                unit = []
                for plan, specs in bases:
                    # What draws nothing needs no repeats: its run is the same one, made once.
                    repeat = 0 if find_method(plan.name).cls.fits else train_seed
                    here = [
                        dataclasses.replace(spec, data=data, data_digest=content, train_seed=repeat)
                        for spec in specs
                    ]
                    fresh = tuple(spec for spec in here if spec.run_id not in seen)
                    seen |= {spec.run_id for spec in fresh}
                    if fresh:
                        tuned = setting.tuned.get(plan.name)
                        rest = (fresh, repeat, plan.space, trials, tuned)
                        unit.append(Group(data, plan.name, sweep.solver, *rest))
                if unit:
                    units.append(unit)
    return units


def _tuning_groups(
    sweep: Sweep, setting: Setting, bases: Sequence[tuple[MethodPlan, list[RunSpec]]]
) -> list[Group]:
    """Return one group per method, over all tuning data seeds of a setting."""
    datasets = []
    for seed in setting.tune_seeds:
        data = TaskSpec(setting.task, setting.settings, seed)
        datasets.append((data, setting.data_digest or identify(data)))
    data, digest = datasets[0]
    return [
        Group(
            data,
            plan.name,
            sweep.solver,
            tuple(dataclasses.replace(spec, data=data, data_digest=digest) for spec in specs),
            space=plan.space,
            trials=sweep.trials or 0,
            tuning_data=tuple(datasets),
        )
        for plan, specs in bases
    ]


def single_run(
    task: str | Dataset,
    method: str,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 25,
    options: Mapping[str, Any] | None = None,
    solver: str = "ortools",
    threads: int = 1,
    train_seed: int = 0,
    predictor: str | None = None,
    diagnostics: bool = False,
    **protocol: Any,
) -> RunSpec:
    """Resolve one run from plain values, as every other request is resolved."""
    request = Request(
        methods=(method,),
        set=settings or {},
        option={method: options or {}},
        solver=solver,
        threads=threads,
        train_seeds=(train_seed,),
        predictor=None if predictor is None else (predictor,),
        diagnostics=diagnostics,
        protocol=protocol,
    )
    if isinstance(task, Dataset):
        request = dataclasses.replace(request, dataset=task)
    else:
        request = dataclasses.replace(request, tasks=(task,), seeds=(seed,))
    return one_spec([request])


def one_spec(requests: Sequence[Request]) -> RunSpec:
    """Resolve requests that ask for one method on one dataset."""
    return make_groups(resolve(requests))[0][0].specs[0]


def repeated_specs(requests: Sequence[Request]) -> list[RunSpec]:
    """Resolve requests that ask for one method on one dataset, once per training seed."""
    return [unit[0].specs[0] for unit in make_groups(resolve(requests))]


def request_like(identity: Identity, *, other_data: bool = False) -> Request:
    """Return the request whose run is asked what a recorded run was asked.

    With ``other_data``, its settings and seed are left to the data that replace its own.
    """
    choice = find_method(identity.method)
    lead_in: dict[str, Any] = {}
    if identity.lead_in is not None:
        fixed = find_method(identity.lead_in["method"]).from_name
        lead_in = {k: v for k, v in identity.lead_in["options"].items() if k not in fixed}
    own = {k: v for k, v in identity.options.items() if k not in choice.from_name}
    return Request(
        origin="the run to repeat",
        tasks=(identity.task,),
        methods=(identity.method,),
        set={} if other_data else dict(identity.settings),
        seeds=(identity.seed,),
        option={choice.own_name: own},
        lead_in_option={identity.method: lead_in},
        protocol=asdict(identity.protocol),
        solver=identity.solver,
        threads=identity.threads,
        train_seeds=(identity.train_seed,),
        predictor=None if choice.cls.fits else (identity.predictor,),
    )


def run_source(task: str, method: str, solver: str, predictor: str) -> str:
    """Hash the code that computes a run: training itself, and the classes that take part."""
    choice = find_method(method)
    classes = [choice.cls]
    if choice.lead_in is not None:
        classes.append(find_method(choice.lead_in.method).cls)
    layers = [find_layer(name) for cls in classes for name in cls.layers]
    return source_hash(
        "dglbench.training.train",
        type(find_task(task)),
        type(find_predictor(predictor)),
        *classes,
        find_solver(solver),
        *layers,
    )


def _configurations(sweep: Sweep, setting: Setting, plan: MethodPlan) -> list[RunSpec]:
    """Return the configurations of a grid; other searches begin with the plan's own options."""
    grid = plan.space if sweep.search == "full" else {}
    choice = find_method(plan.name)
    predictor = plan.name if choice.cls.fits else setting.predictor
    base = RunSpec(
        data=TaskSpec(setting.task, setting.settings, setting.seeds[0]),
        method=plan.name,
        options=plan.options,
        solver=sweep.solver,
        dual_rule=choice.cls.dual_rule or find_solver(sweep.solver).dual_rule,
        protocol=protocol_of(choice.cls, setting.protocol),
        source=run_source(setting.task, plan.name, sweep.solver, predictor),
        threads=sweep.threads,
        lead_in=plan.lead_in,
        predictor=predictor,
        diagnostics=sweep.diagnostics,
    )
    specs = []
    for values in itertools.product(*grid.values()):  # type: ignore[arg-type]  # lists, no ranges
        chosen = dict(zip(grid, values, strict=True))
        try:
            changed = dataclasses.replace(base.options, **chosen)
        except ValueError as error:  # a rule across options
            raise OptionError(f"method {plan.name} with {chosen}: {error}") from error
        specs.append(dataclasses.replace(base, options=changed))
    return specs
