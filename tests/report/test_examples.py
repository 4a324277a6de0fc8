"""Test instances on the page: drawn from the decisions that runs keep, on data made again."""

import base64
from xml.etree import ElementTree

import pytest

from dglbench.errors import DatasetError
from dglbench.packs.writing import pack
from dglbench.report import load
from dglbench.report.page import examples as module
from dglbench.report.page.examples import examples

SWEEP = """
methods = ["least-squares", "two-stage", "rdgl-newton"]
tasks = ["shortest-path-4", "matching-4"]
seeds = [1]
repeats = 2
solver = "batched"
epochs = 2
warm_start_epochs = 3
set = { train = 12, val = 8, test = 20 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from dglbench.cli import main

    place = tmp_path_factory.mktemp("examples")
    (place / "sweep.toml").write_text(SWEEP)
    assert main(["sweep", "--config", str(place / "sweep.toml"), "--out", str(place / "runs")]) == 0
    return place / "runs"


def test_both_kinds_of_training_are_drawn_where_the_task_can(folder):
    (found,) = examples(load(folder))
    assert found.title == "shortest-path-4", "matching draws no decision on another"
    kinds = [row.method in ("two-stage", "least-squares") for row in found.rows]
    assert kinds == [True, False]
    for row in found.rows:
        assert len(row.pictures) == 4
        for picture in row.pictures:
            drawing = ElementTree.fromstring(base64.b64decode(picture.svg))
            assert drawing.tag.endswith("svg")
            assert len(picture.svg) < 10_000


def test_the_regret_beside_a_picture_is_that_of_the_run(folder):
    report = load(folder)
    (found,) = examples(report)
    runs = report.table("decisions", report.done)
    known = (runs["regret"] / runs["optimal_value"].abs()).to_list()
    for row in found.rows:
        assert all(any(abs(each.regret - one) < 1e-9 for one in known) for each in row.pictures)
        assert row.test_regret in {run.test_regret for run in report.done}
    means = [
        sum(row.pictures[at].regret for row in found.rows) / len(found.rows) for at in range(4)
    ]
    assert means == sorted(means), "from little regret to much"


def test_a_pack_has_them_too(folder, tmp_path):
    pack(load(folder).source, tmp_path / "runs.dglpack")
    assert examples(load(tmp_path / "runs.dglpack")) == examples(load(folder))


def test_data_that_cannot_be_made_or_are_others_leave_the_section_out(folder, monkeypatch):
    made = module.load_dataset

    def absent(*_):
        raise DatasetError("the file is not there")

    monkeypatch.setattr(module, "load_dataset", absent)
    assert examples(load(folder)) == []

    def other(spec, digest):
        dataset = made(spec, digest)
        dataset.labels[:] = dataset.labels + 1.0
        return dataset

    monkeypatch.setattr(module, "load_dataset", other)
    report = load(folder)
    try:
        assert examples(report) == []
    finally:
        from dglbench.data import loading

        loading._recent.clear()  # the labels were changed in place
