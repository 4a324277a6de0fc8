"""Several seeds of one setting: which of them are pooled, and what may be averaged."""

import polars as pl
import pytest
from make_logs import make_folder, make_run

from dglbench.report import load
from dglbench.report.figures import time_vs_regret
from dglbench.report.statistics.comparisons import compare, families
from dglbench.report.style.curve_marks import HELD, WARM, panel_marks
from dglbench.report.style.curve_panels import _axis, _ticks
from dglbench.report.style.layout import FREE
from dglbench.report.tables import build


def plugin_runs(out, *contents):
    """Runs of a task whose data are identified by their content: (seed, content) each."""
    for seed, content in contents:
        for method in ("spo", "dgl-1"):
            make_run(out, method, "mine", 50, seed, epochs=3, data_digest=content)
    return load(out)


def test_seeds_whose_data_have_a_content_each_are_pooled(tmp_path):
    report = plugin_runs(tmp_path, (1, "aaaaaa1"), (2, "bbbbbb2"), (3, "cccccc3"))
    assert [unit.label for unit in report.units] == [f"mine-50, seed {seed}" for seed in (1, 2, 3)]
    assert [len(units) for units in families(report)] == [3]
    records = build("seeds", report).records()
    assert {(row["setting"], row["method"], row["seeds"]) for row in records} == {
        ("mine-50", "spo", 3),
        ("mine-50", "dgl-1", 3),
    }


def test_two_contents_of_one_seed_stay_apart(tmp_path):
    report = plugin_runs(tmp_path, (1, "aaaaaa1"), (1, "bbbbbb2"), (2, "cccccc3"))
    labels = {unit.label for unit in report.units}
    assert labels == {
        "mine-50, seed 1, data aaaaaa",
        "mine-50, seed 1, data bbbbbb",
        "mine-50, seed 2, data cccccc",
    }
    assert len(families(report)) == 3


def test_generated_data_are_not_pooled_with_those_of_a_file(tmp_path):
    report = plugin_runs(tmp_path, (1, None), (2, "bbbbbb2"))
    assert len(families(report)) == 2


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Three methods on three seeds, and a first run of another on one of these."""
    out = tmp_path_factory.mktemp("mixed")
    make_folder(
        out, ["spo", "qptl", "dgl-1"], [("matching", 50, s) for s in (10, 25, 95)], epochs=4
    )
    make_run(out, "dgl-5", seed=25, epochs=4)
    return load(out)


def test_a_method_with_one_seed_is_not_drawn_among_means_over_three(mixed):
    drawn = time_vs_regret.data(mixed)
    assert {method: rows["seed"].n_unique() for (method,), rows in drawn.group_by("method")} == {
        "spo": 3,
        "qptl": 3,
        "dgl-1": 3,
    }
    caption = time_vs_regret.draw(mixed).labels.caption
    assert "left out of matching-50: DGL-5 (1 of 3 seeds)" in " ".join(caption.split())


def test_seeds_that_few_methods_have_are_left_out_instead(tmp_path):
    make_folder(tmp_path, ["spo", "qptl", "dgl-1", "dgl-5"], [("matching", 50, 25)], epochs=3)
    for seed in (10, 95):
        make_run(tmp_path, "spo", seed=seed, epochs=3)
    report = load(tmp_path)
    shared = compare(report, report.units)
    assert [unit.seed for unit in shared.units] == [25]
    assert shared.methods == ("spo", "qptl", "dgl-5", "dgl-1")
    assert shared.left_out == "left out of matching-50: seed 10 and seed 95"


def test_the_table_marks_a_mean_over_fewer_seeds(mixed):
    sheet = build("seeds", mixed)
    at = [column.key for column in sheet.columns].index("seeds")
    shown = {row[1].value: row[at].text for row in sheet.rows}
    assert shown == {"spo": "3", "qptl": "3", "dgl-1": "3", "dgl-5": "1 of 3"}
    assert any("fewer seeds than its setting" in note for note in sheet.notes)


def test_final_levels_stand_in_a_strip_that_is_not_part_of_the_axis(mixed):
    frame = time_vs_regret.data(mixed).with_columns(panel=pl.lit("one"))
    axis, _ = _axis(frame, "elapsed_s", 2.5, {})
    assert frame["elapsed_s"].max() <= 10**axis.data
    assert max(_ticks(axis, None, 2.5)) <= 10**axis.data
    marks = panel_marks(frame.with_columns(x="elapsed_s"), axis, {})
    (box,) = marks["strip"].iter_rows(named=True)
    assert box["data"] == 10**axis.data < box["start"] == 10**axis.start < box["right"]
    assert (marks["ends"]["x"] > 10**axis.start).all()
    lines = marks["lines"].filter(pl.col("kind") != WARM)
    assert HELD in set(lines["kind"])
    assert lines["x"].max() <= 10**axis.data * (1 + 1e-9), "no curve runs into the strip"
    drawn = time_vs_regret.draw(mixed, FREE)
    (scale,) = [each for each in drawn.scales if "x" in each.aesthetics]
    assert scale.labels(scale.breaks)[-1] == "at the end"
