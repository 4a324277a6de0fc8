"""Groups that are missing from some instances: refused with a remedy, or imported on request."""

import json

import numpy as np
import polars as pl
import pytest

from dglbench.data.importing import import_arrays
from dglbench.errors import ProblemError
from dglbench.streams import stream

K, GROUPS, OPTIONS = 20, 4, 3


def arrays(per):
    """Four people and three places on twenty days; two people are away on every second day."""
    shape = {"group": (K, GROUPS, 2), "option": (K, GROUPS, OPTIONS, 2)}[per]
    draws = stream(4, "absent groups", per)
    mask = np.ones((K, GROUPS, OPTIONS), dtype=bool)
    mask[::2, 1:3] = False
    return {
        "features": draws.normal(size=shape),
        "labels": draws.random((K, GROUPS, OPTIONS)),
        "A": np.eye(OPTIONS),
        "b": [2.0, 1.0, 1.0],
        "mask": mask,
        "option_names": ["north", "south", "west"],
    }


def test_the_refusal_names_the_remedy():
    with pytest.raises(ProblemError, match=r"instance 0: group 1 has no option; .* --allow-none"):
        import_arrays(arrays("group"))


@pytest.mark.parametrize("per", ["group", "option"])
def test_absent_groups_get_an_option_that_uses_nothing(per):
    given = arrays(per)
    dataset = import_arrays(given, allow_none=True)
    problem = dataset.problem
    away = ~given["mask"].any(axis=-1)
    assert np.array_equal(problem.mask[:, :, :-1], given["mask"])
    assert np.array_equal(problem.mask[:, :, -1], away)
    assert not problem.predicted[:, -1].any()
    assert not problem.A[:, :, -1].any()
    assert not dataset.labels[:, :, -1].any()
    assert dataset.constants["names"]["option_names"] == ["north", "south", "west", "none"]


def test_nothing_is_added_where_no_group_is_absent():
    given = {**arrays("group"), "mask": np.ones((K, GROUPS, OPTIONS), dtype=bool)}
    plain, asked = import_arrays(given), import_arrays(given, allow_none=True)
    assert asked.problem.shape == plain.problem.shape
    assert asked.constants == plain.constants


def test_everybody_may_be_away_on_some_day():
    given = arrays("group")
    given["mask"][:, :] = True
    for person in range(GROUPS):
        given["mask"][person, person] = False
    dataset = import_arrays(given, allow_none=True)
    assert dataset.problem.mask[:GROUPS, :, -1].sum() == GROUPS


@pytest.mark.parametrize("per", ["group", "option"])
def test_such_data_train_and_new_days_are_decided(per, cli, tmp_path):
    given = arrays(per)
    np.savez(tmp_path / "days.npz", **given)
    refused = cli("import", "days.npz")
    assert refused.code == 2
    assert "dglbench import --allow-none" in refused.err
    assert cli("import", "days.npz", "--allow-none").code == 0
    words = ("train", "--data", "data/days.parquet", "--method", "dgl-1", "--epochs", "1")
    run = f"results/{json.loads(cli(*words, '--json').out)['run_id']}"
    np.savez(tmp_path / "new.npz", features=given["features"][:2], mask=given["mask"][:2])
    applied = cli("apply", run, "--data", "new.npz", "--out", "plan.csv")
    assert applied.code == 0, applied.err
    plan = pl.read_csv(tmp_path / "plan.csv")
    away = plan.filter(pl.col("chosen"), pl.col("option") == "none")
    assert away.select("instance", "group").rows() == [(0, 1), (0, 2)]


def test_features_alone_in_a_file_of_any_name_are_applied(cli, tmp_path):
    given = arrays("group")
    del given["mask"]
    np.savez(tmp_path / "days.npz", **given)
    cli("import", "days.npz")
    words = ("train", "--data", "data/days.parquet", "--method", "two-stage", "--epochs", "1")
    run = f"results/{json.loads(cli(*words, '--json').out)['run_id']}"
    np.save(tmp_path / "new.npy", given["features"][:2])
    np.savez(tmp_path / "new.npz", features=given["features"][:2])
    plans = []
    for file in ("new.npy", "new.npz"):
        applied = cli("apply", run, "--data", file, "--out", "plan.csv", "--force")
        assert applied.code == 0, applied.err
        plans.append((tmp_path / "plan.csv").read_text())
    assert plans[0] == plans[1]
    np.save(tmp_path / "labels.npy", given["labels"][:2])
    refused = cli("apply", run, "--data", "labels.npy", "--out", "plan.csv", "--force")
    assert "holds no features (got labels)" in refused.err
