"""Say where successive halving would have chosen another configuration than a whole search.

    python benchmarks/halving.py reference-runs/tuning/paper-tasks

reads a folder that `dglbench sweep --search optuna` (or `full`) filled. Every run there was trained
to its end, so what halving would have seen after 5 and 14 of 40 epochs is in the logs: the best
third by validation regret goes on, as `--search halving` does it. No run is made.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import polars as pl
from rich.console import Console
from rich.table import Table

import dglbench

RUNGS = (5, 14)
KEPT = 3  # one in so many goes on


def main() -> None:
    """Print a row for each search whose winner halving would have cut."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="+", help="folders that a search filled")
    results = dglbench.load(*parser.parse_args().results)
    curves = defaultdict(dict)
    judged = results.regret.filter(pl.col("split") == "val")
    for run_id, epoch, regret in judged.select("run_id", "epoch", "relative_regret").iter_rows():
        curves[run_id][epoch] = regret
    searches = defaultdict(list)
    for run in results.runs.filter(state="done").iter_rows(named=True):
        searches[run["setting"], run["seed"], run["method"]].append(run)
    table = Table(
        "setting", "method", "configurations", "winner", "halving's", "cut after", "loses"
    )
    changed = 0
    for (setting, _, method), runs in sorted(searches.items()):
        best = min(runs, key=lambda run: run["val_regret"])
        left, cut = runs, None
        for rung in RUNGS:
            left = sorted(left, key=lambda run: reached(curves[run["run_id"]], rung))
            left = left[: max(1, len(left) // KEPT)]
            if cut is None and best not in left:
                cut = rung
        taken = min(left, key=lambda run: run["val_regret"])
        if cut is None:
            continue
        changed += 1
        loses = taken["test_regret"] / best["test_regret"] - 1
        regrets = (f"{run['test_regret']:.2%}" for run in (best, taken))
        table.add_row(setting, method, str(len(runs)), *regrets, f"{cut} epochs", f"{loses:+.0%}")
    console = Console()
    console.print(table)
    console.print(f"halving would have cut the winner in {changed} of {len(searches)} searches.")


def reached(curve: dict[int, float], epoch: int) -> float:
    """Return the lowest validation regret up to an epoch."""
    seen = [regret for at, regret in curve.items() if at <= epoch]
    return min(seen, default=float("inf"))


if __name__ == "__main__":
    main()
