"""The published figures, a CSV file for each experiment, and the methods that they are of."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from dglbench.statistics import Numbers

__all__ = ["LEAST_SQUARES", "Counterpart", "Published", "counterpart", "published"]

LEAST_SQUARES = "least squares"


class Counterpart(NamedTuple):
    """A method of dglbench, and the options that tell it from its siblings."""

    method: str
    options: Mapping[str, str]


_METHODS: dict[str, dict[str, str]] = {
    "published": {LEAST_SQUARES: "least-squares", "SPO+": "spo", "SPO+ relaxed": "spo"},
    "cave": {
        "two-stage": "two-stage",
        "CaVE exact": "cave",
        "CaVE+": "cave-plus",
        "CaVE hybrid": "cave-hybrid",
        "SPO+": "spo",
        "PFYL": "pyepo-pfyl",
        "NCE": "pyepo-nce",
    },
    "notebook": {
        "SPO+": "pyepo-spo",
        "PG": "pyepo-pg",
        "DPO": "pyepo-dpo",
        "PFYL": "pyepo-pfyl",
        "I-MLE": "pyepo-imle",
        "AI-MLE": "pyepo-aimle",
        "RFWO": "pyepo-rfwo",
        "RFYL": "pyepo-rfyl",
        "DBB": "pyepo-dbb",
        "NID": "pyepo-nid",
        "NCE": "pyepo-nce",
        "CMAP": "pyepo-cmap",
        "LTR pairwise": "pyepo-ltr",
        "LTR pointwise": "pyepo-ltr",
    },
}
_FILES = {"published": "pyepo.csv", "cave": "cave.csv", "notebook": "notebook.csv"}


class Published(NamedTuple):
    """The runs of one method in one setting of an experiment."""

    source: str
    """The experiment, as the task setting of that name calls it."""
    setting: str
    train: int
    degree: int
    method: str
    epochs: int | None
    """None for a closed form."""
    seconds: float
    """Mean training seconds of a run; NaN where they are not known."""
    seeds: tuple[int, ...]
    regrets: Numbers
    """(seeds,): test regret by data seed."""


@cache
def published() -> tuple[Published, ...]:
    """Read all published figures."""
    return tuple(entry for source in _FILES for entry in _read(source))


def counterpart(entry: Published) -> Counterpart:
    """Return the method of ours that re-makes a published one."""
    options = {}
    knapsack = entry.setting.startswith("multi-knapsack")
    if entry.method.startswith("LTR "):
        options["ranking"] = entry.method.removeprefix("LTR ")
    elif knapsack and entry.method != LEAST_SQUARES:
        # On paths the relaxation has the integer optima, so there either oracle will do.
        options["oracle"] = "relax" if entry.method == "SPO+ relaxed" else "decide"
    return Counterpart(_METHODS[entry.source][entry.method], options)


def _read(source: str) -> Iterator[Published]:
    file = resources.files("dglbench.report.published").joinpath(_FILES[source])
    lines = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        runs = {int(key.removeprefix("run_")): key for key in row if key.startswith("run_")}
        yield Published(
            source,
            row["setting"],
            int(row["train"]),
            int(row["degree"]),
            row["method"],
            int(row["epochs"]) if row["epochs"] else None,
            float(row["seconds"] or "nan"),
            tuple(runs),
            np.array([float(row[key]) for key in runs.values()]),
        )
