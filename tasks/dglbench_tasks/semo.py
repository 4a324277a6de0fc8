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

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import DatasetError, DownloadError
from dglbench.problem import Array

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
TIMEOUT_S = 30


class Semo(NamedTuple):
    """The released days, in the order of the calendar."""

    features: Array
    """(days, 48, 8), in the order of `market.FEATURES`."""
    values: Array
    """(days, 48): price times weight + noise."""
    weights: npt.NDArray[np.int64]
    """(48,)"""


def load() -> Semo:
    """Read the released file, downloading it first if there is no copy yet."""
    own = os.environ.get("DGLBENCH_SEMO_FILE")
    path = _checked(Path(own)) if own else _fetched()
    with np.load(path, allow_pickle=False) as file:
        # The first column numbers the days; the released order is train, then test.
        rows = np.concatenate([file["X_1gtrain"], file["X_1gtest"]])[:, 1:]
        values = np.concatenate([file["y_train"], file["y_test"]])
        weights = file["weights"].astype(np.int64)
    return Semo(
        rows.reshape(-1, SLOTS, rows.shape[1]).astype(np.float64),
        values.reshape(-1, SLOTS).astype(np.float64),
        weights,
    )


def _checked(path: Path) -> Path:
    """Refuse a user's own copy that is not the released file."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DatasetError(
            f"DGLBENCH_SEMO_FILE names '{path}', which cannot be read "
            f"({error.strerror}); point it at a copy of {URLS[0]} or unset it to download one."
        ) from error
    if found != SHA256:
        raise DatasetError(
            f"DGLBENCH_SEMO_FILE names '{path}', which is not the released file: its sha256 is "
            f"{found}, not {SHA256}; fetch {URLS[0]} again or unset the variable to download it."
        )
    return path


def _fetched() -> Path:
    """Return the cached copy, downloading it if need be."""
    import pooch

    cache = Path(os.environ.get("DGLBENCH_CACHE") or pooch.os_cache("dglbench"))
    failures = []
    for url in URLS:
        try:
            # pooch writes under a temporary name and renames only after the hash matched.
            return Path(
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{SHA256}",
                    fname=FILE_NAME,
                    path=cache,
                    downloader=pooch.HTTPDownloader(timeout=TIMEOUT_S),
                )
            )
        except (OSError, ValueError) as error:  # requests' errors are OSErrors
            failures.append(error)
            response = getattr(error, "response", None)
            if response is not None:
                response.close()  # pooch leaves the socket of a refused request open
    raise DownloadError(
        f"the SEMO data could not be downloaded to '{cache}' ({_reason(failures[0])}); fetch "
        f"{URLS[0]} (sha256 {SHA256}) where there is a network and set DGLBENCH_SEMO_FILE to "
        "that copy, or use source=synthetic, which needs no download."
    ) from failures[0]


def _reason(error: Exception) -> str:
    """Say in a few words why a download failed."""
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return "what arrived has another sha256"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the server answered {status}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"the connection failed: {type(error).__name__}"
