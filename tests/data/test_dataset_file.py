"""The dataset file: what goes in comes out, and anything else is refused in one sentence."""

import dataclasses
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dglbench.data.dataset_file import (
    dataset_digest,
    holds,
    read_dataset,
    stored_digest,
    write_dataset,
)
from dglbench.data.importing import import_arrays
from dglbench.errors import DatasetError
from dglbench.plugins import find_task


@pytest.fixture
def file(tmp_path, small_data):
    path = tmp_path / "data.parquet"
    write_dataset(small_data(), path)
    return path


def rewrite(path, change_table=lambda table: table, **changes):
    """Write the file again with other columns or metadata, as a careless tool would."""
    table = pq.read_table(path)
    metadata = dict(table.schema.metadata)
    document = json.loads(metadata[b"dglbench"])
    document.update(changes)
    table = change_table(table.replace_schema_metadata(None))
    metadata[b"dglbench"] = json.dumps(
        {key: value for key, value in document.items() if value is not None}
    ).encode()
    pq.write_table(table.replace_schema_metadata(metadata), path)


def with_column(name, change):
    def changed(table):
        values = change(table.column(name).to_pylist())
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return changed


def refusal(path):
    with pytest.raises(DatasetError) as caught:
        read_dataset(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "generate" in sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("task", ["matching", "knapsack"])
def test_what_goes_in_comes_out(task, small_data, tmp_path):
    dataset = small_data(task)
    digest = write_dataset(dataset, tmp_path / "d.parquet")
    again = read_dataset(tmp_path / "d.parquet")
    assert again.spec == dataset.spec
    assert again.constants == dataset.constants
    for name in ("features", "labels", "split"):
        assert np.array_equal(getattr(again, name), getattr(dataset, name))
        assert getattr(again, name).dtype == getattr(dataset, name).dtype
    assert np.array_equal(again.problem.b, dataset.problem.b)
    assert np.array_equal(again.problem.A, dataset.problem.A)
    assert digest == dataset_digest(dataset) == dataset_digest(again)
    assert digest == stored_digest(tmp_path / "d.parquet")


def test_the_file_is_what_the_manual_says(file, small_data):
    table = pq.read_table(file)
    dataset = small_data()
    assert table.column_names == ["instance", "split", "features", "labels"]
    assert table.column("instance").to_pylist() == list(range(10))
    assert set(table.column("split").to_pylist()) == {"train", "val", "test"}
    assert table.column("labels").to_pylist()[3] == dataset.labels[3].ravel().tolist()
    document = json.loads(pq.read_schema(file).metadata[b"dglbench"])
    assert document["constants"] == {"capacities": [2, 2, 2]}
    assert (document["format"], document["task"], document["seed"]) == (2, "matching", 7)
    assert (document["sense"], document["by_instance"]) == ("maximise", [])
    assert document["settings"]["n"] == 6


def test_only_predicted_options_are_stored(tmp_path, small_data):
    write_dataset(small_data("knapsack"), tmp_path / "d.parquet")
    labels = pq.read_table(tmp_path / "d.parquet").column("labels")
    assert {len(row) for row in labels.to_pylist()} == {6}  # take, not leave


def test_same_data_same_bytes_in_many_row_groups(tmp_path, small_data, monkeypatch):
    from dglbench.data import dataset_file as module

    whole = write_dataset(small_data(), tmp_path / "whole.parquet")
    monkeypatch.setattr(module, "_BATCH_BYTES", 3000)
    for name in ("a", "b"):
        assert write_dataset(small_data(), tmp_path / name) == whole
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert pq.ParquetFile(tmp_path / "a").num_row_groups > 2
    assert dataset_digest(read_dataset(tmp_path / "a")) == whole


def test_the_digest_sees_every_part(small_data):
    from dataclasses import replace

    dataset = small_data()
    nudged = dataset.labels.copy()
    nudged[2, 1, 0] = np.nextafter(nudged[2, 1, 0], 1)
    others = [
        replace(dataset, labels=nudged),
        replace(dataset, split=dataset.split[::-1]),
        replace(dataset, features=dataset.features[::-1]),
        replace(dataset, constants={"capacities": [2, 2, 3]}),
        small_data(seed=8),
        small_data(slack=0.5),
    ]
    assert len({dataset_digest(other) for other in [dataset, *others]}) == 7


def test_a_flipped_byte_is_found_or_changes_nothing_that_is_read(file):
    """Page checksums and the digest cover the content; other bytes of Parquet may be anything."""
    whole, written = file.read_bytes(), read_dataset(file)
    found, places = 0, random.Random(0).sample(range(len(whole)), 300)
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        file.write_bytes(changed)
        try:
            read = read_dataset(file)
        except DatasetError:
            found += 1
            continue
        assert read.spec == written.spec
        assert read.constants == written.constants
        assert read.problem.sense == written.problem.sense
        for part in ("features", "labels", "split"):
            assert np.array_equal(getattr(read, part), getattr(written, part)), place
    assert found > 0.8 * len(places)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.999])
