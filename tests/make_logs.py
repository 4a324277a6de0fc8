"""Write folders of invented runs, through the same `write_run` as real ones.

Curves and costs have the shape of real runs (a warm start, a fast drop for DGL,
a slow but lower end for QPTL) and are a pure function of the arguments. Run
``python tests/make_logs.py FOLDER`` to get the whole paper's worth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dglbench.clock import PHASES
from dglbench.runs import schemas
from dglbench.runs.record import RunOutput, RunRecord
from dglbench.runs.store import write_run
from dglbench.task import TaskSpec
from dglbench.training.spec import Protocol, RunSpec

METHODS = ("two-stage", "spo", "qptl", "dgl-none", "dgl-1", "dgl-5", "dgl-20", "dgl-auto")
PAPER = (
    *(("matching", n, seed) for n in (10, 50) for seed in (10, 25, 95)),
    ("knapsack", 24, 25),
    ("knapsack", 48, 25),
)

# Final regret relative to the warm start's, and epochs to get most of the way there.
_SHAPE = {
    "two-stage": (1.0, 5.0),
    "spo": (0.62, 9.0),
    "qptl": (0.56, 7.0),
    "dgl-none": (0.72, 2.0),
    "dgl-20": (0.69, 2.0),
    "dgl-5": (0.65, 2.5),
    "dgl-1": (0.61, 3.0),
    "dgl-auto": (0.63, 2.5),
}
_INSTANCES = {"matching": (400, 400, 200), "knapsack": (550, 100, 139)}


@dataclass(frozen=True)
class Settings:
    n: int = 50
    capacity_fraction: float = 0.5


@dataclass(frozen=True)
class Options:
    lr: float = 0.01
    alpha: float = 0.0
    tau: float = 0.1


ENVIRONMENT: Mapping[str, Any] = {
    "python": "3.11.9",
    "platform": "Linux",
    "cpu": "Invented CPU @ 3 GHz",
    "cores": 8,
    "memory_gib": 32,
    "machine": "0123456789ab",
    "versions": {"dglbench": "0.1.0"},
    "git_revision": "f" * 40,
    "git_dirty": False,
    "threads": 1,
    "concurrency": 1,
    "load_1min": 0.7,
}


def make_run(
    out: Path,
    method: str = "spo",
    task: str = "matching",
    n: int = 50,
    seed: int = 25,
    *,
    epochs: int = 40,
    options: Options | None = None,
    settings: Settings | None = None,
    status: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    source: str = "0" * 12,
    regret_factor: float = 1.0,
    integral: bool | None = None,
    data_digest: str | None = None,
    train_seed: int = 0,
    predictor: str = "linear",
) -> Path:
    """Write one run and return its folder; a failed ``status`` leaves no tables."""
    spec = RunSpec(
        data=TaskSpec(task, settings or Settings(n=n), seed),
        method=method,
        options=options or Options(),
        solver="batched",
        dual_rule="centre",
        protocol=Protocol(epochs=epochs),
        source=source,
        data_digest=data_digest,
        train_seed=train_seed,
        predictor=predictor,
    )
    repeat = [train_seed] if train_seed else []
    rng = np.random.default_rng([sum(map(ord, task + method)), n, seed, *repeat])
    status = dict(status or {})
    if status.get("state", "done") == "done":
        tables = _tables(rng, Invented(method, task, n, seed), epochs, regret_factor)
        summary = {**_summary(tables, Invented(method, task, n, seed)), "integral": integral}
        summary["options"] = getattr(settings, "locations", summary["options"])
        summary["instances"]["train"] = getattr(settings, "train", summary["instances"]["train"])
        wall = summary["train_s"] * 1.5
    else:
        tables, summary, wall = {}, None, 1.0
    document = {
        "run_id": spec.run_id,
        "identity": spec.identity,
        "environment": {**ENVIRONMENT, **(environment or {})},
        "status": {
            "state": "done",
            "started": "2026-01-01T00:00:00+00:00",
            "finished": "2026-01-01T00:01:00+00:00",
            "wall_s": wall,
            **status,
        },
        "summary": summary,
    }
    return write_run(RunOutput(RunRecord.parse(document), tables), out)


def make_folder(
    out: Path,
    methods: Iterable[str] = METHODS,
    settings: Iterable[tuple[str, int, int]] = PAPER,
    **rest: Any,
) -> Path:
    """Write one run for each method and setting."""
    for task, n, seed in settings:
        for method in methods:
            make_run(out, method, task, n, seed, **rest)
    return out


class Invented(NamedTuple):
    method: str
    task: str
    n: int
    seed: int

    @property
    def warm_level(self) -> float:
        base = {"matching": 0.035, "knapsack": 0.08}.get(self.task, 0.05)
        return float(base * (1 + 0.004 * self.n) * (1 + 0.12 * np.sin(self.seed)))


def _tables(
    rng: np.random.Generator, run: Invented, epochs: int, factor: float
) -> dict[str, pa.Table]:
    method, task, n, _ = run
    train = _INSTANCES.get(task, (400,))[0]
    solve = 4e-5 * n if task == "matching" else 1.5e-5 * n
    quadratic, derivative = 2e-3 + 6e-5 * n, 5e-4 + 2e-5 * n
    period = {"dgl-1": 1, "dgl-5": 5, "dgl-20": 20}.get(method)
    epoch = np.arange(epochs + 1)
    cost = {f"{phase}_s": np.zeros(epochs + 1) for phase in PHASES}

    def noisy(seconds: float, where: Any = slice(1, None)) -> Any:
        return seconds * rng.lognormal(0, 0.06, np.arange(epochs + 1)[where].size)

    cost["predict_s"][1:] = noisy(1.2e-5 * train)
    cost["backward_s"][1:] = noisy(1.6e-5 * train)
    cost["other_s"][1:] = noisy(0.8e-5 * train)
    cost["other_s"][0] = 0.3 if method == "qptl" else 2e-5
    labels, trained, refreshed = (np.zeros(epochs + 1, dtype=np.int64) for _ in range(3))
    if method == "spo":
        cost["solve_s"][1:], trained[1:] = noisy(solve * train), train
        cost["solve_s"][0], labels[0] = solve * train, train
    elif method == "qptl":
        cost["solve_s"][1:], trained[1:] = noisy(quadratic * train), train
        cost["differentiate_s"][1:] = noisy(derivative * train)
    elif method.startswith("dgl"):
        if method == "dgl-none":
            labels[0] = train
        else:
            refreshed[0] = train
        cost["refresh_s"][0] = solve * train
        if period is not None:
            due = (epoch > 1) & ((epoch - 1) % period == 0)
            refreshed[due] = train
        elif method == "dgl-auto":
            refreshed[2:] = (train * 0.5 * np.exp(-epoch[2:] / 8)).astype(int) + 5
        cost["refresh_s"][1:] = noisy(solve) * refreshed[1:]
    total = np.sum(list(cost.values()), axis=0)
    elapsed = np.cumsum(total)
    timing = {
        "epoch": epoch.astype(np.int32),
        "loss": np.where(epoch == 0, np.nan, np.exp(-epoch / 10)),
        **cost,
        "epoch_s": total,
        "elapsed_s": elapsed,
        "solves_label": labels,
        "solves_train": trained,
        "solves_refresh": refreshed,
    }
    tables = {"timing": pa.table(timing, schema=schemas.TIMING)}
    tables["regret"] = _regret(rng, run, elapsed, factor)
    tests = _INSTANCES.get(task, (0, 0, 200))[2]
    best = rng.normal(0.7 * n, 0.05 * n, tests)
    lost = np.abs(rng.normal(0, 0.03 * n * factor, tests))
    tables["decisions"] = pa.table(
        {
            "instance": np.arange(tests),
            "optimal_value": best,
            "achieved_value": best - lost,
            "regret": lost,
            "optimum_gap": [0.0] * tests,
            "options": [[0] * n] * tests,
        },
        schema=schemas.DECISIONS,
    )
    if method.startswith("dgl"):
        tables |= _dual_tables(rng, epoch, refreshed / train, tables["regret"], n)
    return tables


def _regret(rng: np.random.Generator, run: Invented, elapsed: Any, factor: float) -> pa.Table:
    warm, n = run.warm_level, run.n
    end, pace = _SHAPE.get(run.method, (0.7, 4.0))
    start = 4 * warm if run.method == "two-stage" else warm
    epoch = np.arange(len(elapsed))
    curve = factor * (warm * end + (start - warm * end) * np.exp(-epoch / pace))
    curve[0] = start
    wobble = rng.normal(0, 0.015 * warm, len(epoch)) * (epoch > 0)
    rows = {}
    for split, shift in (("val", 0.97), ("test", 1.0)):
        relative = shift * curve + wobble + rng.normal(0, 0.006 * warm, len(epoch)) * (epoch > 0)
        rows[split] = {
            "epoch": epoch.astype(np.int32),
            "elapsed_s": elapsed,
            "split": [split] * len(epoch),
            "instances": [200] * len(epoch),
            "relative_regret": np.maximum(relative, 0),
            "pooled_regret": np.maximum(relative, 0) * 0.98,
            "absolute_regret": np.maximum(relative, 0) * 0.7 * n,
            "mse": 0.02 + 0.05 * curve,
            "optimum_gap": np.zeros(len(epoch)),
        }
    return pa.concat_tables(pa.table(columns, schema=schemas.REGRET) for columns in rows.values())


def _dual_tables(
    rng: np.random.Generator, epoch: Any, share: Any, regret: pa.Table, n: int
) -> dict[str, pa.Table]:
    stale = np.zeros(len(epoch))
    for at in epoch[1:]:
        drift = 0.08 * np.exp(-at / 12) + 0.004
        stale[at] = (1 - share[at]) * stale[at - 1] + drift * rng.lognormal(0, 0.1)
    broken = np.clip(0.05 + 1.5 * stale, 0, 1)
    duals = {
        "epoch": epoch.astype(np.int32),
        "dual_gap": stale,
        "share_refreshed": share,
        "share_broken": broken,
    }
    scaled = np.asarray(regret["absolute_regret"])[: len(epoch)]
    gap = scaled * 1.3 + 0.02 * n
    predicted, true = 0.03 * n * np.exp(-epoch / 20) + 0.01 * n, np.full(len(epoch), 0.012 * n)
    bound = {
        "epoch": epoch.astype(np.int32),
        "split": ["val"] * len(epoch),
        "regret": scaled,
        "loss_gap": gap,
        "margin_predicted": predicted,
        "margin_true": true,
        "bound": gap + predicted + true,
        "error_term": 4 * gap,
        "adjusted_gap": gap,
        "correction": gap,
        "error_bound": 6 * gap,
        "share_above_error_bound": 0 * gap,
    }
    return {
        "duals": pa.table(duals, schema=schemas.DUALS),
        "bound": pa.table(bound, schema=schemas.BOUND),
    }


def _summary(tables: Mapping[str, pa.Table], run: Invented) -> dict[str, Any]:
    rows = tables["regret"].to_pylist()
    val = [row for row in rows if row["split"] == "val"]
    test = {row["epoch"]: row for row in rows if row["split"] == "test"}
    best = min(val, key=lambda row: row["relative_regret"])
    timing = tables["timing"].to_pydict()
    solves = {p: sum(timing[f"solves_{p}"]) for p in ("label", "train", "refresh")}
    metrics = ("relative_regret", "pooled_regret", "absolute_regret", "mse")
    chosen = test[best["epoch"]]
    counts = _INSTANCES.get(run.task, (400, 400, 200))
    warm = {
        "id": "0" * 12,
        "seconds": 0.8,
        "epochs": 60,
        "test_relative_regret": run.warm_level,
        "val_relative_regret": run.warm_level * 0.97,
    }
    low, high = chosen["relative_regret"] * 0.9, chosen["relative_regret"] * 1.1
    return {
        "epochs_run": timing["epoch"][-1],
        "setup_s": timing["epoch_s"][0],
        "train_s": timing["elapsed_s"][-1],
        "solves": {**solves, "evaluate": 200},
        "instances": dict(zip(("train", "val", "test"), counts, strict=True)),
        "groups": run.n,
        "options": 3,
        "label_scale": 1.0,
        "warm_start": None if run.method == "two-stage" else warm,
        "selected": {
            "epoch": best["epoch"],
            "elapsed_s": best["elapsed_s"],
            "solves": sum(solves.values()),
            "val": {name: best[name] for name in metrics},
            "test": {name: chosen[name] for name in metrics} | {"relative_regret_ci": [low, high]},
        },
    }


if __name__ == "__main__":
    make_folder(Path(sys.argv[1]))
