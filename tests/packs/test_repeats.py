"""Values and seconds that packs leave out or write shorter come back to the last bit."""

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from make_logs import make_run
from tampering import Opened

from dglbench.packs.finding import find_runs
from dglbench.packs.layout import DATA, VALUE, microseconds
from dglbench.packs.microseconds import in_microseconds, in_seconds
from dglbench.packs.repeats import tell_repeats, without_repeats
from dglbench.packs.writing import pack

STRANGE = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 0.1 + 0.2]


def decisions(seed, runs=9, instances=12):
    """Runs on three data that judge some instances, in any order, and agree on most."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in range(runs):
        data = int(rng.integers(3))
        for instance in rng.permutation(instances)[: rng.integers(1, instances + 1)].tolist():
            truth = np.random.default_rng([data, instance])
            length, best = int(truth.integers(0, 6)), truth.normal()
            options = truth.integers(0, 4, size=(3, length))[rng.integers(3)]
            value = best if rng.random() < 0.3 else best - options.sum() / 7
            if rng.random() < 0.1:
                value = rng.choice(STRANGE)
            if rng.random() < 0.1:
                best = rng.choice(STRANGE)
            regret = abs(best - value) if rng.random() < 0.8 else rng.choice(STRANGE)
            logged = options.tolist() if rng.random() < 0.9 else None
            rows.append((run, data, instance, best, value, regret, 0.0, logged))
    names = ["run", DATA, "instance", "optimal_value", "achieved_value", "regret", "optimum_gap"]
    kinds = {name: pl.Float64 if place > 2 else pl.Int64 for place, name in enumerate(names)}
    return pl.DataFrame(rows, {**kinds, "options": pl.List(pl.UInt32)}, orient="row")


def bits(rows):
    """Doubles as whole numbers: NaN and the sign of zero count."""
    floats = [name for name in rows.columns if rows[name].dtype == pl.Float64]
    assert not any(rows[name].null_count() for name in floats)
    return rows.with_columns(
        pl.Series(name, rows[name].to_numpy().copy().view(np.int64)) for name in floats
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_decisions_come_back_to_the_last_bit(seed):
    rows = decisions(seed)
    kept = rows.with_columns(without_repeats(rows))
    assert bits(tell_repeats(kept)).equals(bits(rows.drop(DATA)))


def test_none_at_all_are_none():
    rows = decisions(0).clear()
    assert tell_repeats(rows.with_columns(without_repeats(rows))).equals(rows.drop(DATA))


def test_what_runs_on_the_same_data_share_is_kept_once():
    rows = pl.DataFrame(
        {
            DATA: [0, 0, 0, 0, 1],
            "instance": [3, 3, 3, 3, 3],
            "optimal_value": [9.0, 9.0, 9.0, 9.0, 9.0],
            "achieved_value": [7.0, 9.0, 7.0, 8.0, 7.0],
            "regret": [2.0, 0.0, 2.0, 1.0, 2.5],
        }
    )
    kept = without_repeats(rows)
    assert kept["optimal_value"].to_list() == [9.0, None, None, None, 9.0]
    assert kept["achieved_value"].to_list() == [7.0, None, None, 8.0, 7.0]
    assert kept["regret"].to_list() == [None, None, None, None, 2.5]
    assert kept[VALUE].to_list() == [1, 0, 1, 2, 1]


def test_seconds_come_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    rounded = [round(each, 6) for each in rng.exponential(size=5000).tolist()]
    large = [round(each, 6) for each in rng.uniform(-3000, 3000, size=5000).tolist()]
    seconds = np.array([*rounded, *large, *rng.exponential(size=500), *STRANGE])
    rows = pl.DataFrame({"solve_s": seconds, "loss": seconds})
    kept = in_microseconds(rows)
    assert kept["solve_us"][:5000].null_count() == 0
    assert kept["solve_s"][:5000].null_count() == 5000
    assert kept["solve_s"].null_count() + kept["solve_us"].null_count() == len(seconds)
    back = in_seconds(rows.with_columns(kept))
    assert bits(back).equals(bits(rows))


def test_seconds_that_are_absent_stay_absent():
    rows = pl.DataFrame({"epoch_s": pl.Series([None, 1.5, None], dtype=pl.Float64)})
    assert in_seconds(rows.with_columns(in_microseconds(rows))).equals(rows)
    assert microseconds(["loss", "instances", "epoch_s"]) == {"epoch_s": "epoch_us"}


def test_a_pack_numbers_the_data_of_its_runs(tmp_path):
    for seed in (0, 1):
        for method in ("spo", "two-stage"):
            make_run(tmp_path / "runs", method, seed=seed, epochs=3)
    pack(find_runs([tmp_path / "runs"]).runs, tmp_path / "a.dglpack")
    rows = pl.from_arrow(pq.read_table(tmp_path / "a.dglpack" / "decisions.parquet"))
    of_runs = dict(rows.select("run", DATA).unique().iter_rows())
    seeds = [record["identity"]["seed"] for record in Opened(tmp_path / "a.dglpack").records]
    assert len(of_runs) == 4
    assert len({(of_runs[run], seed) for run, seed in enumerate(seeds)}) == 2
