"""A sweep with nothing left open: from wishes to settings, protocols and options.

The command line wins over the file, the file over the preset; within a file what
stands in a ``[[setting]]`` wins over what stands at the top. Below all of them lie
the tasks' own TOML files. Every name and value is checked on the way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dglbench import options
from dglbench.data.loading import identify, load_dataset, read_file
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import SOLVERS, find_method, find_plugin, find_setting, find_task
from dglbench.sweep.method_plan import DEFAULT_SEED, MethodPlan, method_plan
from dglbench.sweep.names import owner_hint, with_known_names
from dglbench.sweep.request import DEFAULT_TRIALS, Search, Wishes
from dglbench.sweep.space import axis_document
from dglbench.sweep.tuned import check_duals, check_one_seed, still_tuned
from dglbench.task import TaskSpec, setting_name
from dglbench.training.cost_model import with_rhythm
from dglbench.training.lead_in import with_lead_in
from dglbench.training.resolve import resolve_protocol
from dglbench.training.spec import Protocol

__all__ = ["MethodPlan", "Setting", "Sweep", "resolve_sweep"]


@dataclass(frozen=True)
class Setting:
    """One task with its settings, on some seeds, by some methods."""

    task: str
    settings: Any
    seeds: tuple[int, ...]
    protocol: Protocol
    methods: tuple[MethodPlan, ...]
    train_seeds: tuple[int, ...] = (0,)
    data: str | None = None
    """The dataset file, where the data come from one."""
    data_digest: str | None = None
    tuned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By method: what the search that chose its options said of itself."""

    @property
    def name(self) -> str:
        """A short name such as ``matching-50``."""
        return setting_name(self.task, options.as_dict(self.settings))


