"""How well a sweep uses the machine, against the bars it is held to.

    python benchmarks/sweep.py [speedup] [plan] [quick] [bookkeeping]

- speedup: twelve equal runs at --jobs 2 take at most 0.62 of the time at --jobs 1
- plan: `sweep --plan` over a folder of 3,000 finished runs answers in under 5 s
- quick: `--preset quick` finishes in about a minute
- bookkeeping: a tiny run costs a sweep less than 50 ms beside its training, its evaluation and
  its share of a warm start, as logged. It counts generating a dataset for two runs, resolving and
  checking, writing and flushing eight files, the choices and the display; start-up cancels out, as
  the figure is what each run of a sweep of 320 takes beyond those of a sweep of 20

Times are of whole processes, interpreter start and imports included. Close
everything else that runs: with two cores, anything more spoils the first figure.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from record_files import change_record

SPEEDUP_BAR = 0.62
PLAN_BAR_S = 5.0
QUICK_BAR_S = 75.0
BOOKKEEPING_BAR_S = 0.05
FINISHED_RUNS = 3000


def main() -> int:
    wanted = sys.argv[1:] or ["speedup", "plan", "quick", "bookkeeping"]
    measures = {"speedup": speedup, "plan": plan, "quick": quick, "bookkeeping": bookkeeping}
    with tempfile.TemporaryDirectory() as folder:
        met = [measures[name](Path(folder) / name) for name in wanted]
    return 0 if all(met) else 1


def speedup(folder: Path) -> bool:
    seeds = ",".join(str(seed) for seed in range(1, 13))
    words = ("--tasks", "matching-50", "--methods", "spo", "--seeds", seeds, "--epochs", "25")
    seconds = {jobs: timed(folder / str(jobs), *words, "--jobs", str(jobs)) for jobs in (1, 2)}
    ratio = seconds[2] / seconds[1]
    return show(
        f"twelve runs: {seconds[1]:.1f} s at --jobs 1, {seconds[2]:.1f} s at --jobs 2, ratio",
        ratio,
        SPEEDUP_BAR,
    )


def plan(folder: Path) -> bool:
    """Fill a folder with copies of one run under the ids that a grid asks for."""
    small = ("--set", "train=20", "--set", "val=20", "--set", "test=20", "--epochs", "2")
    grid = ("--preset", "grid", "--tasks", "matching-10", "--methods", "dgl-1,dgl-auto,qptl")
    seeds = ("--seeds", ",".join(str(seed) for seed in range(8)))
    common = (*grid, *seeds, *small, "--solver", "batched")
    timed(folder, *common, "--seeds", "0", "--methods", "dgl-1", "--search", "none")
    model = next(folder.glob("matching-10-*")).rename(folder.with_name("model"))
    groups = json.loads(sweep(folder, *common, "--plan", "--json").stdout)["groups"]
    ids = [run_id for group in groups for run_id in group["run_ids"]]
    for run_id in ids[:FINISHED_RUNS]:
        copy = folder / run_id
        shutil.copytree(model, copy)
        change_record(copy, lambda record: record.update(run_id=run_id))  # noqa: B023
    began = time.perf_counter()
    document = json.loads(sweep(folder, *common, "--plan", "--json").stdout)
    seconds = time.perf_counter() - began
    done = document["done"]
    return show(f"plan of {document['runs']} runs, {done} finished: seconds", seconds, PLAN_BAR_S)


def quick(folder: Path) -> bool:
    return show("--preset quick: seconds", timed(folder, "--preset", "quick"), QUICK_BAR_S)


TINY = """
methods = ["two-stage", "dgl-1"]
solver = "batched"
epochs = 2
warm_start_epochs = 2

[[setting]]
task = "matching-10"
set = {{ train = 8, val = 4, test = 4 }}
seeds = {seeds}
"""


def bookkeeping(folder: Path) -> bool:
    """Compare sweeps of few and of many tiny runs by what they spend beside the runs' own time."""
    few, many = 20, 320
    beside = {}
    for runs in (few, many):
        out = folder / str(runs)
        config = folder / f"{runs}.toml"
        folder.mkdir(exist_ok=True)
        config.write_text(TINY.format(seeds=list(range(runs // 2))))
        whole = timed(out, "--config", str(config))
        records = [json.loads(path.read_bytes()) for path in out.glob("*/run.json")]
        if len(records) != runs:
            raise SystemExit(f"{out} has {len(records)} runs, not {runs}")
        warm = [record["summary"]["warm_start"] for record in records]
        own = sum(record["status"]["wall_s"] for record in records)
        beside[runs] = whole - own - sum(start["seconds"] for start in warm if start)
    each = (beside[many] - beside[few]) / (many - few)
    return show(f"{many} tiny runs: seconds of bookkeeping a run", each, BOOKKEEPING_BAR_S)


def timed(out: Path, *words: str) -> float:
    began = time.perf_counter()
    sweep(out, *words)
    return time.perf_counter() - began


def sweep(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dglbench", "sweep", "--out", str(out), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)


def show(what: str, figure: float, bar: float) -> bool:
    met = figure <= bar
    print(f"{what} {figure:.3g} (bar {bar:g}): {'met' if met else 'MISSED'}", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
