"""The published figures, a CSV file for each experiment, and the methods that they are of."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from dglbench.statistics import Numbers

__all__ = ["LEAST_SQUARES", "Counterpart", "Published", "counterparts", "published"]

LEAST_SQUARES = "least squares"


class Counterpart(NamedTuple):
    """A method of dglbench, and the options that tell it from its siblings."""

    name: str
    """What tables call it."""
    method: str
    options: Mapping[str, str | bool]


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


def counterparts(entry: Published) -> tuple[Counterpart, ...]:
    """Return what re-makes a published method: the same method first, then what became of it."""
    method = _METHODS[entry.source][entry.method]
    options: dict[str, str | bool] = {}
    if entry.method.startswith("LTR "):
        options["ranking"] = entry.method.removeprefix("LTR ")
    elif method == "spo" and entry.setting.startswith("multi-knapsack"):
        # On paths the relaxation has the integer optima, so there either oracle will do.
        options["oracle"] = "relax" if entry.method == "SPO+ relaxed" else "decide"
    if method == "spo" and entry.source == "published":
        # The code of those runs averaged the subgradient over the batch; later PyEPO does not.
        return (
            Counterpart(entry.method, method, {**options, "averaged": True}),
            Counterpart(f"{entry.method}, corrected", method, {**options, "averaged": False}),
        )
    return (Counterpart(entry.method, method, options),)


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
