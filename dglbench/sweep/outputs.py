"""What a sweep leaves beside its runs: itself as TOML, its choices and budgets as JSON.

A search also leaves its choices as a sweep of their own. Tuning may run many at once
and on the fastest solvers; the chosen configurations are then timed alone.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dglbench import atomic, options
from dglbench.errors import RunError
from dglbench.plugins import find_method
from dglbench.runs.record import RunRecord
from dglbench.sweep.request.resolve import Setting, Sweep
from dglbench.sweep.request.tuned import tuned_entry
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.task import TaskSpec

__all__ = [
    "chosen_path",
    "config_path",
    "group_entry",
    "sweep_toml",
    "write_choices",
    "write_config",
]


def config_path(sweep: Sweep, out: Path) -> Path:
    """Return where the resolved sweep is kept."""
    return out / f"sweep-{sweep.digest}.toml"


def chosen_path(sweep: Sweep, out: Path) -> Path:
    """Return where the sweep of a search's choices is kept."""
    return out / f"chosen-{sweep.digest}.toml"


def sweep_toml(sweep: Sweep) -> str:
    """Return the sweep as the text of a ``--config`` file."""
    import tomlkit

    return tomlkit.dumps(_toml_values(sweep.document()))


def write_config(sweep: Sweep, out: Path) -> Path:
    """Save the resolved sweep, to be run again as it is."""
    path = config_path(sweep, out)
    _write_sweep(sweep, path, "A dglbench sweep, resolved.")
    return path


def write_choices(sweep: Sweep, out: Path, searches: Sequence[GroupSearch]) -> None:
    """Save the chosen run and the tuning budget of every group that is complete."""
    document = {
        "sweep": sweep.document(),
        "search": sweep.search,
        "groups": [group_entry(search) for search in searches if search.complete],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    _write(config_path(sweep, out).with_suffix(".json"), text)
    chosen = _chosen(sweep, searches) if sweep.search != "none" else None
    if chosen:
        _write_sweep(chosen, chosen_path(sweep, out), f"What sweep {sweep.digest} chose.")


def group_entry(search: GroupSearch) -> dict[str, Any]:
    """Describe a group: what stands for it and what finding that out cost."""
    group, chosen = search.group, search.chosen
    records = search.results.values()
    concurrencies = {record.environment.concurrency for record in records} - {None}
    return {
        "setting": group.data.setting_name,
        "task": group.data.task,
        "seed": group.data.seed,
        "train_seed": group.train_seed,
        "settings": options.as_dict(group.data.settings),
        "method": group.method,
        "predictor": group.predictor,
        "solver": group.solver,
        "run_id": chosen.run_id if chosen else None,
        "options": chosen.identity.options if chosen else None,
        "epochs": chosen.identity.protocol.epochs if chosen else None,
        **search.budget(),
        "failed": sum(record.state != "done" for record in records),
        # Seconds measured at different concurrency cannot be added up honestly: say so.
        "concurrency": concurrencies.pop() if len(concurrencies) == 1 else None,
        "edges": search.edges(),
        **_trials(search),
        **({"tuned": dict(group.tuned)} if group.tuned else {}),
    }


def _trials(search: GroupSearch) -> dict[str, Any]:
    """Describe the trials of a search over data seeds, in order; docs/logs.md has the format."""
    if not search.trials:
        return {}
    choice = search.choice
    return {
        "seeds": [data.seed for data, _ in search.group.tuning_data],
        "chosen_trial": choice.number if choice else None,
        "trials": [
            {
                "trial": trial.number,
                "options": options.as_dict(trial.options),
                **_runs_entry(trial.records, trial.regret),
                "again": _runs_entry(trial.again, trial.regret_again) if trial.again else None,
            }
            for trial in search.trials
        ],
    }


def _runs_entry(records: Sequence[RunRecord], regret: float) -> dict[str, Any]:
    return {
        "train_seed": records[0].identity.train_seed if records else None,
        "regret": regret if math.isfinite(regret) else None,
        "seconds": sum(record.summary.train_s for record in records if record.summary),
        "runs": [record.run_id for record in records],
    }


def _which(method: str, train_seed: int, predictor: str) -> tuple[str, int, str]:
    """Tell the groups of a dataset apart; a method that fits at once has one."""
    once = find_method(method).cls.fits
    return (method, 0, method) if once else (method, train_seed, predictor)


def _chosen(sweep: Sweep, searches: Sequence[GroupSearch]) -> Sweep | None:
    """Return a sweep of the chosen configurations alone, None while one is missing."""
    found = {
        (group.data, *_which(group.method, group.train_seed, group.predictor)): search
        for search in searches
        for group in [search.group]
        if search.complete and search.chosen
    }
    settings: list[Setting] = []
    for setting in sweep.settings:
        # What a search over data seeds chose is for all seeds and repeats of the sweep.
        parts = [(setting.seeds, setting.train_seeds)]
        if not setting.tune_seeds:
            each = itertools.product(setting.seeds, setting.train_seeds)
            parts = [((seed,), (train_seed,)) for seed, train_seed in each]
        for seeds, train_seeds in parts:
            searched = setting.tune_seeds or seeds
            data = TaskSpec(setting.task, setting.settings, searched[0])
            train_seed = 0 if setting.tune_seeds else train_seeds[0]
            plans, tuned = [], {}
            for plan in setting.methods:
                search = found.get((data, *_which(plan.name, train_seed, setting.predictor)))
                if search is None or search.chosen is None:
                    return None
                picked = {key: search.chosen.identity.options[key] for key in plan.space}
                chosen = dataclasses.replace(plan.options, **picked)
                plans.append(dataclasses.replace(plan, options=chosen, space={}))
                if plan.space:
                    tuned[plan.name] = tuned_entry(sweep, group_entry(search), search.chosen)
            settings.append(
                dataclasses.replace(
                    setting,
                    seeds=seeds,
                    train_seeds=train_seeds,
                    tune_seeds=(),
                    methods=tuple(plans),
                    tuned=tuned,
                )
            )
    return dataclasses.replace(sweep, search="none", trials=None, settings=tuple(settings))


def _toml_values(value: Any) -> Any:
    """Replace what TOML lacks: None becomes the word that options read as none."""
    if isinstance(value, Mapping):
        return {key: _toml_values(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_toml_values(part) for part in value]
    return "none" if value is None else value


def _write_sweep(sweep: Sweep, path: Path, what: str) -> None:
    head = f"# {what} Run it: dglbench sweep --config {path.name} --out FOLDER\n"
    text = head + sweep_toml(sweep)
    if not path.is_file() or path.read_text("utf-8") != text:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    try:
        atomic.write_text(path, text)
    except OSError as error:
        raise RunError(
            f"{path} could not be written: {error.strerror or error}; "
            "free some space or choose another --out, then run the same command again."
        ) from error
