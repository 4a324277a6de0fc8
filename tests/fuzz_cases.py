"""Command lines and damaged files at random: real verbs, options and names, good and bad values.

A case is a pure function of its seed and number. Sizes are tiny and most sweeps only
planned, so that thousands take minutes; what would download, open windows, start
clusters or write outside the scratch folder is left out.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomlkit
from record_files import change_record

from dglbench import options, plugins
from dglbench.cli import app
from dglbench.streams import stream

NEVER = {"--install-completion", "--show-completion", "--open", "--debug", "--help"}
"""Left out: they change the machine, open windows, or print a traceback because it was asked."""

HUGE = "9" * 30
NAMES = ("", " ", "x", "-", "--", "é", "\udcff", "a" * 300, "[bold]", "{0}", "%s", "🎉", "none")
NUMBERS = ("0", "1", "2", "3", "-1", "1.5", "1e-9", "1e308", "nan", "inf", "-inf", HUGE, "one", "")
TASKS = (
    "matching", "knapsack", "matching-3", "MATCHING-2", "knapsack-4", "matching-0", "matching-",
    "-3", "offers", "matchin", f"matching-{HUGE}", "matching-3-4", "knapsack-²",
)  # fmt: skip
METHODS = (
    "two-stage", "spo", "dgl-none", "dgl-1", "dgl-5", "DGL-5", "dgl-auto", "dgl-U", "dgl-0",
    f"dgl-{HUGE}", "dgl-", "spo+", "qptl2", "SPO",
)  # fmt: skip
FILES = (
    "results", "results/donor", "old", "empty", "file.txt", "missing", "data.parquet",
    "sweep.toml", "broken.toml", "mine.npz", "new.npz", "plugin.py", "broken.py",
    ".", "file.txt/below", "deep/new/folder", "new.parquet",
    "new.csv", "new.png", "new.html", "/proc/nope/x", "a" * 300, "\udcff", "", "~", "results/",
)  # fmt: skip
POOLS: dict[str, Sequence[str]] = {
    "task": TASKS,
    "tasks": (*TASKS, "matching-3,knapsack-4", "matching-3,matching-3", ",", "matching-3,"),
    "method": METHODS,
    "methods": (*METHODS, "two-stage,dgl-5", "spo,spo", ",", "two-stage,nope"),
    "baseline": METHODS,
    "seeds": ("1", "1-3", "3-1", "25,25", "0-99999999999", "-1", "a", ",", "1,,2", "1-", HUGE),
    "train_seeds": ("1", "3-1", "-1", "a", ",", HUGE),
    "seed": ("0", "25", "-1", HUGE, "x", ""),
    "read": ("features", "=", "A=per-item", "features=x", "x=per-item"),
    "name": (*TASKS, "a/b", "../x", "."),
    "solver": ("ortools", "batched", "BATCHED", "gurobi", ""),
    "preset": ("paper", "quick", "PAPER", "nope", ""),
    "search": ("none", "nope", "", "FULL", "none", "nope", "", "halving"),
    "executor": ("in-process", "nope", ""),
    "scheduler": ("nowhere", ""),
    "figure": ("nope", "", "time-vs-regret ", "Pipelines"),
    "table": ("leaderboard", "runs", "budget", "selected", "pairwise", "nope", "all", ""),
    "format": ("md", "csv", "tex", "png", "svg", "nope", ""),
    "width": ("column", "text", "3", "-1", "0", "nan", "wide", ""),
}
GOOD: dict[str, Sequence[str]] = {
    "task": ("matching", "knapsack", "matching-3", "knapsack-4", "Matching"),
    "tasks": ("matching-3", "matching-3,knapsack-4", "knapsack"),
    "method": ("two-stage", "spo", "dgl-none", "dgl-1", "DGL-5", "dgl-auto"),
    "methods": ("two-stage,dgl-5", "spo", "dgl-1,dgl-2,dgl-auto"),
    "baseline": ("two-stage", "dgl-1"),
    "seeds": ("1", "1-2", "25"),
    "seed": ("0", "25", "99999"),
    "solver": ("ortools", "batched"),
    "preset": ("paper", "quick"),
    "search": ("none",),
    "table": ("leaderboard", "runs", "budget", "selected"),
    "format": ("md", "csv", "png"),
    "width": ("column", "3"),
    "like": ("results/donor", "old/run"),
    "trained": ("results/donor", "results/donor", "old/run"),
    "data": ("data.parquet", "new.npz"),
    "trained_on": ("data.parquet",),
    "sources": ("mine.npz", "mine.npz", "new.npz"),
    "plugin": ("plugin.py", "broken.py"),
    "read": ("features=per-item", "labels=per-instance"),
    "name": ("mine", "shifts"),
    "train_seeds": ("0", "0-1"),
    "config": ("sweep.toml", "settings.toml"),
    "results": ("results", "old", "results/donor", "."),
    "claims_file": ("claims.toml",),
    "out": ("new", "results", "new.parquet"),
    "lr": ("0.1", "1e-9", "1e9", "1e300"),
}
FILE_OPTIONS = {
    "sources",
    "trained",
    "trained_on",
    "plugin",
    "out",
    "data",
    "like",
    "config",
    "html",
    "claims_file",
    "plot",
    "results",
}
TINY = ("--set", "train=4", "--set", "val=2", "--set", "test=2")


class Case(NamedTuple):
    """A command line, and what is done to the files before it."""

    words: tuple[str, ...]
    prepare: Callable[[Path], object] | None = None
    """Damages the scratch folder."""


def make_case(seed: int, number: int) -> Case:
    """Return the case of this number."""
    rng = stream(seed, "fuzz", str(number))
    if rng.random() < 0.35:
        return _damaged_file(rng)
    return Case(_command_line(rng))


def _pick(rng: np.random.Generator, choices: Sequence[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]


# -- command lines -------------------------------------------------------------------


@functools.cache
def _verb(name: str) -> Any:
    from typer.main import get_command

    group: Any = get_command(app.app)
    return group._load(name)


def _command_line(rng: np.random.Generator) -> tuple[str, ...]:
    verb = _pick(rng, (*app.VERBS, "train", "sweep", "report", "sweeep"))
    if verb not in app.VERBS:
        return (verb, *_pick(rng, ((), ("--plan",))))
    words = [verb]
    for param in _verb(verb).params:
        if param.param_type_name == "argument" and rng.random() < 0.9:
            words.append(_value(rng, param.name))
    optional = [p for p in _verb(verb).params if p.param_type_name == "option"]
    optional = [p for p in optional if not NEVER & set(p.opts)]
    for _ in range(int(rng.integers(5))):
        param = _pick(rng, optional)
        words.append(_pick(rng, (*param.opts, *param.secondary_opts)))
        if not param.is_flag or rng.random() < 0.02:
            words.append(_value(rng, param.name))
    if rng.random() < 0.03:
        words.insert(int(rng.integers(len(words) + 1)), _pick(rng, NAMES))
    return (*words, *_keep_small(rng, verb, words))


def _keep_small(rng: np.random.Generator, verb: str, words: list[str]) -> tuple[str, ...]:
    """Make what would be run small; the last value of an option wins."""
    tiny = () if rng.random() < 0.02 and "--plan" in words else TINY
    if verb == "sweep":
        if rng.random() < 0.96:
            given = {"--tasks", "--config"} & set(words) or rng.random() < 0.1
            few = () if given else ("--tasks", "matching-3", "--seeds", "1")
            return (*few, *tiny, "--plan")
        small = ("--tasks", "matching-3", "--methods", "two-stage,dgl-1", "--jobs", "1")
        return (*TINY, *small, "--epochs", "1", "--seeds", "1", "--time-limit", "2")
    if verb == "train":
        return (*TINY, "--n", "3", "--epochs", "1", "--no-warm-start", "--time-limit", "2")
    return tiny if verb == "generate" else ()


def _value(rng: np.random.Generator, name: str) -> str:
    if rng.random() < 0.06:
        return str(_pick(rng, NAMES))
    if name in ("set_", "option"):
        return _assignment(rng, plugins.TASKS if name == "set_" else plugins.METHODS)
    if rng.random() < 0.6:
        return str(_pick(rng, GOOD.get(name, ("1", "2", "0.5", "3"))))
    if name in FILE_OPTIONS:
        return str(_pick(rng, FILES))
    return str(_pick(rng, POOLS.get(name, NUMBERS)))


def _assignment(rng: np.random.Generator, group: str) -> str:
    if rng.random() < 0.1:
        return str(_pick(rng, ("", "=", "x", "=3", "n", "a.b.c=1", ".n=3", "n.=3", "n==3")))
    plugin = _pick(rng, [plugin for plugin in plugins.plugins(group) if plugin.error is None])
    cls = plugin.target.Settings if group == plugins.TASKS else plugin.target.Options
    key = _pick(rng, [info.name for info in options.describe(cls)])
    owner = _pick(rng, ("", "", f"{plugin.name}.", "nope."))
    value = _pick(rng, (*NUMBERS, "semo", "relax", "plain", "1,2", "1,x", "true", ",", "3"))
    if rng.random() < 0.6:
        owner, value = "", _pick(rng, ("1", "2", "3", "0.5", "1,2"))
    return f"{owner}{key}={value}"


# -- damaged files -------------------------------------------------------------------


def _damaged_file(rng: np.random.Generator) -> Case:
    return _pick(rng, (_damaged_run, _damaged_dataset, _damaged_toml, _odd_arrays))(rng)


def _damaged_run(rng: np.random.Generator) -> Case:
    run = _pick(rng, ("results/donor", "results/donor", "old/run"))
    folder = run.partition("/")[0]
    words = _pick(
        rng,
        (
            ("report", folder),
            ("report", run, "--table", "runs"),
            ("report", folder, "--table", "all", "--json"),
            ("report", folder, "--claims"),
            ("train", "--like", run, "--time-limit", "2", "--epochs", "1", "--no-warm-start"),
            ("sweep", "--config", "sweep.toml", "--out", folder, "--plan"),
        ),
    )
    file = _pick(rng, ("run.json", "*.parquet", "weights.pt"))
    spoil = _spoil_json if file.endswith("json") and rng.random() < 0.7 else _spoil_bytes
    state = rng.bit_generator.state

    def prepare(root: Path) -> None:
        again = _resumed(state)
        found = sorted((root / run).glob(file))
        if found:
            spoil(again, _pick(again, found))

    return Case(words, prepare)


def _damaged_dataset(rng: np.random.Generator) -> Case:
    tail = ("--epochs", "1", "--no-warm-start", "--time-limit", "2", "--solver", "batched")
    words = _pick(
        rng,
        (
            ("train", "matching", "--data", "data.parquet", "--method", "two-stage", *tail),
            ("generate", "matching-3", "--out", "data.parquet", *TINY),
            ("generate", "matching-3", "--out", "data.parquet", "--force", *TINY),
            ("train", "knapsack-24", "--set", "source=semo", *tail),
            ("sweep", "--data", "data.parquet", "--methods", "spo", "--plan"),
            ("apply", "results/donor", "--data", "data.parquet", "--out", "plan.csv"),
        ),
    )
    spoil = _pick(rng, (_spoil_bytes, _spoil_dataset))
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / "data.parquet"))


def _odd_arrays(rng: np.random.Generator) -> Case:
    """Somebody's own arrays: of other shapes and types, not finite, missing, cut short."""
    name, words = _pick(
        rng,
        (
            ("mine.npz", ("import", "mine.npz")),
            ("mine.npz", ("import", "mine.npz", "--in-order", "--json")),
            ("new.npz", ("apply", "results/donor", "--data", "new.npz", "--out", "plan.csv")),
        ),
    )
    spoil = _spoil_bytes if rng.random() < 0.3 else _spoil_arrays
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / name))


