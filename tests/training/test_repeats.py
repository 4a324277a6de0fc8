"""Repeats: the same run with other training seeds, from Python."""

import pytest

import dglbench
from dglbench.errors import RunError, SweepError

SMALL = {"n": 6, "train": 24, "val": 10, "test": 10}


def train(**given):
    return dglbench.train("matching", "spo", set=SMALL, solver="batched", epochs=3, **given)


def test_repeats_are_the_runs_of_their_training_seeds():
    runs = train(option={"start": "fresh"}, repeats=3)
    assert [run.record.identity.train_seed for run in runs] == [0, 1, 2]
    alone = train(option={"start": "fresh"}, train_seed=2)
    columns = ["epoch", "split", "relative_regret", "mse"]
    assert alone.tables["regret"].select(columns).equals(runs[2].tables["regret"].select(columns))
    val = [run.selected.val.relative_regret for run in runs]
    assert len(set(val)) == 3, "fresh weights differ"
    assert runs.best is runs[val.index(min(val))]
    assert (len(runs), runs[1:]) == (3, (runs[1], runs[2]))


def test_warm_repeats_share_their_start_and_differ_by_their_batches():
    runs = train(repeats=2, batch_size=8)
    starts = {run.record.summary.warm_start.id for run in runs}
    assert len(starts) == 1
    first, second = (run.tables["regret"]["relative_regret"].to_list() for run in runs)
    assert first[:2] == second[:2]
    assert first[2:] != second[2:]


def test_repeats_without_a_result_have_no_best():
    runs = train(repeats=2, time_limit=1e-9)
    with pytest.raises(RunError, match="has a result: timeout, timeout"):
        _ = runs.best


def test_a_training_seed_beside_repeats_is_refused():
    with pytest.raises(SweepError, match="keep one of the two"):
        train(repeats=2, train_seed=1)
