"""A sweep with nothing left open: from wishes to settings, protocols and options.

The command line wins over the file, the file over the preset; within a file what
stands in a ``[[setting]]`` wins over what stands at the top. Below all of them lie
the tasks' own TOML files. Every name and value is checked on the way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dglbench import options
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import SOLVERS, find_method, find_plugin, find_setting
from dglbench.sweep.names import owner_hint, with_known_names
from dglbench.sweep.wishes import Search, Wishes
from dglbench.task import Task, TaskSpec, setting_name
from dglbench.training.resolve import paper_options, resolve_protocol
from dglbench.training.spec import Protocol

__all__ = ["MethodPlan", "Setting", "Sweep", "resolve_sweep"]

DEFAULT_SEED = 25


@dataclass(frozen=True)
class MethodPlan:
    """A method on one setting: what is fixed, and what is searched."""

    name: str
    fixed: Mapping[str, Any]
    space: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Setting:
    """One task with its settings, on some seeds, by some methods."""

    task: str
    settings: Any
    seeds: tuple[int, ...]
    protocol: Protocol
    methods: tuple[MethodPlan, ...]

    @property
    def name(self) -> str:
        """A short name such as ``matching-50``."""
        return setting_name(self.task, {"n": self.settings.n})


@dataclass(frozen=True)
class Sweep:
    """All that decides which runs a sweep makes."""

    methods: tuple[str, ...]
    solver: str
    threads: int
    search: Search
    time_limit: float | None
    settings: tuple[Setting, ...]

    def document(self) -> dict[str, Any]:
        """Return the sweep in the format of ``--config``."""
        settings = [
            {
                "task": setting.name,
                "seeds": list(setting.seeds),
                "set": options.as_dict(setting.settings),
                "protocol": asdict(setting.protocol),
                "option": {plan.name: dict(plan.fixed) for plan in setting.methods},
                **(
                    {"space": {plan.name: _lists(plan.space) for plan in setting.methods}}
                    if self.search != "none"
                    else {}
                ),
            }
            for setting in self.settings
        ]
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}
        return {
            "methods": list(self.methods),
            "solver": self.solver,
            "threads": self.threads,
            "search": self.search,
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
    search: Search = _last(wishes, "search") or "none"
    settings = tuple(_settings(wishes, methods, search))
    if search != "none" and not any(plan.space for s in settings for plan in s.methods):
        raise SweepError(
            f"--search {search} has nothing to search: every option is fixed, or the tasks have "
            "no [search] table; leave --search out."
        )
    return Sweep(
        methods=methods,
        solver=find_plugin(SOLVERS, _last(wishes, "solver") or "ortools").name,
        threads=_last(wishes, "threads") or 1,
        search=search,
        time_limit=_last(wishes, "time_limit"),
        settings=settings,
    )


def _settings(wishes: Sequence[Wishes], methods: Sequence[str], search: str) -> Iterator[Setting]:
    chosen = list(_entries(wishes))
    if not chosen:
        raise SweepError("there is no task to run; write for example --tasks matching-50.")
    flags = wishes[-1]
    names = {entry["task"] for _, entry in chosen}
    names |= {find_setting(name)[0].name for name in names}
    for owner, value in flags.set.items():
        if isinstance(value, Mapping) and owner not in names:
            raise SweepError(
                f"--set {owner}.… speaks of '{owner}', which is not in this sweep; "
                f"it has {', '.join(sorted(names))}."
            )
    for index, entry in chosen:
        yield _setting(wishes, index, entry, methods, search)


def _entries(wishes: Sequence[Wishes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the settings to run, each with the position of the wishes that describe it."""
    for index in reversed(range(len(wishes))):
        source = wishes[index]
        if source.setting:
            yield from ((index, entry) for entry in source.setting)
            return
        if source.tasks is None:
            continue
        for name in _unique(source.tasks, "task", "--tasks matching-50"):
            # A name that a file below describes keeps that description.
            known = [
                (below, entry)
                for below in range(index)
                for entry in wishes[below].setting
                if entry["task"] == name
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
        there = [other["task"] for _, other in _entries(wishes)]
        raise OptionError(f"{error}{owner_hint(task, given, there)}") from error
    if size and str(given.get("n", settings.n)) != str(settings.n):
        raise SweepError(
            f"{entry['task']} has its size in its name, so n={given['n']} cannot be set; "
            f"write --tasks {task.name}-{given['n']}."
        )
    plans = tuple(
        _method_plan(task, settings, name, wishes, index, entry, search) for name in methods
    )
    return Setting(
        task=task.name,
        settings=settings,
        seeds=tuple(dict.fromkeys(seeds)),
        protocol=resolve_protocol(task, protocol),
        methods=plans,
    )


def _method_plan(
    task: Task,
    settings: Any,
    name: str,
    wishes: Sequence[Wishes],
    index: int,
    entry: Mapping[str, Any],
    search: str,
) -> MethodPlan:
    choice = find_method(name)
    known = {info.name for info in options.describe(choice.cls.Options)}
    fixed: dict[str, Any] = {}
    later: set[str] = set()  # what is given after the search space, and so takes its place
    described = entry.get("space", {}).get(name)
    for position, source in enumerate(wishes):
        flat = {key: v for key, v in source.option.items() if not isinstance(v, Mapping)}
        added = {key: value for key, value in flat.items() if key in known}
        added |= source.option.get(name, {})
        if described is None or position > index:
            later |= set(added)
        fixed |= added
        if position == index:
            own = entry.get("option", {}).get(name, {})
            fixed |= own
            later |= set(own) if described is None else set()
    space: dict[str, list[Any]] = {}
    if search != "none":
        ranges = task.paper().get("search", {}) if described is None else described
        for key, values in ranges.items():
            if described is None and key not in known:
                continue  # the task's table is for all methods; each takes what it has
            if key not in later and key not in choice.from_name:
                space[key] = _typed_values(choice.cls.Options, name, key, values)
    for key in set(choice.from_name) & set(fixed):
        raise OptionError(f"method {name} fixes {key} by its name; leave out {key}.")
    selected = paper_options(task, TaskSpec(task.name, settings, DEFAULT_SEED), choice)
    merged = {**selected, **fixed, **choice.from_name}
    parsed = options.parse(choice.cls.Options, merged, owner=f"method {name}")
    leave_out = {*choice.from_name, *space}
    kept = {key: v for key, v in options.as_dict(parsed).items() if key not in leave_out}
    return MethodPlan(name, kept, space)


_typed: dict[tuple[type, str, str], Any] = {}


def _typed_values(cls: type[Any], method: str, key: str, values: Any) -> list[Any]:
    """Check the values to search; the same few are met in every setting, so keep them."""
    if not isinstance(values, list) or not values:
        raise SweepError(f"the search space of {method} needs a list of values for {key}.")
    typed = []
    for value in values:
        if (cls, key, repr(value)) not in _typed:
            parsed = options.parse(cls, {key: value}, owner=f"method {method}")
            _typed[cls, key, repr(value)] = getattr(parsed, key)
        typed.append(_typed[cls, key, repr(value)])
    return list(dict.fromkeys(typed))


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


def _lists(space: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {key: list(values) for key, values in space.items()}
