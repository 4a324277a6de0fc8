"""The commands behind the logs: what would make them again, and what would make them comparable."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from dglbench.errors import PluginError
from dglbench.plugins import find_method, find_task
from dglbench.report.load import Report, Run, Unit

__all__ = ["reproduce", "retime", "train_command"]

_FLAGS = ("lr", "tau", "alpha", "mu", "delta")
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
    if protocol.get("evaluate_every", 1) != 1:
        words += ["--evaluate-every", str(protocol["evaluate_every"])]
    if protocol.get("warm_start") is False and run.method != "two-stage":
        words.append("--no-warm-start")
    if identity.get("threads", 1) != 1:
        words += ["--threads", str(identity["threads"])]
    return shlex.join([*words, "--out", out])


def retime(report: Report, unit: Unit) -> str:
    """Return the command that times all of a unit's methods under equal conditions.

    It writes to another folder: the runs are there already, and how busy the
    machine was is no part of what makes a run the same run.
    """
    methods = ",".join(run.method for run in report.chosen_runs(unit))
    out = f"{str(report.folder).rstrip('/')}-timed"
    words = ["dglbench", "sweep"]
    if len(configs := _configs(report)) == 1:
        words += ["--config", configs[0]]
    words += ["--tasks", unit.base, "--seeds", str(unit.seed), "--methods", methods]
    words += ["--solver", unit.solver, *_settings(unit), "--jobs", "1", "--out", out]
    return shlex.join(words)


def reproduce(report: Report) -> list[str]:
    """Return the commands that make these logs again: the sweeps', else one for each chosen run."""
    configs = _configs(report)
    if configs:
        return [
            shlex.join(["dglbench", "sweep", "--config", file, "--out", "results"])
            for file in configs
        ]
    return [train_command(run) for run in report.chosen_runs()]


def _configs(report: Report) -> list[str]:
    return [str(path) for path in sorted(report.folder.glob("sweep-*.toml"))]


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
    try:
        choice = find_method(run.method)
        defaults, fixed = _defaults(choice.cls.Options), set(choice.from_name)
    except PluginError:
        defaults, fixed = {}, set()
    words: list[str] = []
    for name, value in run.options.items():
        if name in fixed or (name not in _ALWAYS and defaults.get(name, ...) == value):
            continue
        words += (
            [f"--{name}", _written(value)]
            if name in _FLAGS
            else ["--option", f"{name}={_written(value)}"]
        )
    return words


def _defaults(cls: Any) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(cls)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _written(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(str(part) for part in value)
    return "none" if value is None else str(value)
