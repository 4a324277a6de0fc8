"""Own arrays become the dataset that their owner meant, or are refused in a sentence."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from own_arrays import ITEMS, PICKS, K, some

from dglbench.data.dataset_file import dataset_digest, read_dataset
from dglbench.data.importing import import_arrays, understood
from dglbench.errors import DatasetError, DglbenchError, OptionError
from dglbench.problem import Problem


def test_items_need_no_padding_by_hand():
    dataset = import_arrays(ITEMS, name="mine")
    assert dataset.labels.shape == (K, 6, 2)
    assert np.array_equal(dataset.labels[:, :, 0], ITEMS["labels"])
    assert not dataset.labels[:, :, 1].any()
    assert dataset.problem.predicted[:, 0].all()
    assert not dataset.problem.predicted[:, 1].any()
    assert dataset.spec.setting_name == "mine"


def test_it_says_what_it_understood():
    said = understood(import_arrays(ITEMS))
    assert said.startswith("20 instances; 6 items to take or leave; 2 capacity rows, ")
    assert said.endswith(
        "maximise (if labels are costs, say minimise); features per item, 4 numbers each"
    )
    said = understood(import_arrays(PICKS))
    assert "5 groups of 3 options; 3 capacity rows, all binding in the first instance" in said


@pytest.mark.parametrize(
    ("changed", "same_as"),
    [
        ({"A": np.eye(3)}, {}),  # alike in every group
        ({"A": PICKS["A"].reshape(3, 15)}, {}),
        ({"labels": PICKS["labels"].reshape(K, 15)}, {}),
        (
            {"labels": PICKS["labels"].reshape(K, 15), "A": PICKS["A"].reshape(3, 15), "groups": 5},
            {},
        ),
        (
            {"split": ["train"] * 10 + ["val"] * 5 + ["test"] * 5},
            {"split": [0] * 10 + [1] * 5 + [2] * 5},
        ),
    ],
)
def test_the_shapes_people_have_mean_the_same(changed, same_as):
    one, other = import_arrays({**PICKS, **changed}), import_arrays({**PICKS, **same_as})
    assert dataset_digest(one) == dataset_digest(other)


def test_options_of_unequal_groups_are_put_in_their_places():
    ids = [1, 0, 1, 1, 0]
    flat = {"labels": some(K, 5), "A": np.ones((1, 5)), "b": [2.0], "features": some(K, 5, 2)}
    dataset = import_arrays({**flat, "groups": ids})
    assert dataset.problem.mask.tolist() == [[True, True, False], [True, True, True]]
    assert np.array_equal(dataset.labels[:, 1], flat["labels"][:, [0, 2, 3]])
    assert np.array_equal(dataset.features[:, 0, :2], flat["features"][:, [1, 4]])
    assert "2 groups of 2 to 3 options" in understood(dataset)


@given(
    labels=arrays(np.float64, (8, 4), elements=st.floats(-5, 5)),
    weights=arrays(np.float64, (2, 4), elements=st.floats(0, 5)),
)
def test_items_are_worth_what_padding_by_hand_would_make_them(labels, weights):
    features, b = some(8, 4, 3), weights.sum(axis=1)
    items = import_arrays({"features": features, "labels": labels, "A": weights, "b": b})
    padded = import_arrays(
        {
            "features": features,
            "labels": np.stack([labels, np.zeros_like(labels)], axis=-1),
            "A": np.stack([weights, np.zeros_like(weights)], axis=-1),
            "b": b,
        }
    )
    assert np.array_equal(items.labels, padded.labels)
    x = np.zeros((8, 4, 2))
    x[:, :, 0] = 1.0
    assert np.array_equal(items.problem.usage(x), padded.problem.usage(x))


@pytest.mark.parametrize(
    ("changed", "readings", "ways"),
    [
        ({"features": some(K, 6)}, ("per-instance", "per-item"), ITEMS),
        ({"features": some(K, 5, 3)}, ("per-group", "per-option"), PICKS),
        ({"features": some(K, 5)}, ("per-instance", "per-group"), PICKS),
    ],
)
def test_features_that_can_be_read_in_two_ways_are_refused_with_both(changed, readings, ways):
    with pytest.raises(DatasetError, match="can be read in two ways") as refusal:
        import_arrays({**ways, **changed})
    for reading in readings:
        assert f"--read features={reading}" in str(refusal.value)
        dataset = import_arrays({**ways, **changed}, read={"features": reading})
        assert reading.removeprefix("per-") in understood(dataset)


def test_a_matrix_that_can_be_read_in_two_ways_is_refused_with_both():
    two = {"features": some(K, 2, 4), "labels": some(K, 2, 2), "A": np.ones((1, 2)), "b": [2.0]}
    with pytest.raises(DatasetError, match=r"two ways .*--read A=per-option or --read A=take-or"):
        import_arrays(two)
    use = import_arrays(two, read={"A": "take-or-leave"}).problem.usage(np.ones((1, 2, 2)))
    assert use.tolist() == [[2.0]]


def test_a_single_row_may_be_written_as_groups_by_options():
    use = np.arange(15.0).reshape(5, 3)
    one = {**PICKS, "A": use, "b": [60.0]}
    assert np.array_equal(import_arrays(one).problem.A, use[None])
    square = {"features": some(K, 2, 4), "labels": some(K, 2, 2), "A": np.eye(2), "b": [2.0]}
    assert np.array_equal(import_arrays(square).problem.A, np.eye(2)[None])


@pytest.mark.parametrize(
    ("arrays_given", "changed", "sentence"),
    [
        (ITEMS, {"A": None}, "there is no array A; wanted features, labels, A, b"),
        (
            ITEMS,
            {"features": some(K - 1, 6, 4)},
            "features have shape (19, 6, 4) and labels are of 20",
        ),
        (ITEMS, {"features": some(K, 7, 4)}, "features have shape (20, 7, 4); wanted (20, F)"),
        (ITEMS, {"A": np.ones((6, 2))}, "per instance; wanted (rows, 6). It fits as A.T."),
        (
            PICKS,
            {"A": np.ones((3, 3, 5))},
            "groups = 5, options = 3). It fits as A.transpose(0, 2, 1).",
        ),
        (ITEMS, {"b": [1.0, 2.0, 3.0]}, "b has shape (3,) and A has 2 rows; wanted (2,)"),
        (
            ITEMS,
            {"labels": np.full((K, 6), 1e200)},
            "120 values that are NaN, infinite or beyond 1e+100, first in instance 0, item 0",
        ),
        (
            ITEMS,
            {"labels": np.full((K, 6), np.nan)},
            "120 values that are NaN, infinite or beyond 1e+100, first in instance 0, item 0",
        ),
        (
            ITEMS,
            {"features": np.full((K, 6, 4), np.inf)},
            "features that are NaN or infinite, first at features[0, 0, 0]",
        ),
        (PICKS, {"b": [1.0, 1.0, 1.0]}, "the capacities cannot all be met at once"),
        (ITEMS, {"b": [-1.0, 1.0]}, "row 0 cannot be met"),
        (ITEMS, {"split": ["train"] * K}, "no test instance"),
        (ITEMS, {"split": ["training"] * K}, "split says 'training' of instance 0"),
        (ITEMS, {"labels": some(K)}, "labels have shape (20,); wanted (instances, items)"),
        (
            PICKS,
            {"mask": np.ones((3, 5))},
            "mask has shape (3, 5); wanted (groups, options) = (5, 3)",
        ),
        (ITEMS, {"labels": np.full((K, 6), "a")}, "labels are of type <U1; wanted numbers"),
        (ITEMS, {"group_names": ["a"]}, "group_names have shape (1,); wanted (6,)"),
    ],
)
def test_what_is_wrong_is_told_with_the_array_and_both_shapes(arrays_given, changed, sentence):
    given = {**arrays_given, **changed}
    with pytest.raises(DglbenchError) as refusal:
        import_arrays({name: array for name, array in given.items() if array is not None})
    assert sentence in str(refusal.value)


def test_labels_of_options_that_do_not_exist_may_be_anything():
    mask, labels = np.ones((5, 3), dtype=bool), PICKS["labels"].copy()
    mask[0, 2], labels[:, 0, 2] = False, np.nan
    dataset = import_arrays({**PICKS, "labels": labels, "mask": mask})
    assert not dataset.labels[:, 0, 2].any()


def test_readings_that_do_not_exist_are_refused():
    with pytest.raises(OptionError, match="--read takes features=per-instance"):
        import_arrays(ITEMS, read={"features": "sideways"})
    with pytest.raises(DatasetError, match="cannot be read per-option"):
        import_arrays(ITEMS, read={"features": "per-option"})


def save_folder(folder, content):
    folder.mkdir()
    for name, array in content.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def save_table(path, *, wide):

    columns = (
        {f"feature_{i}": ITEMS["labels"][:, i] for i in range(5)}
        | {f"label_{i}": ITEMS["labels"][:, i] for i in range(6)}
        if wide
        else {"features": ITEMS["features"].tolist(), "labels": ITEMS["labels"].tolist()}
    )
    pl.DataFrame({"day": list(range(K)), **columns}).write_parquet(path)
    return path


def test_an_archive_a_folder_and_a_table_hold_the_same(cli, tmp_path):
    np.savez(tmp_path / "mine.npz", **ITEMS)
    save_folder(tmp_path / "arrays", ITEMS)
    save_table(tmp_path / "table.parquet", wide=False)
    np.savez(tmp_path / "rows.npz", A=ITEMS["A"], b=ITEMS["b"])
    outcomes = [
        cli("import", *words, "--name", "mine", "--out", f"{words[0]}-out.parquet", "--json")
        for words in (["mine.npz"], ["arrays"], ["table.parquet", "rows.npz"])
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0, 0]
    documents = [json.loads(outcome.out) for outcome in outcomes]
    assert len({document["digest"] for document in documents}) == 1
    assert documents[2]["left_out"] == ["day"]
    assert read_dataset(tmp_path / "mine.npz-out.parquet").spec.task == "own"


def test_a_table_may_give_each_feature_and_label_a_column(cli, tmp_path):
    save_table(tmp_path / "table.parquet", wide=True)
    np.savez(tmp_path / "rows.npz", A=ITEMS["A"], b=ITEMS["b"])
    outcome = cli("import", "table.parquet", "rows.npz")
    assert outcome.code == 0
    assert "6 items to take or leave" in outcome.out
    assert "features per instance, 5 numbers each" in outcome.out
    assert (tmp_path / "data" / "table.parquet").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing.npz"], "there is no file nothing.npz"),
        (["text.txt"], "is not an .npz, .npy or .parquet file"),
        (["text.npz"], "cannot be read"),
        (["text.parquet"], "cannot be read as Parquet"),
        (["newer.npz"], "cannot be read"),
        (["objects.npz"], "save plain arrays of numbers, no objects"),
        (["twice.npz"], "labels is given twice"),
        (["mine.npz", "--out", "x.csv"], "must end in .parquet"),
        (["mine.npz", "--name", "a b"], "(--name) must be 1 to 100 letters"),
        (["mine.npz", "--read", "features"], "--read takes ARRAY=READING"),
    ],
)
def test_files_that_do_not_serve_are_refused(cli, tmp_path, words, sentence):
    for name in ("text.txt", "text.npz", "text.parquet"):
        (tmp_path / name).write_text("no numbers")
    np.savez(tmp_path / "mine.npz", **ITEMS)
    np.savez(tmp_path / "objects.npz", features=np.array([{}, 1], dtype=object))
    np.savez(tmp_path / "twice.npz", labels=ITEMS["labels"], y=ITEMS["labels"])
    newer = bytearray((tmp_path / "mine.npz").read_bytes())
    newer[newer.index(b"PK\1\2") + 6] = 109  # the version of zip that it needs, 10.9
    (tmp_path / "newer.npz").write_bytes(newer)
    outcome = cli("import", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "bug in dglbench" not in outcome.err


def test_costs_exact_rows_and_capacities_by_instance_are_imported(cli, tmp_path):
    b = np.tile([2.0, 2.0, 1.0], (K, 1))
    b[::2] = [3.0, 1.0, 1.0]
    equality = [False, False, True]
    np.savez(tmp_path / "costs.npz", **{**PICKS, "b": b}, equality=equality)
    outcome = cli("import", "costs.npz", "--minimise", "--json")
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)["understood"]
    assert "2 capacity rows and 1 exact row that differ by instance" in said
    assert "; minimise;" in said
    dataset = read_dataset(tmp_path / "data" / "costs.parquet")
    assert np.array_equal(dataset.problem.b, b)
    assert dataset.problem.equality.tolist() == equality
    assert dataset.problem.sense == "minimise"


@pytest.mark.parametrize("word", ["minimize", "minimise"])
def test_either_spelling_of_a_sense_is_read(word, cli, tmp_path):
    assert import_arrays({**ITEMS, "sense": word}).problem.sense == "minimise"
    assert Problem.knapsack([1.0, 2.0], 2.0, sense=word).sense == "minimise"
    np.savez(tmp_path / "mine.npz", **ITEMS)
    assert "; minimise;" in cli("import", "mine.npz", f"--{word}").out
    with pytest.raises(DglbenchError, match="sense must be maximise or minimise, got 'least'"):
        import_arrays({**ITEMS, "sense": "least"})


def test_constant_features_are_named(cli, tmp_path):
    features = ITEMS["features"].copy()
    features[:, :, [1, 3]] = 7.0, -2.0
    np.savez(tmp_path / "mine.npz", **{**ITEMS, "features": features})
    outcome = cli("import", "mine.npz")
    assert "nothing can be learnt from it: feature 1, 3 (counted from 0)" in outcome.err
    assert json.loads(cli("import", "mine.npz", "--json").out)["constant_features"] == [1, 3]
    np.savez(tmp_path / "other.npz", **ITEMS)
    assert "learnt" not in cli("import", "other.npz").err


def test_best_values_around_nought_are_named(cli, tmp_path):
    picks = {**PICKS, "labels": PICKS["labels"] - PICKS["labels"].max(axis=2).mean()}
    np.savez(tmp_path / "around.npz", **picks)
    done = cli("import", "around.npz")
    assert "best values lie around 0" in " ".join(done.err.split())
    np.savez(tmp_path / "above.npz", **{**PICKS, "labels": PICKS["labels"] + 100.0})
    assert "around 0" not in cli("import", "above.npz").err


def test_a_mask_may_differ_by_instance():
    mask = np.ones((K, 5, 3), dtype=bool)
    mask[::2, 0, 2] = False
    dataset = import_arrays({**PICKS, "mask": mask})
    assert np.array_equal(dataset.problem.mask, mask)
    assert "5 groups of 2 to 3 options" in understood(dataset)


def test_labels_without_groups_are_named_where_a_has_a_column_for_each_option():
    given_arrays = {
        "features": np.zeros((10, 3)),
        "labels": np.ones((10, 12)),
        "A": np.eye(4),
        "b": np.ones(4),
    }
    with pytest.raises(DatasetError, match=r"each of 3 groups picks one of 4 options, give groups"):
        import_arrays(given_arrays)
