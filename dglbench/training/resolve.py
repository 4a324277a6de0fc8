"""From what a user asked to a full run spec, with every default filled in and checked.

Defaults come from the paper where it speaks: a task's TOML file gives the
protocol and the selected hyperparameters of each setting; a size the paper does
not have takes those of the nearest size it has. Whatever is given wins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dglbench import options
from dglbench.data.loading import load_dataset
from dglbench.errors import OptionError
from dglbench.plugins import (
    SOLVERS,
    MethodChoice,
    find_layer,
    find_method,
    find_plugin,
    find_setting,
    find_solver,
    find_task,
)
from dglbench.runs.code_hash import source_hash
from dglbench.task import Task, TaskSpec
from dglbench.training.cost_model import with_rhythm
from dglbench.training.lead_in import LeadIn
from dglbench.training.spec import Protocol, RunSpec

__all__ = [
    "lead_in_of",
    "named_setting",
    "paper_options",
    "resolve_data",
    "resolve_protocol",
    "resolve_run",
    "run_source",
]


def named_setting(name: str, given: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """Read a task or a setting such as ``matching-50``, with what else was given for it.

    A setting that the paper names brings all its settings there (its seeds are left
    to whoever asks); what was given wins, except over the size in the name.
    """
    task, size = find_setting(name)
    if size and "n" in given and str(given["n"]) != str(size["n"]):
        raise OptionError(
            f"{name} has its size in its name, so n={given['n']} cannot be set; "
            f"write {task.name}-{given['n']}, or {task.name} alone."
        )
    paper = task.paper().get("settings", {}).get(f"{task.name}-{size['n']}" if size else name, {})
    own = {key: value for key, value in paper.items() if key != "seeds"}
    return task, {**own, **given, **size}


def resolve_data(task: Task, given: Mapping[str, Any], seed: int) -> TaskSpec:
    """Check settings and seed."""
    if seed < 0:
        raise OptionError(f"the seed must be a whole number ≥ 0, got {seed}.")
    return TaskSpec(task.name, task.parse_settings(given), seed)


def resolve_protocol(task: Task, given: Mapping[str, Any]) -> Protocol:
    """Fill the protocol from the task's TOML file, then from what was given."""
    paper = task.paper()
    defaults = dict(paper.get("protocol", {}))
    defaults |= {f"warm_start_{key}": value for key, value in paper.get("warm_start", {}).items()}
    chosen = {**defaults, **{key: value for key, value in given.items() if value is not None}}
    return options.parse(Protocol, chosen, owner="the training protocol")


def resolve_run(
    data: TaskSpec,
    method: str,
    *,
    given_options: Mapping[str, Any],
    protocol: Protocol,
    solver: str = "ortools",
    threads: int = 1,
    data_digest: str | None = None,
    train_seed: int = 0,
    lead_in_options: Mapping[str, Any] | None = None,
) -> RunSpec:
    """Check a run and fill in everything that was left open."""
    task, choice, family = find_task(data.task), find_method(method), find_plugin(SOLVERS, solver)
    method, solver = choice.name, family.name  # as registered, however they were written
    if threads < 1:
        raise OptionError(f"--threads must be a whole number ≥ 1, got {threads}.")
    if train_seed < 0:
        raise OptionError(f"--train-seed must be a whole number ≥ 0, got {train_seed}.")
    fixed = set(choice.from_name) & set(given_options)
    if fixed:
        name = fixed.pop()
        raise OptionError(f"method {method} fixes {name} by its name; leave out {name}.")
    merged = {**paper_options(task, data, choice), **given_options, **choice.from_name}
    parsed = options.parse(choice.cls.Options, merged, owner=f"method {method}")
    if protocol.is_open:
        protocol = with_rhythm(protocol, load_dataset(data, data_digest))
    lead_in = lead_in_of(task, data, choice, lead_in_options or {})
    starts = choice.cls if lead_in is None else find_method(lead_in.method).cls
    if not starts.warm_starts:
        protocol = dataclasses.replace(protocol, warm_start=False)
    return RunSpec(
        data=data,
        method=method,
        options=parsed,
        solver=solver,
        dual_rule=choice.cls.dual_rule or family.target.dual_rule,
        protocol=protocol,
        source=run_source(data.task, method, solver),
        data_digest=data_digest,
        threads=threads,
        train_seed=train_seed,
        lead_in=lead_in,
    )


def lead_in_of(
    task: Task, data: TaskSpec, choice: MethodChoice, given: Mapping[str, Any]
) -> LeadIn | None:
    """Fill in the options of the lead-in that a method's name asks for, if it does."""
    if choice.lead_in is None:
        if given:
            raise OptionError(f"{choice.name} has no lead-in to take options; leave them out.")
        return None
    first = find_method(choice.lead_in.method)
    owner = f"the lead-in {first.name}"
    if fixed := set(first.from_name) & set(given):
        raise OptionError(f"{owner} fixes {min(fixed)} by its name; leave it out.")
    merged = {**paper_options(task, data, first), **given, **first.from_name}
    return LeadIn(
        first.name, choice.lead_in.epochs, options.parse(first.cls.Options, merged, owner=owner)
    )


def paper_options(task: Task, data: TaskSpec, choice: MethodChoice) -> dict[str, Any]:
    """Return the hyperparameters that the task's file has for a method at the nearest size.

    Without any, the rate is that of the task's warm start: it suits the unit of the labels.
    """
    paper = task.paper()
    return _selected(paper.get("selected", {}), data, choice) or {
        name: value for name, value in paper.get("warm_start", {}).items() if name == "lr"
    }


def _selected(selected: Mapping[str, Any], data: TaskSpec, choice: MethodChoice) -> dict[str, Any]:
    sizes = {name: int(name.rpartition("-")[2]) for name in selected}
    if not sizes:
        return {}
    nearest = min(sizes, key=lambda name: (abs(sizes[name] - data.settings.n), sizes[name]))
    table: dict[str, dict[str, Any]] = selected[nearest]
    name = choice.own_name
    family = f"{name.rpartition('-')[0]}-U" if choice.from_name else name
    return dict(table.get(name, table.get(family, {})))


def run_source(task: str, method: str, solver: str) -> str:
    """Hash the code that computes a run: training itself, and the classes that take part."""
    choice = find_method(method)
    classes = [choice.cls]
    if choice.lead_in is not None:
        classes.append(find_method(choice.lead_in.method).cls)
    layers = [find_layer(name) for cls in classes for name in cls.layers]
    return source_hash(
        "dglbench.training.train", type(find_task(task)), *classes, find_solver(solver), *layers
    )