@dataclass(frozen=True)
class Sweep:
    """All that decides which runs a sweep makes."""

    methods: tuple[str, ...]
    solver: str
    threads: int
    search: Search
    time_limit: float | None
    settings: tuple[Setting, ...]
    plugins: tuple[str, ...] = ()
    """Local files that tasks and methods were taken from."""
    trials: int | None = None
    """How many configurations ``optuna`` tries of each method."""

    def document(self) -> dict[str, Any]:
        """Return the sweep in the format of ``--config``."""
        settings = [
            {
                "task": setting.name,
                **_data_document(setting),
                "protocol": asdict(setting.protocol),
                "option": {plan.name: dict(plan.fixed) for plan in setting.methods},
                **_lead_in_document(setting),
                **(
                    {"space": {plan.name: _space(plan) for plan in setting.methods}}
                    if self.search != "none"
                    else {}
                ),
                **({"tuned": dict(setting.tuned)} if setting.tuned else {}),
            }
            for setting in self.settings
        ]
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}
        return {
            "methods": list(self.methods),
            "solver": self.solver,
            "threads": self.threads,
            "search": self.search,
            **({} if self.trials is None else {"trials": self.trials}),
            **({"plugins": list(self.plugins)} if self.plugins else {}),
            **limit,
            "setting": settings,
        }

    @property
    def digest(self) -> str:
        """Name the sweep by its content."""
        canonical = json.dumps(self.document(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def resolve_sweep(wishes: Sequence[Wishes]) -> Sweep:
    """Resolve wishes given in rising order of precedence."""
    wishes = [with_known_names(source) for source in wishes]
    methods = _unique(_last(wishes, "methods") or (), "method", "--methods two-stage,dgl-1")
    _check_owners(wishes, methods)
    if (lead_in := _last(wishes, "lead_in")) is not None:
        methods = tuple(with_lead_in(name, lead_in) for name in methods)
    search: Search = _last(wishes, "search") or "none"
    trials = _trials(wishes, search)
    settings = tuple(_settings(wishes, methods, search))
    if search != "none" and not any(plan.space for s in settings for plan in s.methods):
        raise SweepError(
            f"--search {search} has nothing to search: every option is fixed, or the tasks have "
            "no [search] table; leave --search out."
        )
    solver = find_plugin(SOLVERS, _last(wishes, "solver") or "ortools")
    for setting in settings:
        check_duals(setting.name, setting.tuned, solver)
    check_one_seed(settings)
    return Sweep(
        methods=methods,
        solver=solver.name,
        threads=_last(wishes, "threads") or 1,
        search=search,
        time_limit=_last(wishes, "time_limit"),
        settings=settings,
        plugins=tuple(dict.fromkeys(name for source in wishes for name in source.plugins or ())),
        trials=trials,
    )


def _lead_in_document(setting: Setting) -> dict[str, Any]:
    led = {plan.name: dict(plan.lead_in) for plan in setting.methods if plan.lead_in}
    return {"lead_in_option": led} if led else {}


def _trials(wishes: Sequence[Wishes], search: Search) -> int | None:
    if search == "optuna":
        return _last(wishes, "trials") or DEFAULT_TRIALS
    if wishes[-1].trials is not None:
        raise SweepError(
            f"--trials is how many configurations --search optuna tries, and the search here is "
            f"{search}; add --search optuna, or leave --trials out."
        )
    return None


def _data_document(setting: Setting) -> dict[str, Any]:
    """Describe the data of a setting: a task's settings and seeds, or a file."""
    repeats = {} if setting.train_seeds == (0,) else {"train_seeds": list(setting.train_seeds)}
    chosen = options.as_dict(setting.settings)
    if setting.data is None:
        return {"seeds": list(setting.seeds), **repeats, "set": chosen}
    still_open = find_task(setting.task).open_settings
    return {
        "data": setting.data,
        "data_digest": setting.data_digest,
        **repeats,
        "set": {key: chosen[key] for key in still_open},
    }


def _settings(wishes: Sequence[Wishes], methods: Sequence[str], search: str) -> Iterator[Setting]:
    chosen = list(_entries(wishes))
    if not chosen:
        raise SweepError("there is no task to run; write for example --tasks matching-50.")
    flags = wishes[-1]
    if flags.seeds and all("data" in entry for _, entry in chosen):
        raise SweepError(
            "--seeds are data seeds, and a dataset file has its own; to repeat the training with "
            "other weights and batches write --train-seeds."
        )
    names = {name for _, entry in chosen for name in _names(entry)}
    for owner, value in flags.set.items():
        if isinstance(value, Mapping) and owner not in names:
            raise SweepError(
                f"--set {owner}.… speaks of '{owner}', which is not in this sweep; "
                f"it has {', '.join(sorted(names))}."
            )
    files: dict[tuple[Any, str], str] = {}
    for index, entry in chosen:
        setting = _setting(wishes, index, entry, methods, search)
        if setting.data:  # tables and figures would not tell them apart
            other = files.setdefault((setting.settings, setting.name), setting.data)
            if other != setting.data:
                raise SweepError(
                    f"{other} and {setting.data} are both called {setting.name}; import one of "
                    "them under another --name."
                )
        yield setting


def _entries(wishes: Sequence[Wishes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the settings to run, each with the position of the wishes that describe it."""
    for index in reversed(range(len(wishes))):
        source = wishes[index]
        if source.setting:
            yield from ((index, entry) for entry in source.setting)
            return
        if source.tasks is None and source.data is None:
            continue
        yield from ((index, {"data": path}) for path in dict.fromkeys(source.data or ()))
        if source.tasks is None:
            return
        for name in _unique(source.tasks, "task", "--tasks matching-50"):
            # A name that a file below describes keeps that description.
            known = [
                (below, entry)
                for below in range(index)
                for entry in wishes[below].setting
                if entry.get("task") == name
            ]
            yield from known or [(index, {"task": name})]
        return


def _setting(
    wishes: Sequence[Wishes],
    index: int,
    entry: Mapping[str, Any],
    methods: Sequence[str],
    search: str,
) -> Setting:
    if "data" in entry:
        return _file_setting(wishes, index, entry, methods, search)
    task, size = find_setting(entry["task"])
    paper = dict(task.paper().get("settings", {}).get(entry["task"], {}))
    seeds: Any = paper.pop("seeds", [DEFAULT_SEED])
    given: dict[str, Any] = paper
    protocol: dict[str, Any] = {}
    for position, source in enumerate(wishes):
        seeds = source.seeds or seeds
        given |= {key: value for key, value in source.set.items() if not isinstance(value, Mapping)}
        for owner in dict.fromkeys((task.name, entry["task"])):
            given |= source.set.get(owner, {})
        protocol |= source.protocol
        if position == index:
            seeds = entry.get("seeds") or seeds
            given |= entry.get("set", {})
            protocol |= entry.get("protocol", {})
    try:
        settings = task.parse_settings({**given, **size})
    except OptionError as error:
        there = [other["task"] for _, other in _entries(wishes) if "data" not in other]
        raise OptionError(f"{error}{owner_hint(task, given, there)}") from error
    if size and str(given.get("n", settings.n)) != str(settings.n):
        raise SweepError(
            f"{entry['task']} has its size in its name, so n={given['n']} cannot be set; "
            f"write --tasks {task.name}-{given['n']}."
        )
    plans = tuple(
        method_plan(task, settings, name, wishes, index, entry, search) for name in methods
    )
    watched = resolve_protocol(task, protocol)
    if watched.is_open:  # the sizes do not depend on the seed
        watched = with_rhythm(watched, load_dataset(*_identified(task.name, settings, seeds[0])))
    return Setting(
        task=task.name,
        settings=settings,
        seeds=tuple(dict.fromkeys(seeds)),
        protocol=watched,
        methods=plans,
        train_seeds=_train_seeds(wishes, index, entry),
        tuned=still_tuned(entry, plans),
    )


def _file_setting(
    wishes: Sequence[Wishes],
    index: int,
    entry: Mapping[str, Any],
    methods: Sequence[str],
    search: str,
) -> Setting:
    """Resolve a setting whose data come from a file, which fixes all but the predictor."""
    path = Path(entry["data"])
    stored, digest = read_file(path)
    if entry.get("data_digest") not in (None, digest):
        raise SweepError(
            f"{path} holds other data than this sweep was made with (content {digest[:12]}, not "
            f"{entry['data_digest'][:12]}); leave data_digest out to run it on these."
        )
    task = find_task(stored.spec.task)
    given: dict[str, Any] = {}
    protocol: dict[str, Any] = {}
    for position, source in enumerate(wishes):
        given |= {key: value for key, value in source.set.items() if not isinstance(value, Mapping)}
        for owner in dict.fromkeys((task.name, stored.spec.setting_name)):
            given |= source.set.get(owner, {}) if task.open_settings else {}
        protocol |= source.protocol
        if position == index:
            given |= entry.get("set", {})
            protocol |= entry.get("protocol", {})
    data = read_file(path, given).dataset.spec if given else stored.spec
    plans = tuple(
        method_plan(task, data.settings, name, wishes, index, entry, search) for name in methods
    )
    return Setting(
        task=task.name,
        settings=data.settings,
        seeds=(data.seed,),
        protocol=with_rhythm(resolve_protocol(task, protocol), stored),
        methods=plans,
        train_seeds=_train_seeds(wishes, index, entry),
        data=str(path),
        data_digest=digest,
        tuned=still_tuned(entry, plans),
    )


def _identified(task: str, settings: Any, seed: int) -> tuple[TaskSpec, str | None]:
    data = TaskSpec(task, settings, seed)
    return data, identify(data)


def _train_seeds(wishes: Sequence[Wishes], index: int, entry: Mapping[str, Any]) -> tuple[int, ...]:
    seeds: Any = (0,)
    for position, source in enumerate(wishes):
        seeds = source.train_seeds or seeds
        if position == index:
            seeds = entry.get("train_seeds") or seeds
    return tuple(dict.fromkeys(seeds))


def _names(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return what ``--set name.key`` may call a setting: its own name, and its task's."""
    if "data" in entry:
        spec = read_file(Path(entry["data"])).dataset.spec
        return spec.setting_name, spec.task
    return entry["task"], find_setting(entry["task"])[0].name


def _check_owners(wishes: Sequence[Wishes], methods: Sequence[str]) -> None:
    """Refuse method options that no chosen method has, and owners that do not exist."""
    known = {
        name: {info.name for info in options.describe(find_method(name).cls.Options)}
        for name in methods
    }
    flags = wishes[-1]
    for key, value in flags.option.items():
        if isinstance(value, Mapping):
            if key not in known:
                raise SweepError(
                    f"--option {key}.… speaks of '{key}', which is not in this sweep; "
                    f"it has {', '.join(methods)}."
                )
        elif not any(key in names for names in known.values()):
            there = sorted(set().union(*known.values()))
            raise OptionError(f"no method here has an option '{key}'; there are {there}.")


def _last(wishes: Sequence[Wishes], name: str) -> Any:
    given = (getattr(source, name) for source in reversed(wishes))
    return next((value for value in given if value is not None), None)


def _unique(names: Sequence[str], kind: str, example: str) -> tuple[str, ...]:
    if not names:
        raise SweepError(f"there is no {kind} to run; write for example {example}.")
    return tuple(dict.fromkeys(names))


def _space(plan: MethodPlan) -> dict[str, Any]:
    return {key: axis_document(axis) for key, axis in plan.space.items()}
