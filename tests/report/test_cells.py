"""Runs grouped upwards: repeats, data seeds, settings; which configuration stands for a method."""

from dataclasses import dataclass

import numpy as np
import pytest
from make_logs import Options, make_folder, make_run
from record_files import change_record

from dglbench.report import load
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.complete_blocks import blocks
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.ranking import ranking
from dglbench.report.style.palette import method_order, style
from dglbench.report.tables import build, render

METHODS = ("two-stage", "spo", "dgl-1")


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """Three methods, two settings, three data seeds, four repeats."""
    out = tmp_path_factory.mktemp("repeated")
    settings = [(task, n, seed) for task, n in (("matching", 10), ("knapsack", 24))
                for seed in (1, 2, 3)]  # fmt: skip
    for repeat in range(4):
        make_folder(out, METHODS, settings, epochs=4, train_seed=repeat)
    return load(out)


def test_a_repeat_is_no_setting_and_no_data_seed(repeated):
    assert len(repeated.runs) == 3 * 2 * 3 * 4
    assert [unit.label for unit in repeated.units] == [
        *(f"knapsack-24, seed {seed}" for seed in (1, 2, 3)),
        *(f"matching-10, seed {seed}" for seed in (1, 2, 3)),
    ]
    assert [(each.title, each.over) for each in by_setting(repeated)] == [
        ("knapsack-24", "3 data seeds × 4 repeats"), ("matching-10", "3 data seeds × 4 repeats"),
    ]  # fmt: skip
    assert len(blocks(repeated).settings) == 2
    found = ranking(repeated)
    assert found.blocks.scope == "2 settings (3 data seeds and 4 repeats each)"
    records = build("seeds", repeated).records()
    assert {(row["seeds"], row["repeats"]) for row in records} == {(3, 4)}


def test_a_setting_is_the_mean_of_its_data_seeds_means(repeated):
    for setting in by_setting(repeated):
        for result in setting.results:
            means = [np.mean([run.test_regret for run in cell.runs]) for cell in result.cells]
            assert result.by_seed() == pytest.approx(means)
            assert result.regret() == pytest.approx(np.mean(means))
            best = [min(cell.runs, key=lambda run: run.val_regret) for cell in result.cells]
            assert result.regret(4) == pytest.approx(np.mean([run.test_regret for run in best]))


def test_best_of_half_the_repeats_is_shown_and_costs_as_many_runs(repeated):
    assert repeated.best_of == 2
    sheet = build("leaderboard", repeated)
    assert "best of 2 (95 %)" in [sheet.columns[at].title for at in sheet.shown]
    results = {(s.label, result.method): result for s in by_setting(repeated)
               for result in s.results}  # fmt: skip
    rows = [row for row in sheet.records() if row["standing"] != "start"]
    assert len(rows) == len(results)
    for row in rows:
        result = results[row["setting"], row["method"]]
        assert row["best_of"] == pytest.approx(result.regret(2))
        spent = [run.train_s for run in result.runs]
        assert row["best_of_s"] == pytest.approx(2 * np.mean(spent))
        assert row["range_low"] == min(run.test_regret for run in result.runs)
        assert row["regret_low"] <= row["test_regret"] <= row["regret_high"]


def test_differences_are_paired_by_data_seed(repeated):
    setting = by_setting(repeated)[0]
    one, other = setting.results[:2]
    found = Pairs(repeated).difference(one, other)
    apart = one.by_seed() - other.by_seed()
    assert found.mean == pytest.approx(apart.mean())
    reach = 4.303 * apart.std(ddof=1) / np.sqrt(3)  # t with two degrees of freedom
    assert found.high - found.mean == pytest.approx(reach, rel=1e-3)
    assert found.over == "3 data seeds"


def test_within_one_data_seed_repeats_widen_the_interval(tmp_path):
    """The same decisions in every repeat say nothing new; other decisions do."""
    for repeat in range(4):
        make_run(tmp_path, "spo", epochs=3, train_seed=repeat)
        make_run(tmp_path, "dgl-1", epochs=3, train_seed=repeat, regret_factor=1 + repeat)
    report = load(tmp_path)
    pairs = Pairs(report)
    spo, dgl = by_setting(report)[0].results
    widths = [high - low for low, high in (pairs.interval(each) for each in (spo, dgl))]
    assert widths[1] > 3 * widths[0]
    found = pairs.difference(spo, dgl)
    assert found.over == "these data only"
    note = " ".join(build("leaderboard", report).notes)
    assert (
        "1 data seed × 4 repeats; intervals over repeats and test instances, of these data" in note
    )


