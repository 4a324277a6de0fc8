"""Command lines and damaged files at random: real verbs, options and names, good and bad values.

A case is a pure function of its seed and number. Sizes are tiny and most sweeps only
planned, so that thousands take minutes; what would download, open windows, start
clusters or write outside the scratch folder is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_damage import pick, spoil_arrays, spoil_bytes, spoil_dataset, spoil_json, spoil_toml

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
    "sweep.toml", "broken.toml", "mine.npz", "new.npz", "plugin.py", "broken.py", "runs.dglpack",
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
    "search": ("none", "nope", "", "FULL", "random", "optuna", "halving", "full"),
    "tune_seeds": ("0-2", "1", "3-1", "a", ",", "-1", HUGE),
    "predictor": (
        "linear",
        "mlp",
        "mlp:hidden=0",
        "mlp:hidden=x",
        "mlp:",
        "mlp:nope=1",
        "mlp:hidden=4,layers=9",
        "cnn",
        "linear:units=raw",
        "linear:units=",
        "boosted-trees",
        "LINEAR",
        ":",
        "mlp:hidden",
    ),
    "lead_in": ("dgl-none:1", "dgl-none", "dgl-none:0", "nope:2", "spo:1,lr=0.1", "spo:x", ":"),
    "choose": ("best", "last", "BEST", "nope", ""),
    "optimizer": ("adam", "adamw", "sgd", "lion", ""),
    "schedule": ("constant", "cosine", "linear", "plateau", "step", ""),
    "dtype": ("float32", "float64", "float16", ""),
    "split": ("random", "time", "nope", ""),
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
    "search": ("none", "random"),
    "tune_seeds": ("3", "3-4"),
    "repeats": ("1", "2"),
    "predictor": ("linear", "mlp:hidden=4", "mlp:hidden=4,layers=2", "linear:units=raw"),
    "lead_in": ("dgl-none:1", "spo:1"),
    "choose": ("best", "last"),
    "optimizer": ("adam", "adamw", "sgd"),
    "schedule": ("constant", "cosine", "linear", "plateau"),
    "runs": ("1", "2"),
    "packs": ("runs.dglpack",),
    "pack": ("runs.dglpack",),
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
    "results": ("results", "old", "results/donor", ".", "runs.dglpack"),
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
    "pack",
    "packs",
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


# -- command lines -------------------------------------------------------------------


@functools.cache
def _verb(name: str) -> Any:
    from typer.main import get_command

    group: Any = get_command(app.app)
    return group._load(name)


def _command_line(rng: np.random.Generator) -> tuple[str, ...]:
    verb = pick(rng, (*app.VERBS, "train", "sweep", "report", "sweeep"))
    if verb not in app.VERBS:
        return (verb, *pick(rng, ((), ("--plan",))))
    words = [verb]
    for param in _verb(verb).params:
        if param.param_type_name == "argument" and rng.random() < 0.9:
            words.append(_value(rng, param.name))
    optional = [p for p in _verb(verb).params if p.param_type_name == "option"]
    optional = [p for p in optional if not NEVER & set(p.opts)]
    for _ in range(int(rng.integers(5))):
        param = pick(rng, optional)
        words.append(pick(rng, (*param.opts, *param.secondary_opts)))
        if not param.is_flag or rng.random() < 0.02:
            words.append(_value(rng, param.name))
    if rng.random() < 0.03:
        words.insert(int(rng.integers(len(words) + 1)), pick(rng, NAMES))
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
        return (*TINY, "--n", "3", "--epochs", "1", "--warm-start-epochs", "1", "--time-limit", "2")
    if verb == "fit":
        return ("--runs", "1")
    return tiny if verb == "generate" else ()


def _value(rng: np.random.Generator, name: str) -> str:
    if rng.random() < 0.06:
        return str(pick(rng, NAMES))
    if name in ("set_", "option"):
        return _assignment(rng, plugins.TASKS if name == "set_" else plugins.METHODS)
    if rng.random() < 0.6:
        return str(pick(rng, GOOD.get(name, ("1", "2", "0.5", "3"))))
    if name in FILE_OPTIONS:
        return str(pick(rng, FILES))
    return str(pick(rng, POOLS.get(name, NUMBERS)))


def _assignment(rng: np.random.Generator, group: str) -> str:
    if rng.random() < 0.1:
        return str(pick(rng, ("", "=", "x", "=3", "n", "a.b.c=1", ".n=3", "n.=3", "n==3")))
    plugin = pick(rng, [plugin for plugin in plugins.plugins(group) if plugin.error is None])
    cls = plugin.target.Settings if group == plugins.TASKS else plugin.target.Options
    key = pick(rng, [info.name for info in options.describe(cls)])
    owner = pick(rng, ("", "", f"{plugin.name}.", "nope."))
    value = pick(rng, (*NUMBERS, "semo", "relax", "plain", "1,2", "1,x", "true", ",", "3"))
    if rng.random() < 0.6:
        owner, value = "", pick(rng, ("1", "2", "3", "0.5", "1,2"))
    return f"{owner}{key}={value}"


# -- damaged files -------------------------------------------------------------------


def _damaged_file(rng: np.random.Generator) -> Case:
    kinds = (_damaged_run, _damaged_dataset, _damaged_toml, _damaged_pack, _odd_arrays)
    return pick(rng, kinds)(rng)


def _damaged_run(rng: np.random.Generator) -> Case:
    run = pick(rng, ("results/donor", "results/donor", "old/run"))
    folder = run.partition("/")[0]
    words = pick(
        rng,
        (
            ("report", folder),
            ("report", run, "--table", "runs"),
            ("report", folder, "--table", "all", "--json"),
            ("report", folder, "--claims"),
            (
                "train",
                "--like",
                run,
                "--time-limit",
                "2",
                "--epochs",
                "1",
                "--warm-start-epochs",
                "1",
            ),
            ("sweep", "--config", "sweep.toml", "--out", folder, "--plan"),
        ),
    )
    file = pick(rng, ("run.json", "*.parquet", "weights.pt"))
    spoil = spoil_json if file.endswith("json") and rng.random() < 0.7 else spoil_bytes
    state = rng.bit_generator.state

    def prepare(root: Path) -> None:
        again = _resumed(state)
        found = sorted((root / run).glob(file))
        if found:
            spoil(again, pick(again, found))

    return Case(words, prepare)


def _damaged_dataset(rng: np.random.Generator) -> Case:
    tail = ("--epochs", "1", "--warm-start-epochs", "1", "--time-limit", "2", "--solver", "batched")
    words = pick(
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
    spoil = pick(rng, (spoil_bytes, spoil_dataset))
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / "data.parquet"))


def _damaged_pack(rng: np.random.Generator) -> Case:
    words = pick(
        rng,
        (
            ("report", "runs.dglpack"),
            ("report", "runs.dglpack", "results", "--table", "runs"),
            ("unpack", "runs.dglpack", "--out", "again"),
            ("verify", "runs.dglpack"),
            ("pack", "runs.dglpack", "results", "--out", "both.dglpack", "--zip"),
        ),
    )
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil_bytes(_resumed(state), root / "runs.dglpack"))


def _odd_arrays(rng: np.random.Generator) -> Case:
    """Somebody's own arrays: of other shapes and types, not finite, missing, cut short."""
    name, words = pick(
        rng,
        (
            ("mine.npz", ("import", "mine.npz")),
            ("mine.npz", ("import", "mine.npz", "--in-order", "--json")),
            ("new.npz", ("apply", "results/donor", "--data", "new.npz", "--out", "plan.csv")),
        ),
    )
    spoil = spoil_bytes if rng.random() < 0.3 else spoil_arrays
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / name))


def _damaged_toml(rng: np.random.Generator) -> Case:
    name, words = pick(
        rng,
        (
            ("sweep.toml", ("sweep", "--config", "sweep.toml", "--plan")),
            ("settings.toml", ("sweep", "--config", "settings.toml", "--plan")),
            ("claims.toml", ("report", "results", "--claims-file", "claims.toml")),
        ),
    )
    spoil = spoil_bytes if rng.random() < 0.3 else spoil_toml
    state = rng.bit_generator.state
    return Case(words, lambda root: spoil(_resumed(state), root / name))


def _resumed(state: Any) -> np.random.Generator:
    rng = np.random.Generator(np.random.PCG64())
    rng.bit_generator.state = state
    return rng


def described(case: Case) -> str:
    """Write a case for a person: what to type, and whether files were damaged before."""
    damage = "" if case.prepare is None else "  (after damaging files)"
    return f"dglbench {' '.join(map(repr, case.words))}{damage}"


__all__ = ["Case", "described", "make_case"]
