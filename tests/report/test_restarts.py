"""Repeats in figures and a table: restart curves, and a dot for every run."""

import numpy as np
import polars as pl
import pytest
from make_logs import make_folder, make_run

from dglbench.report import load
from dglbench.report.figures import FIGURES, restarts, save
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.tables import build, render


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    out = tmp_path_factory.mktemp("restarts")
    for repeat in range(6):
        settings = [("matching", 10, 1), ("matching", 10, 2), ("knapsack", 24, 1)]
        make_folder(out, ["two-stage", "spo", "dgl-1"], settings, epochs=4, train_seed=repeat)
    return load(out)


def test_the_curve_is_best_of_r_at_r_times_the_cost(repeated):
    frame = FIGURES["restarts"].data(repeated)
    for setting in by_setting(repeated):
        for result in setting.results:
            rows = frame.filter(setting=setting.label, method=result.method)
            assert rows["r"].to_list() == [1, 2, 3, 4, 5, 6]
            one = sum(cell.train_s for cell in result.cells) / len(result.cells)
            assert rows["seconds"].to_list() == pytest.approx([r * one for r in range(1, 7)])
            expected = [result.regret(r) for r in range(1, 7)]
            assert rows["test_regret"].to_list() == pytest.approx(expected)


def test_there_is_no_band_beyond_half_the_repeats(repeated):
    frame = FIGURES["restarts"].data(repeated)
    for row in frame.iter_rows(named=True):
        assert row["estimate"] == (row["r"] <= 3)
        assert (row["low"] is not None) == row["estimate"]
        if row["estimate"]:
            assert row["low"] < row["high"]


def test_every_run_is_a_dot_and_one_of_a_cell_is_kept(repeated):
    frame = FIGURES["spread"].data(repeated)
    assert len(frame) == len(repeated.chosen_runs()) == 3 * 3 * 6
    for _, rows in frame.group_by("setting", "method", "seed"):
        (kept,) = rows.filter("kept").iter_rows(named=True)
        assert kept["val_regret"] == rows["val_regret"].min()


@pytest.mark.parametrize("name", ["restarts", "spread", "time-vs-regret"])
def test_they_draw_with_one_run_too_and_say_so(tmp_path, name, repeated, capfd):
    save(name, repeated, tmp_path / "many.png")
    make_run(tmp_path / "one", "spo", epochs=3)
    report = load(tmp_path / "one")
    save(name, report, tmp_path / "one.png")
    assert capfd.readouterr() == ("", "")
    caption = " ".join(FIGURES[name].draw(report).labels.caption.split())
    assert "one run" in caption


def test_the_table_has_one_run_and_best_of_r_by_data_seed_and_method(repeated):
    sheet = build("restarts", repeated)
    rows = sheet.records()
    keys = [key for key in rows[0] if key.startswith("best_of")]
    assert keys == [f"best_of_{r}" for r in (1, 2, 4, 6)]
    cells = repeated.cells()
    assert [(row["seed"], row["method"]) for row in rows] == [
        (cell.unit.seed, cell.method) for cell in cells
    ]
    assert {row["setting"] for row in rows} == {"matching-10", "knapsack-24"}
    for row, cell in zip(rows, cells, strict=True):
        assert (row["repeats"], row["estimates_to"]) == (6, 3)
        assert [row[key] for key in keys] == pytest.approx([cell.regret(r) for r in (1, 2, 4, 6)])
        kept = min(cell.runs, key=lambda run: run.val_regret)
        assert row["best_of_6"] == pytest.approx(kept.test_regret), "the one draw that there is"
        assert (row["low"], row["high"]) == (cell.regrets.min(), cell.regrets.max())
        assert row["train_s"] == pytest.approx(np.mean([run.train_s for run in cell.runs]))


def test_the_table_averages_to_the_curve(repeated):
    rows = [row for row in build("restarts", repeated).records() if row["method"] == "spo"]
    found = np.mean([row["best_of_4"] for row in rows if row["setting"] == "matching-10"])
    curve = FIGURES["restarts"].data(repeated).filter(setting="matching-10", method="spo", r=4)
    assert curve["test_regret"].to_list() == pytest.approx([found])


