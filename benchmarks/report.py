"""How long a leaderboard of 3,000 runs takes: a grid of 25 configurations, and 375 settings.

Runs are invented, then copied under new specs; reading and ranking them is real. The
goal is under 4 s for both shapes of folder.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from make_logs import METHODS, make_run
from record_files import change_record

RUNS = 3000
GOAL_S = 4.0


def fill(out: Path, configurations: int) -> None:
    """Write `RUNS` runs of all methods, so many configurations of each in every setting."""
    donors = {method: make_run(out / "donor", method, "matching", 10) for method in METHODS}
    seeds = RUNS // len(METHODS) // configurations
    for method, donor in donors.items():
        for seed in range(seeds):
            for at in range(configurations):
                run = out / "results" / f"matching-10-s{seed}-{method}-{at}"
                shutil.copytree(donor, run)
                change_record(run, functools.partial(_rename, run.name, seed, 0.01 * (at + 1)))


def _rename(run_id: str, seed: int, lr: float, record: dict[str, Any]) -> None:
    record["run_id"] = run_id
    record["identity"]["seed"] = seed
    record["identity"]["options"]["lr"] = lr


def main() -> int:
    slow = False
    for name, configurations in (("a grid", 25), ("many settings", 1)):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            fill(out, configurations)
            count = sum(1 for _ in (out / "results").iterdir())
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "dglbench", "report", str(out / "results")],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            spent = time.perf_counter() - start
        slow |= spent > GOAL_S
        print(f"leaderboard of {count:,} runs, {name}: {spent:.1f} s (goal {GOAL_S:g} s)")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
