"""What options use may differ by instance, in own arrays: read, kept, trained on and applied."""

import json

import numpy as np
import polars as pl
import pytest
from own_arrays import ITEMS, PICKS, K, some

from dglbench.data.dataset_file import dataset_digest, read_dataset, write_dataset
from dglbench.data.importing import import_arrays, understood
from dglbench.errors import DatasetError

WEIGHTS = np.round(some(K, 2, 6) ** 2, 2) + 0.5


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"A": WEIGHTS}, WEIGHTS),  # items by instance
        ({"A": WEIGHTS[:, :1], "b": [9.0]}, WEIGHTS[:, :1]),
        ({"A": WEIGHTS[:, 0], "b": 9.0}, WEIGHTS[:, :1]),  # the only row, without its axis
        ({"A": np.stack([WEIGHTS, 0 * WEIGHTS], axis=-1)}, WEIGHTS),
    ],
)
def test_what_items_use_may_differ_by_instance(changed, expected, tmp_path):
    dataset = import_arrays({**ITEMS, **changed})
    assert dataset.problem.rows_vary
    assert np.array_equal(dataset.problem.A[..., 0], expected)
    assert not dataset.problem.A[..., 1].any()
    assert "that differ by instance" in understood(dataset)
    digest = write_dataset(dataset, tmp_path / "own.parquet")
    again = read_dataset(tmp_path / "own.parquet")
    assert dataset_digest(again) == digest
    assert np.array_equal(again.problem.A, dataset.problem.A)


def test_what_options_use_may_differ_by_instance():
    use = np.abs(some(K, 3, 5, 3))
    picks = {**PICKS, "A": use, "b": use.sum(axis=(0, 2, 3))}
    dataset = import_arrays(picks)
    assert np.array_equal(dataset.problem.A, use)
    flat = import_arrays({**picks, "A": use.reshape(K, 3, 15)})
    assert dataset_digest(flat) == dataset_digest(dataset)
    mask = np.ones((K, 5, 3), dtype=bool)
    mask[3, 4] = False
    none = import_arrays({**picks, "mask": mask}, allow_none=True).problem
    assert none.A.shape == (K, 3, 5, 4)
    assert not none.A[..., 3].any()


def test_as_many_rows_as_instances_are_rows_unless_it_is_said():
    square = np.abs(some(K, K, 6))
    given = {**ITEMS, "A": square, "b": np.full(K, 9.0)}
    with pytest.raises(DatasetError, match="wanted"):
        import_arrays(given)
    assert import_arrays(given, read={"A": "by-instance"}).problem.rows_vary
    with pytest.raises(DatasetError, match="cannot be read by-instance"):
        import_arrays({**given, "A": square[:, :3]}, read={"A": "by-instance"})


def test_weights_by_day_train_and_new_days_bring_their_own(cli, tmp_path):
    np.savez(tmp_path / "days.npz", **{**ITEMS, "A": WEIGHTS})
    assert cli("import", "days.npz").code == 0
    for solver in ("ortools", "pdlp"):
        words = ("--epochs", "2", "--solver", solver, "--json")
        ran = cli("train", "--data", "data/days.parquet", "--method", "dgl-1", *words)
        assert ran.code == 0, ran.err
    run = f"results/{json.loads(ran.out)['run_id']}"
    refused = cli("train", "--data", "data/days.parquet", "--method", "qptl", "--solver", "ortools")
    assert refused.code == 2
    assert "CvxpylayersQuadratic needs one A for all instances" in " ".join(refused.err.split())
    refused = cli("train", "--data", "data/days.parquet", "--method", "spo", "--solver", "batched")
    assert "(A) differs by instance, which the batched solver" in " ".join(refused.err.split())
    np.savez(tmp_path / "new.npz", features=ITEMS["features"][:3])
    lacking = cli("apply", run, "--data", "new.npz", "--out", "plan.csv")
    assert "A by instance: one entry for each of the 3 new instances" in (
        " ".join(lacking.err.split())
    )
    light = WEIGHTS[:3] * 1e-3
    np.savez(tmp_path / "new.npz", features=ITEMS["features"][:3] + 9.0, A=light)
    assert cli("apply", run, "--data", "new.npz", "--out", "plan.csv").code == 0
    plan = pl.read_csv(tmp_path / "plan.csv")
    # Nothing is scarce, so an item is taken if and only if it promises a gain.
    assert (plan["chosen"] == (plan["predicted"] > 0)).all()
