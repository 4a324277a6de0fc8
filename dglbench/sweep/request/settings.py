"""One setting of a sweep with nothing left open: its data, seeds, protocol and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dglbench import options
from dglbench.data.loading import identify, load_dataset, offer_dataset, read_file
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import find_setting, find_task
from dglbench.predictors.choice import default_predictor
from dglbench.sweep.request.defaults import named_setting, paper_seeds, resolve_protocol
from dglbench.sweep.request.method_plan import MethodPlan, method_plan
from dglbench.sweep.request.names import owner_hint
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.space import axis_document
from dglbench.sweep.request.tuned import still_tuned
from dglbench.sweep.request.varied import own_list, varied
from dglbench.task import Dataset, Task, TaskSpec, setting_name
from dglbench.training.cost_model import with_rhythm
from dglbench.training.spec import Protocol

__all__ = ["Setting", "resolve_settings", "spans_seeds", "unique"]


@dataclass(frozen=True)
class Setting:
    """A task with its settings, on some data seeds, by some methods."""

    task: str
    settings: Any
    seeds: tuple[int, ...]
    protocol: Protocol
    methods: tuple[MethodPlan, ...]
    train_seeds: tuple[int, ...] = (0,)
    tune_seeds: tuple[int, ...] = ()
    """The data seeds that a search spans; none where each dataset is searched by itself."""
    data: str | None = None
    """The dataset file, where the data come from one."""
    data_digest: str | None = None
    tuned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By method: a description of the search that chose its options."""
    predictor: str = "linear"
    """What is trained; a sweep that compares several has a setting for each."""

    @property
    def name(self) -> str:
        """A short name such as ``matching-50``."""
        return setting_name(self.task, options.as_dict(self.settings))

    def document(self, searched: bool) -> dict[str, Any]:
        """Return the setting as a ``[[setting]]`` table."""
        led = {plan.name: plan.lead_in.given() for plan in self.methods if plan.lead_in}
        space = {
            plan.name: {key: axis_document(axis) for key, axis in plan.space.items()}
            for plan in self.methods
        }
        return {
            "task": self.name,
            **self._data_document(),
            "predictor": self.predictor,
            "protocol": asdict(self.protocol),
            "option": {plan.name: plan.fixed for plan in self.methods},
            **({"lead_in_option": led} if led else {}),
            **({"space": space} if searched else {}),
            **({"tuned": dict(self.tuned)} if self.tuned else {}),
        }

    def _data_document(self) -> dict[str, Any]:
        """Describe the data: a task's settings and seeds, or a file."""
        repeats = {} if self.train_seeds == (0,) else {"train_seeds": list(self.train_seeds)}
        if self.tune_seeds and self.data is None:
            repeats["tune_seeds"] = list(self.tune_seeds)
        if self.data is None:
            chosen = options.as_dict(self.settings)
            return {"seeds": list(self.seeds), **repeats, "set": chosen}
        return {"data": self.data, "data_digest": self.data_digest, **repeats}