def _spoil_arrays(rng: np.random.Generator, path: Path) -> None:
    arrays = dict(np.load(path))
    name = _pick(rng, sorted(arrays))
    array = arrays[name]
    changes: tuple[Callable[[], Any], ...] = (
        lambda: array[:-1],
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array.astype("float32"),
        lambda: array.astype(str),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full(array.shape, -1.0),
        lambda: np.full(array.shape, 1e308),
        lambda: np.zeros(array.shape),
        lambda: np.empty((0, *array.shape[1:])),
        lambda: array * 1j,
        lambda: np.array(3.0),
        lambda: np.array([{}], dtype=object),
    )
    if rng.random() < 0.1:
        del arrays[name]
    else:
        arrays[name] = _pick(rng, changes)()
    if rng.random() < 0.2:
        extra = _pick(rng, ("mask", "split", "sense", "groups", "equality", "other"))
        arrays[extra] = _pick(rng, (np.zeros(3), np.array("x"), np.ones(2)))
    np.savez(path, **arrays)


def _damaged_toml(rng: np.random.Generator) -> Case:
    name, words = _pick(
        rng,
        (
            ("sweep.toml", ("sweep", "--config", "sweep.toml", "--plan")),
            ("settings.toml", ("sweep", "--config", "settings.toml", "--plan")),
            ("claims.toml", ("report", "results", "--claims-file", "claims.toml")),
        ),
    )
    spoil = _spoil_bytes if rng.random() < 0.3 else _spoil_toml
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / name))


