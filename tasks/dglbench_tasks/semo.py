"""The Irish market data that the public predopt-benchmarks repository releases.

789 days of 48 half-hours from November 2011 to December 2013, with values that
are price times weight + N(0, 25²) already, cut at 0. The file is not part of
dglbench: it is taken from ``DGLBENCH_SEMO_FILE``, or downloaded once into the
cache (``DGLBENCH_CACHE``, or the system's cache folder), and its sha256 is
checked either way.

References: Ifrim, O'Sullivan and Simonis (2012), Properties of energy-price
forecasts for scheduling; Mandi et al. (2020), Smart predict-and-optimize for
hard combinatorial optimization problems.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array
from dglbench_tasks.released import Released, located

__all__ = ["Semo", "load"]

SHA256 = "7b512a53d6568af4a5c9b4d600086dc7acf49903d67bd434a05ce55bd828e07e"
# First as of the commit whose Knapsack/readme.md names the file, then, should that
# address ever fail, wherever the repository stands; the hash decides what is accepted.
URLS = tuple(
    f"https://raw.githubusercontent.com/PredOpt/predopt-benchmarks/{revision}/"
    "Knapsack/Trainer/Data.npz"
    for revision in ("1caa07bcf7bc6cbdff22651900a9cb79a8ed688f", "HEAD")
)
FILE_NAME = "semo-knapsack.npz"
SLOTS = 48


class Semo(NamedTuple):
    """The released days, in the order of the calendar."""

    features: Array
    """(days, 48, 8), in the order of `market.FEATURES`."""
    values: Array
    """(days, 48): price times weight + noise."""
    weights: npt.NDArray[np.int64]
    """(48,)"""


def load() -> Semo:
    """Read the released file; see `located`."""
    file = Released(
        title="the SEMO data",
        variable="DGLBENCH_SEMO_FILE",
        file_name=FILE_NAME,
        sha256=SHA256,
        urls=URLS,
        instead="use source=synthetic, which needs no download",
    )
    with np.load(located(file), allow_pickle=False) as file:
        # The first column numbers the days; the released order is train, then test.
        rows = np.concatenate([file["X_1gtrain"], file["X_1gtest"]])[:, 1:]
        values = np.concatenate([file["y_train"], file["y_test"]])
        weights = file["weights"].astype(np.int64)
    return Semo(
        rows.reshape(-1, SLOTS, rows.shape[1]).astype(np.float64),
        values.reshape(-1, SLOTS).astype(np.float64),
        weights,
    )
