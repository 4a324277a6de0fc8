"""The published figures, and which runs of a folder are their counterparts."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from dglbench.report.loading import Run
from dglbench.statistics import Numbers

__all__ = ["LEAST_SQUARES", "Match", "Published", "matches", "published"]

LEAST_SQUARES = "least squares"
_METHODS = {
    LEAST_SQUARES: ("least-squares", None),
    "SPO+": ("spo", "decide"),
    "SPO+ relaxed": ("spo", "relax"),
}
"""Their method to ours and its oracle; on paths the relaxation has the integer optima."""
_NOISE = 0.5


class Published(NamedTuple):
    """Ten runs of one method in one setting."""

    setting: str
    train: int
    degree: int
    method: str
    seconds: float
    regrets: Numbers
    """(10,): test regret by run, which is the data seed."""


class Match(NamedTuple):
    """Published runs and ours on the same data seeds."""

    published: Published
    seeds: tuple[int, ...]
    ours: Numbers
    """(seeds,): pooled test regrets, the mean over repeats."""
    seconds: float

    @property
    def differences(self) -> Numbers:
        """(seeds,): ours less theirs."""
        return self.ours - self.published.regrets[list(self.seeds)]


@cache
def published() -> tuple[Published, ...]:
    """Read the table of published figures."""
    text = resources.files("dglbench.report.published").joinpath("pyepo.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Published(
            row["setting"],
            int(row["train"]),
            int(row["degree"]),
            row["method"],
            float(row["seconds"]),
            np.array([float(row[f"run_{number}"]) for number in range(10)]),
        )
        for row in csv.DictReader(lines)
    )


def matches(runs: Iterable[Run]) -> list[Match]:
    """Return what the runs re-make of the published figures, in their order."""
    found: dict[tuple[str, int, int, str], dict[int, list[Run]]] = {}
    for run in runs:
        for entry in published():
            if _remakes(run, entry):
                key = (entry.setting, entry.train, entry.degree, entry.method)
                found.setdefault(key, {}).setdefault(run.identity.seed, []).append(run)
    made = []
    for entry in published():
        by_seed = found.get((entry.setting, entry.train, entry.degree, entry.method), {})
        if by_seed:
            seeds = tuple(sorted(by_seed))
            regrets = [np.mean([_pooled(run) for run in by_seed[seed]]) for seed in seeds]
            spent = [run.train_s or 0.0 for seed in seeds for run in by_seed[seed]]
            made.append(Match(entry, seeds, np.array(regrets), float(np.mean(spent))))
    return made


def _remakes(run: Run, entry: Published) -> bool:
    """Whether a run is of the same data, method and split."""
    settings, (method, oracle) = run.identity.settings, _METHODS[entry.method]
    if entry.setting.startswith("shortest-path"):
        oracle = None
    return (
        settings.get("source") == "published"
        and run.identity.setting == entry.setting
        and (settings["train"], settings["degree"]) == (entry.train, entry.degree)
        and settings["noise"] == _NOISE
        and settings["features"] == 5
        and run.identity.method == method
        and oracle in (None, run.options.get("oracle"))
    )


def _pooled(run: Run) -> float:
    selected = run.record.selected
    return float("nan") if selected is None else selected.test.pooled_regret
