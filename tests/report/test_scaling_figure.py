"""The figure of growing sizes: all of them, slopes from three on, runs that were stopped."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from make_logs import make_run

from dglbench.report import load
from dglbench.report.figures import FIGURES


@dataclass(frozen=True)
class Grown:
    n: int
    locations: int
    train: int


LADDER = (Grown(10, 3, 64), Grown(200, 5, 64), Grown(1000, 20, 64), Grown(3000, 50, 32))


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    """Sizes that grow with their locations; at the largest SPO+ is stopped and QPTL fails."""
    folder = tmp_path_factory.mktemp("ladder")
    for size in LADDER:
        make_run(folder, "two-stage", n=size.n, epochs=3, settings=size)
        if size.n < 3000:
            make_run(folder, "spo", n=size.n, epochs=3, settings=size)
    why = "the time limit of 60 s was reached"
    status = {"state": "timeout", "message": why, "wall_s": 60.8}
    make_run(folder, "spo", n=3000, settings=LADDER[-1], status=status)
    status = {"state": "failed", "message": "MemoryError: 168 GiB"}
    make_run(folder, "qptl", n=3000, settings=LADDER[-1], status=status)
    return folder


def test_scaling_draws_all_sizes_though_locations_and_splits_grow_too(ladder):
    report = load(ladder)
    frame = FIGURES["scaling"].data(report)
    # Seconds to a target are left out: an epoch of 32 instances is not one of 64.
    assert set(frame["measure"]) == {"one epoch, per instance"}
    assert not report.unreadable
    choices = [size.n * size.locations for size in LADDER]
    for method in ("two-stage", "spo"):
        assert frame.filter(method=method)["choices"].to_list() == choices
    for row in frame.filter(pl.col("stopped_s").is_null()).iter_rows(named=True):
        lines = pq.read_table(ladder / row["run_id"] / "timing.parquet").to_pylist()
        spent = sum(line["epoch_s"] for line in lines if line["epoch"] > 0)
        assert row["seconds"] == pytest.approx(spent / 3 / (32 if row["n"] == 3000 else 64))


def test_scaling_fits_its_slopes_to_three_sizes_from_200_on(ladder):
    frame = FIGURES["scaling"].data(load(ladder))
    rows = frame.filter(pl.col("method") == "two-stage", pl.col("n") >= 200)
    slope = np.polyfit(np.log(rows["choices"]), np.log(rows["seconds"]), 1)[0]
    assert frame.filter(method="two-stage")["slope"].to_list() == pytest.approx([slope] * 4)
    assert frame.filter(method="spo")["slope"].null_count() == 4  # it ended at two of them


def test_scaling_marks_the_runs_that_were_stopped_and_names_those_that_failed(ladder):
    report = load(ladder)
    (row,) = FIGURES["scaling"].data(report).drop_nulls("stopped_s").iter_rows(named=True)
    assert (row["method"], row["n"], row["stopped_s"]) == ("spo", 3000, 60)
    assert row["seconds"] == pytest.approx(60.8 / 32)  # no epoch was finished
    caption = FIGURES["scaling"].draw(report).labels.caption
    assert "ringed: stopped at 60 s" in caption
    assert "failed: QPTL at 3,000" in caption
    assert "slope from n = 200 on" in caption


def test_a_stopped_run_is_not_drawn_beside_one_that_ended(tmp_path):
    for size in LADDER:
        make_run(tmp_path, "spo", n=size.n, epochs=3, settings=size)
    status = {"state": "timeout", "message": "the time limit of 9 s was reached"}
    make_run(tmp_path, "spo", n=3000, settings=LADDER[-1], status=status, source="1" * 12)
    frame = FIGURES["scaling"].data(load(tmp_path))
    assert len(frame) == len(LADDER)
    assert frame["stopped_s"].null_count() == len(LADDER)
