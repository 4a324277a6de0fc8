"""The figures of repeats: restart curves, and a dot for every run."""

import pytest
from make_logs import make_folder, make_run

from dglbench.report import load
from dglbench.report.figures import FIGURES, save
from dglbench.report.statistics.comparisons import by_setting


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