def _resumed(state: Any) -> np.random.Generator:
    rng = np.random.Generator(np.random.PCG64())
    rng.bit_generator.state = state
    return rng


def _spoil_bytes(rng: np.random.Generator, path: Path) -> None:
    content = bytearray(path.read_bytes())
    how = int(rng.integers(5))
    if how == 0:
        del content[int(rng.integers(len(content) + 1)) :]
    elif how == 1:
        for _ in range(int(rng.integers(1, 9))):
            content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    elif how == 2:
        content = bytearray(rng.bytes(int(rng.integers(200))))
    elif how == 3:
        start = int(rng.integers(len(content)))
        content[start:start] = rng.bytes(4)
    else:
        path.unlink()
        if rng.random() < 0.5:
            path.mkdir()
        return
    path.write_bytes(content)


ODD = (None, -1, 0, 1.5, 1e300, "", "x", "nan", [], {}, [1, "a"], {"a": {}}, True, 10**30, "1,2")


def _mutate(rng: np.random.Generator, value: Any) -> Any:
    """Change one thing somewhere in a document: another type, one less, one more."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = _pick(rng, sorted(value, key=str))
        how = rng.random()
        if how < 0.1:
            return {other: part for other, part in value.items() if other != key}
        if how < 0.15:
            return {**value, _pick(rng, ("x", "", key.upper())): _pick(rng, ODD)}
        return {**value, key: _mutate(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        return [*value[:place], _mutate(rng, value[place]), *value[place + 1 :]]
    return _pick(rng, ODD)


def _spoil_json(rng: np.random.Generator, path: Path) -> None:
    if path.name == "run.json":  # with a seal that fits, as another version would write it
        change_record(path.parent, lambda record: record.update(_mutate_table(rng, record)))
    else:
        path.write_text(json.dumps(_mutate(rng, json.loads(path.read_text("utf-8")))))


def _mutate_table(rng: np.random.Generator, record: dict[str, Any]) -> dict[str, Any]:
    mutated = _mutate(rng, record)
    return mutated if isinstance(mutated, dict) else {"identity": mutated}


def _spoil_toml(rng: np.random.Generator, path: Path) -> None:
    document = tomlkit.parse(path.read_text("utf-8")).unwrap()
    for _ in range(int(rng.integers(1, 3))):
        mutated = _without_none(_mutate(rng, document))
        document = mutated if isinstance(mutated, dict) else document
    try:
        path.write_text(tomlkit.dumps(document), "utf-8")
    except (ValueError, TypeError, AttributeError):  # what TOML cannot say is bytes instead
        _spoil_bytes(rng, path)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value if part is not None]
    return value


def _spoil_dataset(rng: np.random.Generator, path: Path) -> None:
    """Write a Parquet file that is whole and wrong: columns lacking, of other types, shorter."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    name = _pick(rng, table.column_names)
    place = table.column_names.index(name)
    how = int(rng.integers(6))
    if how == 0:
        table = table.drop_columns([name])
    elif how == 1:
        table = table.set_column(place, name, pa.array(["x"] * len(table)))
    elif how == 2:
        table = table.slice(0, int(rng.integers(len(table))))
    elif how == 3:
        table = table.set_column(place, name, pa.nulls(len(table), table.column(place).type))
    else:
        known = dict(table.schema.metadata or {})
        key = _pick(rng, sorted(known) or [b"x"])
        try:
            changed = json.dumps(_mutate(rng, json.loads(known.get(key, b"{}")))).encode()
        except ValueError:
            changed = rng.bytes(8)
        table = table.replace_schema_metadata({**known, key: changed} if how == 4 else None)
    pq.write_table(table, path)


def described(case: Case) -> str:
    """Write a case for a person: what to type, and whether files were damaged before."""
    damage = "" if case.prepare is None else "  (after damaging files)"
    return f"dglbench {' '.join(map(repr, case.words))}{damage}"


__all__ = ["Case", "described", "make_case"]
