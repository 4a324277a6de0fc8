"""What is asked for: the command line, a TOML file, a preset and Python speak one format.

Each of them is a `Request`; several together are resolved in order of precedence
(`dglbench.sweep.request.resolve`). In a file a request reads::

    methods = ["two-stage", "dgl-1"]
    tasks = ["matching-50", "knapsack-48"]
    seeds = [10, 25, 95]
    epochs = 20                       # any field of the training protocol
    set = { train = 100, knapsack = { source = "semo" } }
    vary = { noise = [0.0, 1.0] }     # a setting for every combination
    option = { lr = 0.1, dgl-1 = { tau = 0.5 } }
    predictor = ["linear", "mlp:hidden=16"]

Instead of ``tasks`` a file may list ``[[setting]]`` tables with ``task``, ``seeds``, ``set``,
``protocol``, ``option`` (by method) and ``space`` (by method, the values to search;
`dglbench.sweep.request.space` explains the notation). ``tuned`` (by method) describes the search
that chose the options. ``data`` names dataset files beside or instead of tasks, in a
``[[setting]]`` one file; ``plugins`` names local files that define tasks and methods. A sweep
saves itself in that form, fully resolved.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from dglbench import options
from dglbench.errors import OptionError, SweepError
from dglbench.training.spec import Protocol

if TYPE_CHECKING:
    from dglbench.task import Dataset

__all__ = [
    "DEFAULT_TRIALS",
    "PRESETS",
    "Request",
    "from_file",
    "from_preset",
    "nested_assignments",
    "read_request",
]

DEFAULT_TRIALS = 20
MOST_REPEATS = 10_000
Preset = Literal[
    "paper",
    "grid",
    "quick",
    "shortest-path",
    "scale",
    "when-it-pays",
    "published",
    "published-cave",
    "published-notebook",
]
PRESETS: tuple[str, ...] = get_args(Preset)

Search = Literal["none", "full", "random", "optuna"]

_PROTOCOL = {field.name for field in dataclasses.fields(Protocol)}
_SEEDS = ("seeds", "train_seeds", "tune_seeds")
_TABLES = ("set", "vary", "option", "protocol")
_SETTING_KEYS = (
    "task",
    "data",
    "data_digest",
    "seeds",
    "train_seeds",
    "tune_seeds",
    "predictor",
    "set",
    "protocol",
    "option",
    "lead_in_option",
    "space",
    "tuned",
)


@dataclass(frozen=True)
class Scalars:
    """The keys that are not tables."""

    preset: Annotated[Preset | None, Doc("where to start from")] = None
    methods: Annotated[tuple[str, ...] | None, Doc("methods to compare")] = None
    tasks: Annotated[tuple[str, ...] | None, Doc("settings such as matching-50")] = None
    seeds: Annotated[tuple[Annotated[int, Ge(0)], ...] | None, Doc("data seeds")] = None
    data: Annotated[tuple[str, ...] | None, Doc("dataset files")] = None
    train_seeds: Annotated[
        tuple[Annotated[int, Ge(0)], ...] | None, Doc("seeds of initial weights and batches")
    ] = None
    tune_seeds: Annotated[
        tuple[Annotated[int, Ge(0)], ...] | None, Doc("data seeds that a search spans")
    ] = None
    repeats: Annotated[
        int | None, Ge(1), Le(MOST_REPEATS), Doc("training seeds from 0 on, in place of a list")
    ] = None
    values: Annotated[
        Literal["paper", "default"] | None,
        Doc("options left open: the paper's for the nearest size, or each method's defaults"),
    ] = None
    diagnostics: Annotated[
        bool | None, Doc("let methods report on themselves: duals, bound, theorem2")
    ] = None
    plugins: Annotated[tuple[str, ...] | None, Doc("local files with tasks or methods")] = None
    trials: Annotated[
        int | None, Ge(1), Doc("configurations that a search draws of each method")
    ] = None
    solver: Annotated[str | None, Doc("solver family")] = None
    lead_in: Annotated[str | None, Doc("method and epochs to train with first")] = None
    predictor: Annotated[tuple[str, ...] | None, Doc("what is trained; several are compared")] = (
        None
    )
    threads: Annotated[int | None, Ge(1), Doc("threads per run")] = None
    time_limit: Annotated[float | None, Gt(0), Doc("seconds that a run may take")] = None


@dataclass(frozen=True)
class Request(Scalars):
    """One source of requests; None or empty where it asks for nothing."""

    origin: str = "the command line"
    search: Search | None = None
    """How the search space is tried; ``"none"`` asks for no search, None does not ask."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Task settings; under a task's or setting's name those for it alone."""
    vary: Mapping[str, Any] = field(default_factory=dict)
    """Task settings with lists of values: a setting for every combination, of tasks that have
    them; a value that is given in ``set`` later takes the list's place."""
    option: Mapping[str, Any] = field(default_factory=dict)
    """Method options; under a method's name those for it alone."""
    lead_in_option: Mapping[str, Any] = field(default_factory=dict)
    """By method: options of its lead-in, where they are not part of ``lead_in``."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    setting: tuple[Mapping[str, Any], ...] = ()
    """``[[setting]]`` tables, checked for their keys only."""
    dataset: Dataset | None = None
    """The data themselves, instead of tasks or files; from Python only."""


def from_preset(name: str) -> Request:
    """Return one of the presets that ship with dglbench."""
    if name not in PRESETS:
        raise SweepError(f"there is no preset '{name}'; there are {', '.join(PRESETS)}.")
    text = resources.files("dglbench.sweep.request").joinpath("presets.toml").read_text("utf-8")
    return read_request(tomllib.loads(text)[name], f"preset {name}")


def from_file(path: Path) -> Request:
    """Read a ``--config`` file."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SweepError(
            f"--config {path} cannot be read: {error.strerror}; give a TOML file, for example "
            "the sweep-….toml beside earlier results."
        ) from error
    except ValueError as error:  # no UTF-8, or no TOML
        raise SweepError(f"--config {path} is not valid TOML: {error}.") from error
    return read_request(document, str(path))