def test_a_cut_tail_is_refused(file, keep):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole))])
    assert "damaged or not a Parquet file" in refusal(file)


@pytest.mark.parametrize("name", ["instance", "split", "features", "labels"])
def test_a_missing_column_is_refused(file, name):
    rewrite(file, lambda table: table.drop_columns([name]))
    assert f"lacks the column {name}" in refusal(file)


def spoil(rows, value):
    rows[4][2] = value
    return rows


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (with_column("labels", lambda rows: spoil(rows, np.nan)), "labels that are NaN"),
        (with_column("labels", lambda rows: spoil(rows, None)), "labels that are NaN"),
        (with_column("features", lambda rows: spoil(rows, np.inf)), "features that are NaN"),
        (with_column("labels", lambda rows: spoil(rows, 0.123)), "does not match its digest"),
        (with_column("labels", lambda rows: [r[:-1] for r in rows]), "17 labels in an instance"),
        (with_column("features", lambda rows: [[*r, 1.0] for r in rows]), "call for 90"),
        (with_column("labels", lambda rows: [[str(v) for v in r] for r in rows]), "of doubles"),
        (with_column("labels", lambda rows: [r[0] for r in rows]), "of type double"),
        (with_column("split", lambda rows: ["exam", *rows[1:]]), "none of train, val, test"),
        (with_column("split", lambda rows: ["val", *rows[1:]]), "does not match its digest"),
        (with_column("split", lambda rows: [None, *rows[1:]]), "none of train, val, test"),
        (with_column("instance", lambda rows: rows[::-1]), "out of order"),
        (lambda table: table.slice(0, 8), "holds 8 instances, but its metadata says 10"),
    ],
)
def test_changed_columns_are_refused(file, change, says):
    rewrite(file, change)
    assert says in refusal(file)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 3}, "has format version 3, but this dglbench reads version 2 only"),
        ({"format": 1}, "has format version 1, but this dglbench reads version 2 only; make it"),
        ({"format": None}, "format version None"),
        ({"task": "no-such"}, "there is no task 'no-such'; there are"),
        ({"task": 3}, "nonsense"),
        ({"settings": {"n": 6, "colour": "red"}}, "no option 'colour'"),
        ({"settings": {"n": -6}}, "n must be a whole number"),
        ({"settings": 5}, "nonsense"),
        ({"seed": "x"}, "nonsense"),
        ({"constants": {"capacities": [1, 1, 1]}}, "raise the total capacity"),
        ({"constants": {"capacities": [2, 2]}}, "cannot be used"),
        ({"constants": {}}, "nonsense"),
        ({"constants": {"capacities": [2, 2, 3]}}, "does not match its digest"),
        ({"feature_shape": [6, 14]}, "90 features in an instance; its settings call for 84"),
        ({"digest": None}, "lacks digest"),
        ({"sense": None}, "lacks sense"),
        ({"sense": "minimise"}, "says minimise, but task matching now says maximise"),
        ({"by_instance": ["b"]}, "lacks the column b"),
        ({"by_instance": 1.5}, "nonsense (by_instance is not a list)"),
    ],
)
def test_changed_metadata_is_refused(file, changes, says):
    rewrite(file, **changes)
    assert says in refusal(file)


def test_foreign_files_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
    with pytest.raises(
        DatasetError, match=r"is not a dglbench dataset.*; make .* dglbench import "
    ):
        read_dataset(tmp_path / "foreign.parquet")
    (tmp_path / "text.parquet").write_text("instance,split\n")
    assert "not a Parquet file" in refusal(tmp_path / "text.parquet")
    assert "there is no dataset file" in refusal(tmp_path / "missing.parquet")
    assert stored_digest(tmp_path / "missing.parquet") is None


