"""How good `dglbench fit` is in its time: against a fit given ten times as long, and its verdict.

    python benchmarks/fit.py [--minutes M] [--longer N] [--seeds S,S] [--kinds K,K] [--jobs J]

Makes data of each kind (`fit_data.py`), fits them with M minutes and again with N times as many in
another folder, and decides on fresh instances that neither has seen. Prints regret on these, the
runs that were made and the verdict. Over the seeds of a kind the short fit should end within 5 % or
0.2 points of the long one. Kinds of which it is known whether training for decisions pays are
fitted once, and the verdict must say so. Exits with 1 where anything is missed. With the defaults
it takes about three and a half hours; on a busy machine a fit gets less done in its minutes.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fit_data import KINDS, Kind

import dglbench
from dglbench.fitting.kinds import side

RATIO, POINTS = 1.05, 0.002


class Ended(NamedTuple):
    """What a fit ended with."""

    regret: float
    pays: bool | None


def fit(kind: Kind, seed: int, minutes: float, jobs: int, *, tell: bool) -> Ended:
    """Fit data of a kind in a folder that is thrown away; print and return what came of it."""
    arrays, fresh = kind.make(seed)
    with tempfile.TemporaryDirectory() as folder:
        model = dglbench.fit(
            arrays,
            minutes=minutes,
            jobs=jobs,
            out=Path(folder),
            progress=False,
            tell=(lambda sentence: print(f"    {sentence}", flush=True)) if tell else None,
        )
        regret = fresh_regret(model, fresh, minimise=arrays.get("sense") == "minimise")
        made = model.runs.filter(state="done")["method"].to_list()
    sides = [sum(side(name) == of for name in made) for of in ("accurate", "decision-focused")]
    chosen = model.verdict["chosen"]
    print(
        f"{kind.name:10} seed {seed}  {minutes:5.1f} min  regret {100 * regret:7.3f} %  "
        f"{sides[0]} + {sides[1]} runs  pays {model.verdict['pays']!s:5}  chosen: "
        f"{chosen['method']}, {chosen['predictor']}, {chosen['start']}",
        flush=True,
    )
    return Ended(regret, model.verdict["pays"])


def fresh_regret(
    model: dglbench.FittedModel, fresh: dict[str, np.ndarray], *, minimise: bool
) -> float:
    """Return the mean relative regret of a model's decisions on fresh instances."""
    labels = np.where(np.isfinite(fresh["labels"]), fresh["labels"], 0.0)
    axes = tuple(range(1, labels.ndim))
    made = (labels * model.decide(fresh["features"])).sum(axis=axes)
    padded = np.stack([labels, np.zeros_like(labels)], axis=-1) if labels.ndim == 2 else labels
    optimal = (padded * model.trained.decide(padded)).sum(axis=(1, 2))
    lost = made - optimal if minimise else optimal - made
    return float((lost / np.abs(optimal)).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--longer", type=float, default=10.0)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tell", action="store_true", help="print what the fits say")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    missed = []
    for name in arguments.kinds.split(","):
        kind = KINDS[name]
        regrets: dict[str, list[float]] = defaultdict(list)
        for seed in seeds:
            short = fit(kind, seed, arguments.minutes, arguments.jobs, tell=arguments.tell)
            if kind.pays is not None:
                missed += [] if short.pays is kind.pays else [f"{name}, seed {seed}: the verdict"]
                continue
            minutes = arguments.minutes * arguments.longer
            long = fit(kind, seed, minutes, arguments.jobs, tell=arguments.tell)
            regrets["short"].append(short.regret)
            regrets["long"].append(long.regret)
        if regrets:
            short_, long_ = (statistics.mean(regrets[which]) for which in ("short", "long"))
            met = short_ <= max(RATIO * long_, long_ + POINTS)
            missed += [] if met else [f"{name}: the regret"]
            print(f"{name:10} mean {100 * short_:.3f} % against {100 * long_:.3f} %", flush=True)
    print(f"missed: {'; '.join(missed) or 'nothing'}")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
