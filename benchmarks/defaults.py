"""Find each method's defaults: one configuration for all tasks, by validation regret.

    python benchmarks/defaults.py FOLDER

Runs `defaults.toml` into FOLDER (the same command resumes; more arguments go to the sweep) and
prints, per method, every configuration with its validation regret on each setting with each
predictor, in %, and first by how many points it is above the method's best there, on average.
Points and not shares: where a network leaves no regret to speak of, a share of it is noise. Test
results are not looked at.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from dglbench.runs.selection import validation_regret
from dglbench.runs.store import read_record, run_folders

SEARCHED = ("lr", "tau", "mu", "start")


def main() -> int:
    """Search, then compare."""
    out = Path(sys.argv[1])
    config = Path(__file__).with_suffix(".toml")
    command = [
        sys.executable,
        "-m",
        "dglbench",
        "sweep",
        "--config",
        config,
        "--out",
        out,
        *sys.argv[2:],
    ]
    if subprocess.run(command, check=False).returncode:
        return 1
    runs: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for folder in run_folders(out):
        record = read_record(folder)
        identity = record.identity
        tried = {key: identity.options[key] for key in SEARCHED if key in identity.options}
        words = ", ".join(f"{key} {value}" for key, value in tried.items())
        where = f"{identity.setting} {identity.predictor}"
        runs[identity.method][words][where].append(validation_regret(record))
    for method, repeated in sorted(runs.items()):
        configurations = {
            words: {name: fmean(regrets) for name, regrets in found.items()}
            for words, found in repeated.items()
        }
        settings = sorted({name for found in configurations.values() for name in found})
        best = {name: min(found[name] for found in configurations.values()) for name in settings}
        print(f"{method}: {', '.join(settings)}")
        above = {
            words: fmean(found[name] - best[name] for name in settings)
            for words, found in configurations.items()
        }
        for words in sorted(above, key=above.__getitem__):
            found = configurations[words]
            shown = "  ".join(f"{found[name]:6.2%}" for name in settings)
            print(f"  {words:32} {above[words]:+7.2%}  {shown}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