def test_a_failed_write_leaves_what_was_there(file, small_data, monkeypatch):
    before = file.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_batch", full)
    with pytest.raises(DatasetError, match="No space left on device; free some space"):
        write_dataset(small_data(seed=8), file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_same_content_written_by_another_tool_is_read(file, small_data):
    rewrite(file)
    assert dataset_digest(read_dataset(file)) == dataset_digest(small_data())


def test_a_file_holds_its_content_as_long_as_it_can_be_read(file, small_data):
    digest = dataset_digest(small_data())
    assert holds(file, digest)
    assert not holds(file, dataset_digest(small_data(seed=8)))
    rewrite(file, with_column("labels", lambda rows: spoil(rows, 0.123)))
    assert stored_digest(file) == digest
    assert not holds(file, digest)


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", ".hidden", "", "x" * 101, "é"])
def test_a_name_that_is_no_part_of_a_path_is_refused(name, tmp_path):
    path = tmp_path / "own.parquet"
    arrays = {"features": np.ones((6, 2)), "labels": np.ones((6, 3)), "A": np.ones(3), "b": 2.0}
    write_dataset(import_arrays(arrays, name="mine"), path)
    settings = json.loads(pq.read_schema(path).metadata[b"dglbench"])["settings"]
    rewrite(path, settings={**settings, "name": name})
    assert "the name of a dataset (--name) must be" in refusal(path)


COHORTS = '''
import numpy as np
from dataclasses import dataclass
from dglbench.problem import Problem
from dglbench.task import Dataset, Task, TaskSpec

@dataclass(frozen=True)
class Settings:
    n: int = 3

class Cohorts(Task):
    """Costs to be minimised; seats and attendance differ by week."""
    name, summary, sizes, Settings = "cohorts", "weeks", (3,), Settings

    def problem(self, settings, constants):
        return Problem.assignment(settings.n, [3, 3], absent=True, sense="minimise")

    def generate(self, settings, seed):
        present = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]], dtype=bool)
        mask = np.concatenate([np.repeat(present[:, :, None], 2, axis=2), ~present[:, :, None]], 2)
        problem = self.problem(settings, {}).vary(b=[[1, 1], [2, 1], [1, 0], [0, 2]], mask=mask)
        labels = np.random.default_rng(seed).random((4, 3, 3)) * problem.counted
        return Dataset(TaskSpec(self.name, settings, seed), problem, {}, labels * 2, labels,
                       np.array([0, 0, 1, 2], dtype=np.int8))

    def predictor(self, dataset):
        raise NotImplementedError
'''


@pytest.fixture
def cohorts(make_plugin, monkeypatch):
    from dglbench import plugins

    root = make_plugin("cohorts", COHORTS, tasks={"cohorts": "cohorts:Cohorts"})
    monkeypatch.syspath_prepend(str(root))
    for name in dir(plugins):
        cached = getattr(plugins, name)
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()
    yield find_task("cohorts")
    for name in dir(plugins):
        cached = getattr(plugins, name)
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def test_what_differs_by_instance_goes_into_the_file_and_comes_out(cohorts, tmp_path):
    dataset = cohorts.generate(cohorts.parse_settings({}), 3)
    path = tmp_path / "d.parquet"
    digest = write_dataset(dataset, path)
    again = read_dataset(path)
    assert again.problem.sense == "minimise"
    assert np.array_equal(again.problem.b, dataset.problem.b)
    assert np.array_equal(again.problem.mask, dataset.problem.mask)
    assert np.array_equal(again.labels, dataset.labels)
    assert dataset_digest(again) == digest
    other = dataclasses.replace(dataset, problem=dataset.problem.vary(b=[[1, 2]] * 4))
    assert dataset_digest(other) != digest
    rewrite(path, with_column("b", lambda rows: [[0.0, 0.0], *rows[1:]]))
    assert "instance 0: the capacities cannot all be met" in refusal(path)


@pytest.mark.parametrize(
    ("places", "says"),
    [(None, "its metadata lacks A_at"), ([0, 0, 2], "A_at must hold rising places below 8"),
     ([0, 2, 99], "A_at must hold rising places below 8"), ([0, 2, "x"], "places of the entries"),
     ([0, 3], "A in an instance; its settings call for 2"), ([0, 2, 6], "does not match its")],
)  # fmt: skip
def test_places_of_the_rows_of_each_instance_are_checked(places, says, tmp_path):
    draws = np.random.default_rng(2)
    weights = draws.uniform(1, 2, size=(10, 4))
    weights[:, 2] = 0.0
    given = {"features": draws.normal(size=(10, 4, 2)), "labels": draws.random((10, 4))}
    path = tmp_path / "own.parquet"
    write_dataset(import_arrays({**given, "A": weights, "b": 3.0}), path)
    document = json.loads(pq.read_schema(path).metadata[b"dglbench"])
    assert document["A_at"] == [0, 2, 6]
    if places == [0, 2, 6]:
        change = with_column("A", lambda column: [[2 * use for use in row] for row in column])
        rewrite(path, change)
    else:
        rewrite(path, A_at=places)
    assert says in refusal(path)