def resolve_settings(
    requests: Sequence[Request], methods: Sequence[str], search: str
) -> Iterator[Setting]:
    """Resolve every setting that is asked for."""
    if (dataset := requests[-1].dataset) is not None:
        setting = _from_dataset(requests, dataset, methods, search)
        yield from _by_predictor(setting, requests, len(requests) - 1, {})
        return
    chosen = [each for found in _entries(requests) for each in varied(requests, *found)]
    if not chosen:
        raise SweepError("there is no task to run; write for example --tasks matching-50.")
    flags = requests[-1]
    if flags.seeds and all("data" in entry for _, entry in chosen):
        raise SweepError(
            "--seeds are data seeds, and a dataset file has its own; to repeat the training with "
            "other weights and batches write --train-seeds."
        )
    if flags.tune_seeds and any("data" in entry for _, entry in chosen):
        raise SweepError(
            "--tune-seeds are data seeds, and a dataset file has its own; a search on files tunes "
            "on each file itself."
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
        setting = _setting(requests, index, entry, methods, search)
        if setting.data:  # tables and figures would not distinguish them
            other = files.setdefault((setting.settings, setting.name), setting.data)
            if other != setting.data:
                raise SweepError(
                    f"{other} and {setting.data} are both called {setting.name}; import one of "
                    "them under another --name."
                )
        yield from _by_predictor(setting, requests, index, entry)


def spans_seeds(search: str) -> bool:
    """Say whether a kind of search always chooses over the tuning data seeds together."""
    return search in ("random", "optuna")


def unique(names: Sequence[str], kind: str, example: str) -> tuple[str, ...]:
    """Return the names; refuse none, and the same one twice."""
    if not names:
        raise SweepError(f"there is no {kind} to run; write for example {example}.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SweepError(f"the {kind} {twice} is named twice; name it once.")
    return tuple(names)


def _entries(requests: Sequence[Request]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the settings to run, each with the position of the request that describes it."""
    for index in reversed(range(len(requests))):
        source = requests[index]
        if source.setting:
            yield from ((index, entry) for entry in source.setting)
            return
        if source.tasks is None and source.data is None:
            continue
        yield from ((index, {"data": path}) for path in dict.fromkeys(source.data or ()))
        if source.tasks is None:
            return
        for name in unique(source.tasks, "task", "--tasks matching-50"):
            # A name that a file of lower precedence describes keeps that description.
            known = [
                (below, entry)
                for below in range(index)
                for entry in requests[below].setting
                if entry.get("task") == name
            ]
            yield from known or [(index, {"task": name})]
        return


def _names(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return what ``--set name.key`` may call a setting: its own name, and its task's."""
    if "data" in entry:
        spec = read_file(Path(entry["data"])).dataset.spec
        return spec.setting_name, spec.task
    return entry["task"], find_setting(entry["task"])[0].name


def _setting(
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    methods: Sequence[str],
    search: str,
) -> Setting:
    if "data" in entry:
        return _from_file(requests, index, entry, methods, search)
    name = entry["task"]
    task, _ = find_setting(name)
    given = _collect("set", requests, index, entry, (task.name, name))
    task, all_given = named_setting(name, given)
    try:
        settings = task.parse_settings(all_given)
    except OptionError as error:
        there = [other["task"] for _, other in _entries(requests) if "data" not in other]
        raise OptionError(f"{error}{owner_hint(task, given, there)}") from error
    seeds = _last_of("seeds", requests, index, entry, paper_seeds(name))
    tuned_on = _last_of("tune_seeds", requests, index, entry, seeds if spans_seeds(search) else ())
    first = TaskSpec(task.name, settings, seeds[0])
    protocol = resolve_protocol(task, settings, _collect("protocol", requests, index, entry))
    if protocol.is_open:  # the sizes do not depend on the seed
        protocol = with_rhythm(protocol, load_dataset(first, identify(first)))
    suited = own_list("methods", requests, entry, task) or methods
    plans = _plans(task, settings, requests, index, entry, suited, search)
    return Setting(
        task=task.name,
        settings=settings,
        seeds=seeds,
        protocol=protocol,
        methods=plans,
        train_seeds=_last_of("train_seeds", requests, index, entry, [0]),
        tune_seeds=() if search == "none" else tuned_on,
        tuned=still_tuned(entry, plans),
    )


def _from_file(
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    methods: Sequence[str],
    search: str,
) -> Setting:
    """Resolve a setting whose data come from a file, which decides the task's settings."""
    path = Path(entry["data"])
    dataset, digest = read_file(path)
    if entry.get("data_digest") not in (None, digest):
        raise SweepError(
            f"{path} holds other data than this sweep was made with (content {digest[:12]}, not "
            f"{entry['data_digest'][:12]}); leave data_digest out to run it on these."
        )
    task = find_task(dataset.spec.task)
    if given := _collect("set", requests, index, entry):
        task.refuse_predictor_settings(given)
        raise OptionError(
            f"{path} brings its own settings, so {next(iter(given))} cannot be set; leave out "
            "--set."
        )
    return _of_dataset(requests, index, entry, dataset, digest, methods, search, data=str(path))


def _from_dataset(
    requests: Sequence[Request], dataset: Dataset, methods: Sequence[str], search: str
) -> Setting:
    """Resolve a setting whose data are in memory."""
    digest = offer_dataset(dataset)
    return _of_dataset(requests, len(requests) - 1, {}, dataset, digest, methods, search)


def _of_dataset(
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    dataset: Dataset,
    digest: str,
    methods: Sequence[str],
    search: str,
    data: str | None = None,
) -> Setting:
    task, settings = find_task(dataset.spec.task), dataset.spec.settings
    protocol = resolve_protocol(task, settings, _collect("protocol", requests, index, entry))
    plans = _plans(task, settings, requests, index, entry, methods, search)
    return Setting(
        task=task.name,
        settings=settings,
        seeds=(dataset.spec.seed,),
        protocol=with_rhythm(protocol, dataset),
        methods=plans,
        train_seeds=_last_of("train_seeds", requests, index, entry, [0]),
        tune_seeds=(dataset.spec.seed,) if spans_seeds(search) else (),
        data=data,
        data_digest=digest,
        tuned=still_tuned(entry, plans),
    )


def _plans(
    task: Task,
    settings: Any,
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    methods: Sequence[str],
    search: str,
) -> tuple[MethodPlan, ...]:
    return tuple(
        method_plan(task, settings.n, name, requests, index, entry, search) for name in methods
    )


def _by_predictor(
    setting: Setting, requests: Sequence[Request], index: int, entry: Mapping[str, Any]
) -> Iterator[Setting]:
    """Yield the setting with each predictor asked for; what was tuned with another is not kept."""
    task = find_task(setting.task)
    usual = (default_predictor(task),)
    described = entry.get("predictor") or usual
    suited = own_list("predictor", requests, entry, task)
    for text in suited or _last_of("predictor", requests, index, entry, usual):
        tuned = setting.tuned if text in described else {}
        yield replace(setting, predictor=text, tuned=tuned)


def _collect(
    table: str,
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    owners: Sequence[str] = (),
) -> dict[str, Any]:
    """Merge one table of all requests in rising order of precedence.

    The setting's own table comes right after the request that it stands in.
    """
    merged: dict[str, Any] = {}
    for position, source in enumerate(requests):
        given: Mapping[str, Any] = getattr(source, table)
        merged |= {key: value for key, value in given.items() if not isinstance(value, Mapping)}
        for owner in dict.fromkeys(owners):
            merged |= given.get(owner, {})
        if position == index:
            merged |= entry.get(table, {})
    return merged


def _last_of(
    name: str,
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    default: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the list, of seeds or predictors, that takes precedence over the others."""
    found = default
    for position, source in enumerate(requests):
        found = getattr(source, name) or found
        if position == index:
            found = entry.get(name) or found
    return tuple(dict.fromkeys(found))
