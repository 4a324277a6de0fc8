"""How fast many small runs are made: restarts of one method, in a sweep of its own process.

    python benchmarks/throughput.py [--repeats N] [--method M] [--task T]

Prints, at ``--jobs 1`` and ``2``: wall and CPU seconds of the whole command, training seconds as
logged, their ratio beyond the start-up, and runs a minute after the start-up. Start-up is what the
same command takes with one run of one epoch. On one job the wall time should be at most 1.5 times
the training seconds plus 4 s; two jobs should make at least 1.8 times as many runs a minute. Exits
with 1 where either fails; on a busy machine read the CPU seconds, which others disturb less.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from dglbench.runs.store import read_record, run_folders

MOST_RATIO, START_UP_S, LEAST_GAIN = 1.5, 4.0, 1.8


class Made(NamedTuple):
    """What a sweep took."""

    runs: int
    wall_s: float
    cpu_s: float
    train_s: float
    evaluations: int
    """The fewest of any run."""


def sweep(arguments: argparse.Namespace, jobs: int, repeats: int, *more: str) -> Made:
    """Make the repeats in a fresh process and a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "dglbench", "sweep", "--tasks", arguments.task, "--quiet"),
            *("--seeds", "25", "--methods", arguments.method, "--option", "start=fresh"),
            *("--repeats", str(repeats), "--solver", "batched", "--out", folder),
            *(() if jobs == 1 else ("--jobs", str(jobs))),
            *more,
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        records = [read_record(run) for run in run_folders(Path(folder))]
    summaries = [record.summary for record in records if record.summary is not None]
    every = max(record.identity.protocol.evaluate_every or 1 for record in records)
    return Made(
        runs=len(records),
        wall_s=wall,
        cpu_s=cpu,
        train_s=sum(summary.train_s for summary in summaries),
        evaluations=min(summary.epochs_run // every for summary in summaries),
    )


def main() -> int:
    """Measure both numbers of jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="matching-50")
    parser.add_argument("--method", default="rdgl-newton")
    parser.add_argument("--repeats", type=int, default=12)
    arguments = parser.parse_args()
    per_minute = {}
    missed = False
    for jobs in (1, 2):
        start_up = sweep(arguments, jobs, 1, "--epochs", "1")
        made = sweep(arguments, jobs, arguments.repeats)
        working = max(made.wall_s - start_up.wall_s, 1e-9)
        per_minute[jobs] = 60 * made.runs / working
        print(
            f"--jobs {jobs}: {made.runs} runs, wall {made.wall_s:.1f} s (CPU {made.cpu_s:.1f} s), "
            f"start-up {start_up.wall_s:.1f} s (CPU {start_up.cpu_s:.1f} s), training "
            f"{made.train_s:.1f} s, wall after the start-up over training "
            f"{working / made.train_s:.2f}, {per_minute[jobs]:.0f} runs a minute, at least "
            f"{made.evaluations} evaluations a run",
            flush=True,
        )
        if jobs == 1:
            allowed = MOST_RATIO * made.train_s + START_UP_S
            missed = made.wall_s > allowed or made.evaluations < 10
            print(f"  {MOST_RATIO:g} × training + {START_UP_S:g} s: {allowed:.1f} s")
    gain = per_minute[2] / per_minute[1]
    print(f"two jobs make {gain:.2f} times as many runs a minute")
    return int(missed or gain < LEAST_GAIN)


if __name__ == "__main__":
    raise SystemExit(main())
