"""How many data seeds a gap needs, and what a result took in all."""

import json

import numpy as np
import pytest
from make_logs import make_folder, make_run

from dglbench.cli import main
from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.power import pair_spread, seeds_needed
from dglbench.report.tables import build


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.5, 6)])
def test_paired_samples_of_the_textbooks(effect, seeds):
    """Two-sided paired t test, 5 %, power 80 %: as G*Power and Cohen's tables have it."""
    assert seeds_needed(1.0, effect) == seeds


def test_simulated_comparisons_find_the_gap_four_times_of_five():
    from scipy.stats import ttest_1samp

    spread, gap = 0.006, 0.005
    seeds = seeds_needed(spread, gap)
    draws = np.random.default_rng(0).normal(gap, spread, (4000, seeds))
    found = (ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean()
    assert 0.78 < found < 0.86
    fewer = ttest_1samp(draws[:, : seeds - 2], 0, axis=1).pvalue < 0.05
    assert fewer.mean() < 0.8


def test_no_spread_needs_two_seeds_and_a_hopeless_gap_is_said():
    assert seeds_needed(0.0, 0.005) == 2
    assert seeds_needed(10.0, 0.005) is None


def folder(out, seeds, repeats):
    for repeat in range(repeats):
        settings = [("matching", 10, seed) for seed in range(seeds)]
        make_folder(out, ["spo", "dgl-1"], settings, epochs=3, train_seed=repeat)
    return load(out)


def test_repeats_take_away_their_own_part_of_the_spread(tmp_path):
    setting = by_setting(folder(tmp_path, 6, 4))[0]
    one, other = setting.results
    found = pair_spread(one, other)
    apart = one.by_seed() - other.by_seed()
    assert found.seen == pytest.approx(apart.std(ddof=1))
    assert found.low < found.seen < found.high
    within = sum(np.mean([cell.regrets.var(ddof=1) for cell in r.cells]) for r in (one, other))
    assert found.within == pytest.approx(np.sqrt(within))
    assert found.at(4, found.seen) == found.seen
    between = max(found.seen**2 - within / 4, 0)
    assert found.at(1, found.seen) == pytest.approx(np.sqrt(between + within))
    assert found.at(16, found.seen) < found.seen < found.at(1, found.seen)


def test_below_five_seeds_only_a_lower_bound_is_given(tmp_path):
    few, enough = folder(tmp_path / "3", 3, 2), folder(tmp_path / "6", 6, 2)
    (row,) = build("power", few).rows
    assert row[8].text.startswith("≥ ")
    (record,) = build("power", few).records()
    assert record["bound"] == "yes"
    (record,) = build("power", enough).records()
    assert record["bound"] == "no"
    assert build("power", enough, gap=0.05).records()[0]["seeds_1"] <= record["seeds_1"]
    with pytest.raises(ReportError, match="got 0"):
        build("power", enough, gap=0.0)


def test_one_run_each_says_nothing_of_power(tmp_path):
    (record,) = build("power", folder(tmp_path, 1, 1)).records()
    assert record["seeds_1"] is None
    assert record["spread"] is None


def test_the_gap_is_an_option_in_points(tmp_path, capsys):
    folder(tmp_path, 3, 2)
    assert main(["report", str(tmp_path), "--table", "power", "--gap", "2"]) == 0
    assert "true gap of 2 points" in " ".join(capsys.readouterr().out.split())


def test_seconds_of_all_kinds_add_up(tmp_path):
    for repeat in range(4):
        run = make_run(tmp_path, "spo", epochs=3, train_seed=repeat)
    make_run(tmp_path, "two-stage", epochs=3)
    tuned = {"search": "random", "configurations": 9, "runs": 9, "seconds": 7.5,
             "solver_calls": 10, "failed": 0, "concurrency": 1}  # fmt: skip
    group = {**tuned, "run_id": run.name, "seconds": 0.5, "runs": 1, "tuned": tuned}
    (tmp_path / "sweep-abc.json").write_text(json.dumps({"search": "none", "groups": [group]}))
    report = load(tmp_path)
    records = {(row["method"], row["reading"]): row for row in build("total", report).records()}
    assert set(records) == {("spo", "one run"), ("spo", "best of 2"), ("two-stage", "one run")}
    trained = np.mean([each.train_s for each in report.chosen_runs() if each.method == "spo"])
    both = records["spo", "best of 2"]
    assert both["train_s"] == both["restart_s"] == pytest.approx(trained)
    assert (both["warm_start_s"], both["tuning_s"]) == (pytest.approx(0.8), 7.5)
    assert both["total_s"] == pytest.approx(2 * trained + 0.8 + 7.5)
    start = report.chosen_runs()[-1].warm_start_regret
    assert both["gain"] == pytest.approx(100 * (start - both["regret"]) / both["total_s"])
    alone = records["two-stage", "one run"]
    assert (alone["warm_start_s"], alone["tuning_s"], alone["restart_s"]) == (0, 0, 0)