def test_the_table_marks_what_is_beyond_half_of_the_repeats(repeated):
    sheet = build("restarts", repeated)
    at = {column.key: place for place, column in enumerate(sheet.columns)}
    for row in sheet.rows:
        for r, beyond in ((1, False), (2, False), (4, True), (6, True)):
            cell = row[at[f"best_of_{r}"]]
            assert (cell.tone == "muted", cell.text.startswith("(")) == (beyond, beyond)
    assert "in brackets: r beyond half of the repeats" in render(sheet, "md")


def test_the_table_with_fewer_repeats_and_unlike_seconds(tmp_path):
    for repeat in range(3):
        make_run(tmp_path, "spo", epochs=2, train_seed=repeat)
    make_run(tmp_path, "dgl-1", epochs=2, environment={"concurrency": 4})
    sheet = build("restarts", load(tmp_path))
    spo, dgl = sheet.records()
    assert (spo["method"], spo["repeats"], spo["estimates_to"]) == ("spo", 3, 1)
    assert (dgl["repeats"], dgl["best_of_2"], dgl["best_of_3"]) == (1, None, None)
    assert dgl["best_of_1"] == dgl["low"] == dgl["high"]
    assert spo["train_s"] is dgl["train_s"] is None
    assert any(note.startswith("† the seconds of") for note in sheet.notes)


def test_the_table_of_single_runs_says_how_to_repeat(tmp_path):
    make_run(tmp_path, "spo", epochs=2)
    notes = " ".join(build("restarts", load(tmp_path)).notes)
    assert "--repeats 8" in notes
    assert "in brackets" not in notes


def drawn_bands(report, monkeypatch, bands):
    """Draw lines of 10 to 20 % with these bands: the bands by method, and the caption."""
    rows = FIGURES["restarts"].data(report).filter(setting="knapsack-24").to_dicts()
    for row in rows:
        low, high = bands[row["method"]] if row["estimate"] else (None, None)
        row |= {"test_regret": 0.2 if row["r"] == 1 else 0.1, "low": low, "high": high}
    monkeypatch.setattr(restarts, "data", lambda report, layout: pl.DataFrame(rows))
    plot = restarts.draw(report)
    (ribbon,) = [each for each in plot.layers if type(each.geom).__name__ == "geom_ribbon"]
    drawn = {}
    for row in ribbon._data.to_dict("records"):
        ends = row["low"], row["high"], row["bottom"], row["top"]
        drawn.setdefault(row["method"], []).append(ends)
    return drawn, " ".join(plot.labels.caption.split())


def test_a_band_wider_than_its_panel_is_left_out_and_one_cut_reaches_the_frame(
    repeated, monkeypatch
):
    """The panel ends 1.5 times beyond its lines."""
    bands = {"two-stage": (0.0, 0.9), "spo": (0.0, 0.25), "dgl-1": (0.12, 0.21)}
    drawn, caption = drawn_bands(repeated, monkeypatch, bands)
    assert drawn.keys() == {"spo", "dgl-1"}
    low, high, bottom, top = drawn["spo"][0]
    assert low == bottom == pytest.approx(0.1 / 1.5)
    assert high == 0.25 < top < 0.3
    assert drawn["dgl-1"][0][:2] == (0.12, 0.21)
    assert "bands wider than their panel are left out; for one run and best of 3" in caption


def test_bands_that_fit_end_before_the_frame(repeated, monkeypatch):
    bands = {"two-stage": (0.08, 0.22), "spo": (0.11, 0.29), "dgl-1": (0.12, 0.21)}
    drawn, caption = drawn_bands(repeated, monkeypatch, bands)
    assert {name: rows[0][:2] for name, rows in drawn.items()} == bands
    _, _, bottom, top = drawn["spo"][0]
    assert bottom < 0.08
    assert top > 0.29
    assert "left out" not in caption


def test_bands_may_all_be_left_out(repeated, monkeypatch, tmp_path):
    drawn, caption = drawn_bands(
        repeated, monkeypatch, dict.fromkeys(("two-stage", "spo", "dgl-1"), (0.0, 0.9))
    )
    assert not drawn
    assert "left out" in caption
    save("restarts", repeated, tmp_path / "without.png")