def read_request(document: Mapping[str, Any], origin: str) -> Request:
    """Check the keys of a document and the values of those that are not tables."""
    names = {field.name for field in dataclasses.fields(Scalars)}
    allowed = [*names, *_TABLES, "search", "setting", *_PROTOCOL]
    for key in document:
        if key not in allowed:
            raise SweepError(
                f"{origin} has the key '{key}', which no sweep knows; "
                f"it may have {', '.join(sorted(allowed))}."
            )
    for key in _TABLES:
        if not isinstance(document.get(key, {}), Mapping):
            raise SweepError(f"{origin}: {key} must be a table of names and values.")
    given: dict[str, Any] = {
        # A predictor's options are separated by commas, as elsewhere the parts of a list.
        key: [value] if key == "predictor" and isinstance(value, str) else value
        for key, value in document.items()
        if key in names and value is not None
    }
    for key in ("methods", "tasks", "seeds", "data", "train_seeds", "tune_seeds", "predictor"):
        if given.get(key) in ("", []):
            raise SweepError(f"{origin}: {key} is empty; name at least one, or leave it out.")
    try:
        for key in _SEEDS:
            if isinstance(given.get(key), str):
                given[key] = options.spell_out_ranges(given[key])
        scalars = options.parse(Scalars, given, owner=origin)
    except OptionError as error:
        raise SweepError(str(error)) from error
    scalars = _with_repeats(scalars, origin)
    search = document.get("search")
    if search not in (None, *get_args(Search)):
        raise SweepError(
            f"{origin}: search must be one of {', '.join(get_args(Search))}, got {search!r}."
        )
    protocol = {key: value for key, value in document.items() if key in _PROTOCOL}
    settings = document.get("setting", [])
    _check_settings(settings, origin)
    for key, value in (("tasks", scalars.tasks), ("data", scalars.data)):
        if settings and value is not None:
            raise SweepError(f"{origin} has both {key} and [[setting]] tables; keep one of them.")
    return Request(
        **{name: getattr(scalars, name) for name in names},
        origin=origin,
        search=search,
        set=dict(document.get("set", {})),
        vary=_lists(document.get("vary", {}), origin),
        option=dict(document.get("option", {})),
        protocol={
            key: value
            for key, value in {**document.get("protocol", {}), **protocol}.items()
            if value is not None
        },
        setting=tuple(settings),
    )


def _lists(vary: Mapping[str, Any], origin: str) -> dict[str, Any]:
    for key, values in vary.items():
        if not isinstance(values, list) or not values:
            raise SweepError(
                f"{origin}: vary.{key} must be a list of values, got {values!r}; write for example "
                f"vary = {{ {key} = [0, 1] }}."
            )
    return dict(vary)


def _with_repeats(scalars: Scalars, origin: str) -> Scalars:
    """Spell out the training seeds of ``repeats``."""
    if scalars.repeats is None:
        return scalars
    if scalars.train_seeds is not None:
        raise SweepError(
            f"{origin}: repeats = {scalars.repeats} means the training seeds 0 to "
            f"{scalars.repeats - 1}, and training seeds are given too; keep one of the two."
        )
    return dataclasses.replace(scalars, train_seeds=tuple(range(scalars.repeats)))


def nested_assignments(words: Iterable[str], flag: str) -> dict[str, Any]:
    """Read ``key=value`` and ``owner.key=value`` words as a table."""
    table: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        owner, dot, key = name.strip().rpartition(".")
        key = key.strip().replace("-", "_")
        if not sign or not key or (dot and not owner):
            raise SweepError(f"{flag} takes key=value or name.key=value, got '{word}'.")
        (table.setdefault(owner, {}) if owner else table)[key] = value.strip()
    return table


def _check_settings(settings: Any, origin: str) -> None:
    if not isinstance(settings, list) or not all(isinstance(one, Mapping) for one in settings):
        raise SweepError(f"{origin}: write each setting as a [[setting]] table.")
    for entry in settings:
        unknown = [key for key in entry if key not in _SETTING_KEYS]
        if unknown or not isinstance(entry.get("data", entry.get("task")), str):
            what = f"the key '{unknown[0]}'" if unknown else "no task"
            raise SweepError(
                f"{origin} has a [[setting]] with {what}; it must have task or data and may have "
                f"{', '.join(_SETTING_KEYS[2:])}."
            )
        for key in ("set", "protocol", "option", "lead_in_option", "space", "tuned"):
            if not isinstance(entry.get(key, {}), Mapping):
                raise SweepError(f"{origin}: {key} of a [[setting]] must be a table.")
        for key in ("option", "lead_in_option", "space", "tuned"):
            for method, values in entry.get(key, {}).items():
                if not isinstance(values, Mapping):
                    raise SweepError(
                        f"{origin}: {key}.{method} of a [[setting]] must be a table, got "
                        f"{values!r}."
                    )
        named = entry.get("predictor", "")
        if not isinstance(named, str) and not _all_text(named):
            raise SweepError(
                f'{origin}: predictor of a [[setting]] must be a text such as "mlp:hidden=16" or '
                f"a list of them, got {named!r}."
            )
        for key in _SEEDS:
            seeds = entry.get(key, [])
            if not isinstance(seeds, list) or not all(type(s) is int and s >= 0 for s in seeds):
                raise SweepError(
                    f"{origin}: {key} of a [[setting]] must be a list of whole numbers ≥ 0, "
                    f"got {seeds!r}."
                )


def _all_text(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
