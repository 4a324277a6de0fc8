"""The commands behind the logs: what would make them again, and what would make them comparable."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dglbench.errors import DglbenchError, PluginError
from dglbench.plugins import find_method, find_task
from dglbench.report.load import Report, Run, Unit
from dglbench.task import TaskSpec
from dglbench.training.resolve import paper_options

__all__ = ["configs", "reproduce", "retime", "train_command"]

_FLAGS = ("lr", "tau", "alpha", "mu", "delta")
_UNSAID = {"evaluate_every": 1}
_ALWAYS = ("lr", "tau", "alpha")  # left out, these would be the paper's


def train_command(run: Run, out: str = "results") -> str:
    """Return the `dglbench train` line whose run has this run's identity."""
    identity = run.identity
    protocol: Mapping[str, Any] = identity.get("protocol") or {}
    words = ["dglbench", "train", run.unit.task]
    if run.unit.data_digest is None:
        words += ["--n", str(run.unit.n), "--seed", str(run.unit.seed)]
        words += _settings(run.unit)
    else:
        words += ["--data", f"DATASET-{run.unit.data_digest[:6]}.parquet"]
    words += ["--method", run.method, *_options(run)]
    words += ["--solver", run.unit.solver]
    for name in ("epochs", "batch_size"):
        if name in protocol:
            words += [f"--{name.replace('_', '-')}", str(protocol[name])]
    if protocol.get("patience") is not None:
        words += ["--patience", str(protocol["patience"])]
    if protocol.get("evaluate_every", 1) != _UNSAID["evaluate_every"]:
        words += ["--evaluate-every", str(protocol["evaluate_every"])]
    if protocol.get("warm_start") is False and run.method != "two-stage":
        words.append("--no-warm-start")
    if identity.get("threads", 1) != 1:
        words += ["--threads", str(identity["threads"])]
    return shlex.join([*words, "--out", out])


def retime(report: Report, unit: Unit) -> str:
    """Return the command that times a unit's chosen configurations under equal conditions.

    It writes to another folder: the runs are there already, and how busy the
    machine was is no part of what makes a run the same run.
    """
    runs = report.chosen_runs(unit)
    words = ["dglbench", "sweep", "--tasks", unit.base, "--seeds", str(unit.seed)]
    words += ["--methods", ",".join(run.method for run in runs), *_settings(unit)]
    for run in runs:
        paper = _paper(run)
        words += [
            word
            for name, value in _given(run).items()
            if name not in paper or paper[name] != value
            for word in ("--option", f"{run.method}.{name}={_written(value)}")
        ]
    for name in ("epochs", "batch_size", "patience", "evaluate_every"):
        values = {run.identity["protocol"].get(name) for run in runs}
        if len(values) == 1 and (value := values.pop()) not in (None, _UNSAID.get(name)):
            words += [f"--{name.replace('_', '-')}", str(value)]
    out = f"{str(report.folder).rstrip('/')}-timed"
    return shlex.join([*words, "--solver", unit.solver, "--jobs", "1", "--out", out])


def reproduce(report: Report) -> list[str]:
    """Return the commands that make these logs again.

    The sweeps', and one for each chosen run that no sweep accounts for.
    """
    sweeps = [
        shlex.join(["dglbench", "sweep", "--config", file.name, "--out", "results"])
        for file in configs(report)
    ]
    groups = [group for sweep in report.sweeps for group in sweep.get("groups") or []]
    swept = {group.get("run_id") for group in groups if isinstance(group, Mapping)}
    others = [run for run in report.chosen_runs() if not sweeps or run.run_id not in swept]
    return sweeps + [train_command(run) for run in others]


def configs(report: Report) -> list[Path]:
    """Return the files in which sweeps keep themselves, to be run again as they are."""
    return sorted(report.folder.glob("sweep-*.toml"))


def _settings(unit: Unit) -> list[str]:
    """Return --set for each setting that is not the task's default."""
    try:
        defaults = _defaults(find_task(unit.task).Settings)
    except PluginError:
        defaults = {}
    return [
        word
        for name, value in unit.settings.items()
        if name != "n" and (name not in defaults or _plain(value) != _plain(defaults[name]))
        for word in ("--set", f"{name}={_written(value)}")
    ]


def _options(run: Run) -> list[str]:
    return [
        word
        for name, value in _given(run).items()
        for word in (
            (f"--{name}", _written(value))
            if name in _FLAGS
            else ("--option", f"{name}={_written(value)}")
        )
    ]


def _given(run: Run) -> dict[str, Any]:
    """Return the options one has to give: not what the name fixes, nor a method's own defaults."""
    try:
        choice = find_method(run.method)
        defaults, fixed = _defaults(choice.cls.Options), set(choice.from_name)
    except PluginError:
        defaults, fixed = {}, set()
    return {
        name: value
        for name, value in run.options.items()
        if name not in fixed and (name in _ALWAYS or defaults.get(name, ...) != value)
    }


def _paper(run: Run) -> dict[str, Any]:
    """Return the options a run gets when none are given."""
    try:
        task, choice = find_task(run.unit.task), find_method(run.method)
        settings = task.parse_settings(dict(run.unit.settings))
    except DglbenchError:
        return {}
    return paper_options(task, TaskSpec(run.unit.task, settings, run.unit.seed), choice)


def _defaults(cls: Any) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(cls)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _written(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(str(part) for part in value)
    return "none" if value is None else str(value)
