"""A thin pack logs seconds by evaluation: less room, and everything that adds them up agrees."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dglbench
from dglbench.packs.finding import find_runs
from dglbench.packs.thinning import thinned
from dglbench.packs.writing import pack
from dglbench.report import load
from dglbench.report.figures import time_split
from dglbench.report.statistics.epochs import mean_epochs
from dglbench.report.tables import TABLES as SHEETS
from dglbench.report.tables import build, render
from dglbench.verify.checks import verify


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    dglbench.run_many(
        tasks=["matching-10"],
        methods=["two-stage", "dgl-2", "rdgl-newton"],
        set={"train": 20, "val": 10, "test": 10},
        seeds=[1, 2],
        solver="batched",
        epochs=14,
        evaluate_every=4,
        warm_start_epochs=5,
        out=out,
    )
    return out


@pytest.fixture(scope="module")
def packs(folder):
    found = {}
    for name, thin in (("whole", False), ("thin", True)):
        found[name] = folder.parent / f"{name}.dglpack"
        pack(find_runs([folder]).runs, found[name], thin=thin, force=True)
    return found


def timing(place):
    runs = find_runs([place]).runs
    return runs.tables("timing", sorted(runs.records))


def test_a_row_ends_at_every_evaluation_and_sums_are_kept(packs):
    whole, thin = timing(packs["whole"]), timing(packs["thin"])
    assert set(whole.counts) == set(thin.counts)
    dgl = [name for name in thin.counts if "dgl-2" in name]
    owners = pl.Series([name for name, count in thin.counts.items() for _ in range(count)])
    for name in dgl:
        epochs = thin.rows.filter(owners == name)["epoch"].to_list()
        assert epochs == [0, 4, 8, 12, 14]
    seconds = [name for name in whole.rows.columns if name.endswith("_s") and name != "elapsed_s"]
    for name in (*seconds, "solves_label", "solves_train", "solves_refresh"):
        assert thin.rows[name].sum() == pytest.approx(whole.rows[name].sum(), abs=1e-9)


def test_set_up_and_lead_in_keep_their_rows():
    row = {f"{name}_s": 0.25 for name in ("predict", "solve", "refresh", "differentiate")}
    row |= {"backward_s": 0.5, "other_s": 0.5, "solves_label": 0, "solves_train": 2}
    epochs = [-2, -1, 0, 1, 2, 3, 4, 5]
    logged = pl.DataFrame(
        [{"run": 0, "epoch": n, "loss": float(n), **row, "solves_refresh": n % 2} for n in epochs]
    )
    judged = pl.DataFrame({"run": [0, 0, 0, 0], "epoch": [-2, 0, 3, 3]})
    found = thinned(logged, judged)
    assert found["epoch"].to_list() == [-2, -1, 0, 3, 5]
    assert found["loss"].to_list() == [-2, -1, 0, 3, 5]
    assert found["epoch_s"].to_list() == [2, 2, 2, 6, 4]
    assert found["elapsed_s"].to_list() == [2, 4, 6, 12, 16]
    assert found["solves_refresh"].to_list() == [0, 1, 0, 2, 1]


def test_tables_and_epoch_means_agree_and_the_pack_is_verified(folder, packs):
    one, other = load(folder), load(packs["thin"])
    for name in SHEETS:
        if name != "changes":  # its intervals are drawn from single epochs
            assert render(build(name, one), "md") == render(build(name, other), "md"), name
    assert mean_epochs(other, other.done) == pytest.approx(mean_epochs(one, one.done))
    assert_frame_equal(time_split.data(one), time_split.data(other))
    assert all(verdict.passed for verdict in verify(packs["thin"], rerun=2))


def test_a_thin_pack_of_a_thin_pack_is_the_same(packs, tmp_path):
    pack(find_runs([packs["thin"]]).runs, tmp_path / "again.dglpack", thin=True)
    whole = [
        (place / "curves.parquet").read_bytes()
        for place in (packs["thin"], tmp_path / "again.dglpack")
    ]
    assert whole[0] == whole[1]
