"""What makes a figure readable at any width: room, ticks, notes, numbers."""

import numpy as np
import polars as pl
import pytest

from dglbench.errors import ReportError
from dglbench.report.figures.ranks import _ticks
from dglbench.report.style.curve_marks import Axis, panel_marks
from dglbench.report.style.curve_panels import _axis, _panel_height, draw_curves
from dglbench.report.style.curve_panels import _ticks as _curve_ticks
from dglbench.report.style.layout import Layout, parse_width
from dglbench.report.style.seed_band import held
from dglbench.report.style.theme import lines, percent, seconds


def test_numbers_are_written_for_people():
    assert percent([0.01, 0.015]) == ["1.0 %", "1.5 %"]
    assert percent([0.0, 0.25, 1.0]) == ["0 %", "25 %", "100 %"]
    assert seconds([0.00001, 0.01, 0.2, 5, 2000]) == ["10 µs", "10 ms", "200 ms", "5 s", "2k s"]


def test_panels_shrink_before_a_figure_outgrows_the_page():
    six = _panel_height(6, 1.0, Layout(3.4))
    assert 6 * (six + 0.12) + 1.0 == pytest.approx(9.0), "six panels in a column fill the page"
    assert _panel_height(2, 1.0, Layout(3.4)) == _panel_height(6, 1.0, Layout()) == 1.85
    assert _panel_height(12, 1.0, Layout(3.4)) == 1.15, "and no lower than can be read"


def test_notes_are_broken_before_the_figure_ends_and_not_within_a_number():
    note = "above the panel: Two-stage 15.0 % in matching-10, seed 1; Two-stage 20.5 % in seed 3"
    broken = lines([note], 3.4)
    assert max(map(len, broken)) <= 60
    assert not any(line.startswith(("%", "stage")) for line in broken)
    assert " ".join(broken).replace("\u00a0", " ") == note


def test_ranks_on_a_short_axis_stand_apart():
    assert _ticks(8, 3.0) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert _ticks(28, 0.6) == [1, 20]
    assert _ticks(28, 4.0) == [1, 2, *range(4, 29, 2)]


def test_a_width_that_is_none_is_told(report):
    assert parse_width("5.5") == 5.5
    for words in ("wide", "0.1", "nan"):
        with pytest.raises(ReportError, match=r"column .* text .* inches"):
            parse_width(words)


def test_a_marker_above_the_panel_is_not_put_on_its_edge():
    def rows(seed, best):
        return [
            {"run_id": f"two-stage-{seed}", "method": "two-stage", "seed": seed, "epoch": at,
             "x": 10.0**at,
             "best_epoch": 1 + seed, "test_regret": level, "best_test_regret": level,
             "warm_start_regret": 0.10}
            for at, level in enumerate(best)
        ]  # fmt: skip

    # The first seed is done at once, far above the panel where the other still is.
    frame = pl.DataFrame([*rows(0, [9.0, 0.09, 0.09, 0.09]), *rows(1, [9.0, 9.0, 0.09, 0.09])])
    marks = panel_marks(frame, Axis(0.0, 3.0, 3.2, 4.0, 0.1), {})
    assert marks["selected"].is_empty()
    assert marks["ends"]["y"].to_list() == pytest.approx([0.09])


def curve(method, seconds, levels, run=0):
    """Rows of one run, whose last epoch is its best."""
    return pl.DataFrame(
        {
            "setting": "s",
            "panel": "s",
            "run_id": f"{method}-{run}",
            "method": method,
            "seed": 1,
            "epoch": range(len(seconds)),
            "elapsed_s": seconds,
            "x": seconds,
            "best_epoch": range(len(seconds)),
            "test_regret": levels,
            "best_test_regret": levels,
            "warm_start_regret": 0.10,
        },
        schema_overrides={"epoch": pl.Int32, "best_epoch": pl.Int32},
    )


SHORT = curve("spo", [0.001, 0.002, 0.003], [0.10, 0.09, 0.08])


@pytest.mark.parametrize(
    ("others", "last"),
    [
        # All of its training is before its only evaluation, and it takes longest.
        ([curve("boosted-trees", [0.9], [0.085])], 0.9),
        # The mean of two runs is within the panel, the longer run alone is not.
        ([curve("dgl-1", [0.001, 0.004], [0.10, 0.07]),
          curve("dgl-1", [0.5, 90.0], [0.50, 0.13], run=1)], 90.0),
        # What ends above the panel is named in a note, and does not make the axis longer.
        ([curve("two-stage", [0.001, 0.9, 5.0], [0.09, 0.5, 0.5])], 0.003),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # plotnine's own
def test_every_marker_stands_on_the_axis_of_time(others, last, tmp_path):
    frame = pl.concat([SHORT, *others])
    axis, floor = _axis(frame, "elapsed_s", 3.0, {})
    assert axis.data >= np.log10(last)
    assert axis.data < np.log10(max(last, 10 * floor)) + 0.1
    marks = panel_marks(frame.with_columns(pl.col("x").clip(floor)), axis, {})
    lines = marks["lines"].filter(pl.col("kind") != "warm start")
    for drawn in (marks["selected"], marks["bands"], lines):
        assert drawn["x"].is_between(10**axis.left, 10**axis.data).all()
    plot = draw_curves(
        frame.drop("panel", "x"), x="elapsed_s", x_title="seconds", x_labels=seconds,
        titles={"s": "s"}, intervals={},
    )  # fmt: skip
    plot.save(tmp_path / "figure.png", verbose=False)  # a removed point would be a warning


def test_boosted_trees_alone_stand_at_their_own_time():
    axis, floor = _axis(curve("boosted-trees", [300.0], [0.09]), "elapsed_s", 3.0, {})
    assert floor < 300 < 10**axis.data


def test_labels_under_a_log_axis_stand_apart():
    wide = Axis(0.0, 5.5, 5.5, 8.6, 0.2)
    assert _curve_ticks(wide, 1.0, 2.5) == [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]
    assert _curve_ticks(wide, 1.0, 1.8) == [1.0, 10.0, 1e3, 1e5]
    assert _curve_ticks(wide, None, 1.8) == [1.0, 100.0, 1e4]


def test_a_step_curve_holds_its_level():
    xs, levels = np.array([1.0, 2.0, 4.0]), np.array([9.0, 7.0, 5.0])
    at = np.array([0.5, 1.0, 3.9, 100.0])
    assert held(xs, levels, 10.0, at).tolist() == [10.0, 9.0, 7.0, 5.0]
    assert held(xs, levels, None, at)[0] == 9.0