def test_a_configuration_is_chosen_over_repeats_and_data_seeds(tmp_path):
    """One lucky run of a configuration does not choose it."""
    validation = {0.1: [0.01, 0.50, 0.50], 0.2: [0.20, 0.20, 0.20]}
    for lr, regrets in validation.items():
        for seed in (1, 2):
            for repeat, regret in enumerate(regrets):
                run = make_run(tmp_path, "spo", n=10, seed=seed, epochs=2, train_seed=repeat,
                               options=Options(lr=lr))  # fmt: skip

                def set_validation(record, value=regret):
                    record["summary"]["selected"]["val"]["relative_regret"] = value

                change_record(run, set_validation)
    report = load(tmp_path)
    assert {run.options["lr"] for run in report.chosen_runs()} == {0.2}
    assert len(report.chosen_runs()) == 6


def test_failed_repeats_are_counted_and_rank_last(tmp_path):
    for repeat in range(3):
        make_run(tmp_path, "spo", epochs=2, train_seed=repeat)
    make_run(
        tmp_path, "spo", epochs=2, train_seed=3, status={"state": "diverged", "message": "NaN"}
    )
    (cell,) = load(tmp_path).cells()
    assert (cell.repeats, len(cell.runs), cell.lost) == (4, 3, 1)
    assert cell.certain(1) == pytest.approx(3 / 4)
    assert cell.certain(2) == pytest.approx(1)
    assert cell.regret() == pytest.approx(np.mean([run.test_regret for run in cell.runs]))
    sheet = build("leaderboard", load(tmp_path))
    at = [column.key for column in sheet.columns].index("repeats")
    assert sheet.rows[0][at].text == "4 (1 failed)"


@dataclass(frozen=True)
class Started(Options):
    start: str = "warm"


def test_starts_that_are_compared_have_names_that_tell_them_apart(tmp_path):
    for start in ("warm", "fresh"):
        for repeat in range(2):
            make_run(tmp_path, "spo", epochs=2, train_seed=repeat, options=Started(start=start))
    make_run(tmp_path, "dgl-1", epochs=2, options=Started())
    report = load(tmp_path)
    assert report.methods == ["spo · fresh", "spo · warm", "dgl-1"]
    assert [style(name).label for name in report.methods] == [
        "SPO+ · fresh",
        "SPO+ · warm",
        "DGL-1",
    ]
    assert len({style(name).shape for name in report.methods}) == 3
    assert sorted(report.methods, key=method_order) == report.methods


@pytest.mark.parametrize(
    "sweep",
    [
        '{"search": "random", "groups": [{"method": "spo", "run_id": "none"}]}',
        '{"search": "none", "groups": [{"method": "spo", "run_id": "-", "tuned": {"trials": 4}}]}',
    ],
    ids=["here", "elsewhere"],
)
def test_a_start_that_a_search_chose_is_an_option_like_others(tmp_path, sweep):
    for start, factor in (("warm", 1.0), ("fresh", 0.5)):
        make_run(tmp_path, "spo", epochs=2, options=Started(start=start), regret_factor=factor)
    (tmp_path / "sweep-abc.json").write_text(sweep)
    report = load(tmp_path)
    assert report.methods == ["spo"]
    assert report.chosen_runs()[0].options["start"] == "fresh"


def test_of_methods_that_tie_all_lead(tmp_path):
    for method in METHODS:
        run = make_run(tmp_path, method, epochs=2)

        def tie(record):
            record["summary"]["selected"]["test"]["relative_regret"] = 0.5

        change_record(run, tie)
    report = load(tmp_path)
    sheet = build("leaderboard", report)
    start, *methods = [row[1].text for row in sheet.rows]
    assert start.startswith("warm start (")
    assert methods == ["Two-stage ★", "SPO+ ★", "DGL-1 ★"]
    (first,) = sheet.lead
    assert "no method ended below the warm start" in first
    assert render(sheet, "md").index(first[:40]) < render(sheet, "md").index("| method |")
