"""How cost grows with the number of individuals: one method and size after another.

    python benchmarks/scale.py [--methods A,B] [--sizes N,N] [--epochs E] [--turns T]

Every method trains on `matching` with one number of locations, so that only n grows. Prints
CPU seconds per epoch (the fastest of all turns, set-up apart; sizes take turns), solver calls, peak
memory, and the slope of seconds on n in log axes from 200 individuals on. Exits with 1
if a method that solves nothing after its set-up has a slope above 1.1.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import time

import numpy as np

from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import load_data
from dglbench.training.learner import Learner
from dglbench.training.run import run_to_memory

LINEAR = ("dgl-none", "rdgl-none", "rdgl-newton")
BAR, FROM = 1.1, 200


def measure(method: str, n: int, arguments: argparse.Namespace) -> float | None:
    """Train once; print what it took and return the seconds of an epoch, None if it did not end."""
    spec = single_run(
        "matching",
        method,
        options={} if method == "two-stage" else {"start": "fresh"},
        settings={"n": n, "locations": arguments.locations, "train": 32, "val": 4, "test": 4},
        solver="batched",
        epochs=arguments.epochs,
    )
    data = load_data(spec.data, spec.data_digest)
    output = run_to_memory(spec, data, time_limit=arguments.time_limit)
    record, summary = output.record, output.record.summary
    if record.state != "done" or summary is None:
        print(f"{method:12} {n:6}  {record.state}: {record.status.message}", flush=True)
        return None
    seconds = fastest_epoch(Learner(spec, data.dataset, None), arguments.epochs)
    print(
        f"{method:12} {n:6} {seconds:9.4f} CPU s/epoch {summary.training_solves:7,} solves "
        f"{summary.peak_memory_mb or 0:7,.0f} MB {summary.outside_s or 0:7.2f} s outside",
        flush=True,
    )
    return seconds


def fastest_epoch(learner: Learner, epochs: int) -> float:
    """Return the least CPU seconds of an epoch: others on the machine slow the wall clock only."""
    learner.set_up()
    spent = []
    for _ in range(epochs):
        before = time.process_time()
        learner.epoch(lambda: None)
        spent.append(time.process_time() - before)
    return min(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="two-stage,spo,dgl-none,dgl-5,rdgl-none,rdgl-newton")
    parser.add_argument("--sizes", default="200,1000,3000,10000")
    parser.add_argument("--locations", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=300.0)
    arguments = parser.parse_args()
    missed = False
    for method in arguments.methods.split(","):
        points: dict[int, float] = {}
        for n in [int(size) for size in arguments.sizes.split(",")] * arguments.turns:
            seconds = measure(method, n, arguments)
            if seconds is not None:
                points[n] = min(seconds, points.get(n, seconds))
        ended = [(n, s) for n, s in points.items() if n >= FROM]
        if len(ended) > 1:
            slope = float(np.polyfit(*np.log(np.array(ended)).T, 1)[0])
            bad = method in LINEAR and slope > BAR
            missed |= bad
            bar = f" (at most {BAR}): {'MISSED' if bad else 'met'}" if method in LINEAR else ""
            print(f"{method:12} slope {slope:.2f} from n = {ended[0][0]}{bar}", flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
