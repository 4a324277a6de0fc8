"""How long a leaderboard of 3,000 runs takes: a grid of 25 configurations, and 375 settings.

Runs are invented, then copied under new specs; reading and ranking them is real. The
goal is under 10 s for both shapes of folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "report"))
from make_logs import METHODS, make_run

RUNS = 3000
GOAL_S = 10.0


def fill(out: Path, configurations: int) -> None:
    """Write `RUNS` runs of all methods, so many configurations of each in every setting."""
    donors = {method: make_run(out / "donor", method, "matching", 10) for method in METHODS}
    seeds = RUNS // len(METHODS) // configurations
    for method, donor in donors.items():
        spec = json.loads((donor / "spec.json").read_text())
        for seed in range(seeds):
            for at in range(configurations):
                spec["identity"] |= {"seed": seed}
                spec["identity"]["options"]["lr"] = 0.01 * (at + 1)
                run = out / "results" / f"matching-10-s{seed}-{method}-{at}"
                shutil.copytree(donor, run)
                (run / "spec.json").write_text(json.dumps(spec))


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
