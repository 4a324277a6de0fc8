"""Verdicts across settings, against small cases worked out by hand."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_logs import Settings, make_folder, make_run

from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.page.verdict import verdict
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.complete_blocks import average_ranks, blocks, geometric_mean
from dglbench.report.statistics.equivalence import probabilities
from dglbench.report.statistics.paired import Pairs, simultaneous
from dglbench.report.statistics.profiles import Times, anytime_scores, area
from dglbench.report.statistics.ranking import Ranking, critical_difference, holm, ranking
from dglbench.report.style.titles import listing, title, without_seed
from dglbench.report.tables import build
from dglbench.report.tables.summary import summary


def regrets(tmp_path, table, methods=("two-stage", "spo", "qptl", "dgl-1")):
    """Make a folder in which settings (rows) and methods (columns) have these test regrets."""
    methods = list(methods)[: len(table[0])]
    for n, row in enumerate(table, start=1):
        make_folder(tmp_path, methods, [("matching", n, 25)], epochs=2)
        assert len(row) == len(methods)
    report = load(tmp_path)

    def fixed(cell):
        (run,) = cell.runs
        value = table[run.unit.n - 1][methods.index(run.method)]
        summary = run.record.summary
        test = dataclasses.replace(summary.selected.test, relative_regret=value)
        selected = dataclasses.replace(summary.selected, test=test)
        summary = dataclasses.replace(summary, selected=selected)
        run = dataclasses.replace(run, record=dataclasses.replace(run.record, summary=summary))
        return dataclasses.replace(cell, runs=(run,))

    return dataclasses.replace(
        report, chosen={key: fixed(cell) for key, cell in report.chosen.items()}
    )


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never decreasing.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(values):
    adjusted = holm(values)
    assert all(a >= p and a <= 1 for a, p in zip(adjusted, values, strict=True))
    by_value = [adjusted[i] for i in sorted(range(len(values)), key=lambda i: values[i])]
    assert by_value == sorted(by_value)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (4, 2.569), (8, 3.031), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(methods, q):
    assert critical_difference(methods, 14) == pytest.approx(
        q * math.sqrt(methods * (methods + 1) / (6 * 14)), rel=1e-3
    )


def test_ties_share_a_rank_and_what_is_missing_comes_last():
    assert average_ranks(np.array([[3.0, 1.0, 1.0], [2.0, np.nan, 1.0]])).tolist() == [
        [3.0, 1.5, 1.5],
        [2.0, 3.0, 1.0],
    ]


def test_friedman_of_a_constant_order(tmp_path):
    found = ranking(regrets(tmp_path, [[0.3, 0.2, 0.1]] * 4))
    # 12 n / (k (k + 1)) times the squared deviations of the mean ranks 1, 2, 3 from 2: 8, with
    # two degrees of freedom: p = exp(−8/2).
    assert found.friedman_p == pytest.approx(math.exp(-4))
    assert found.methods == ("qptl", "spo", "two-stage")
    assert found.mean_ranks == (1.0, 2.0, 3.0)


def test_wilcoxon_and_holm_of_a_constant_order(tmp_path):
    found = ranking(regrets(tmp_path, [[0.3 + 0.01 * n, 0.1] for n in range(6)]))
    assert found.friedman_p is None
    assert found.pairs == {("spo", "two-stage"): pytest.approx(2 / 2**6)}
    assert found.test == "wilcoxon"
    assert found.differ("two-stage", "spo")
    assert found.cliques == []


def test_too_few_settings_are_said_and_fall_back_on_mean_ranks(tmp_path):
    report = regrets(tmp_path, [[0.4, 0.3, 0.2, 0.1]] * 3)
    found = ranking(report)
    assert found.test == "nemenyi"
    assert found.difference == pytest.approx(2.569 * math.sqrt(20 / 18), rel=1e-3)
    assert "cannot distinguish any of 6 pairs" in found.test_words
    assert "takes 8 settings" in found.test_words  # 6 · 2/2⁸ < 0.05 ≤ 6 · 2/2⁷
    assert found.differ("dgl-1", "two-stage")
    assert not found.differ("dgl-1", "qptl")
    with_baseline = ranking(report, "spo")
    assert len(with_baseline.pairs) == 3


def test_bars_join_neighbours_of_which_no_two_differ():
    methods = ("a", "b", "c", "d")
    ranks = (1.0, 1.5, 2.8, 3.9)
    found = Ranking(None, methods, ranks, None, {}, "nemenyi", 1.5)
    assert found.cliques == [("a", "b"), ("b", "c"), ("c", "d")]
    assert Ranking(None, methods, ranks, None, {}, "nemenyi", 9.0).cliques == [("a", "d")]
    assert Ranking(None, methods, ranks, None, {}, "nemenyi", 0.1).cliques == []


def test_what_is_missing_is_left_out_and_named(tmp_path):
    settings = [("matching", n, 25) for n in (1, 2, 3)]
    make_folder(tmp_path, ["spo", "qptl"], settings, epochs=2)
    make_run(tmp_path, "dgl-1", n=1, epochs=2)
    (tmp_path / next(p.name for p in tmp_path.glob("matching-3*qptl*"))).rename(tmp_path / ".away")
    design = blocks(load(tmp_path))
    assert design.methods == ("spo", "qptl")
    assert [each.units[0].n for each in design.settings] == [1, 2]
    assert "DGL-1 is left out: it has a result in 1 of 3 settings." in design.left_out
    assert any("matching-3" in sentence for sentence in design.left_out)


def test_methods_that_are_everywhere_are_not_judged_where_a_slow_one_ran_alone(tmp_path):
    settings = [("matching", n, 25) for n in (1, 2, 3, 4)]
    make_folder(tmp_path, ["two-stage", "spo", "dgl-1"], settings, epochs=2)
    make_folder(tmp_path, ["qptl"], settings[:2], epochs=2)
    design = blocks(load(tmp_path))
    assert design.methods == ("two-stage", "spo", "dgl-1"), "3 × 4 results against 4 × 2"
    assert len(design.settings) == 4
    assert design.left_out == ("QPTL is left out: it has a result in 2 of 4 settings.",)


def test_the_bayesian_test_knows_better_alike_and_worse():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.05, 0.2, 12)
    better = probabilities(base * 0.8, base)
    assert better.better > 0.99
    alike = probabilities(base * 1.001, base)
    assert alike.alike > 0.99
    worse = probabilities(base, base * 0.8)
    assert worse.worse == pytest.approx(better.better, abs=0.01)
    for found in (better, alike, worse):
        assert sum(found) == pytest.approx(1)
    assert probabilities(base * 0.8, base) == better, "seeded"


def test_one_setting_is_weighed_against_the_prior_as_by_hand():
    # Two sums: the prior's place 0 (weight s = 1/2) and the one difference. "Better" needs
    # w² + 2w(1 − w) > 1/2 for pairs whose mean lies above the band: w > 1 − 1/√2, w ~ Beta(1, 1/2);
    # a mean of the difference and 0 lies above the band as well.
    found = probabilities(np.array([0.5]), np.array([1.0]))
    cut = 1 - 1 / math.sqrt(2)
    assert found.better == pytest.approx(math.sqrt(1 - cut), abs=0.02)  # P(w > c) = √(1 − c)


def test_a_wider_band_makes_more_alike(report):
    narrow, wide = (build("equivalence", report, None, band) for band in (0.001, 0.5))
    assert sum(row["alike"] for row in wide.records()) > sum(
        row["alike"] for row in narrow.records()
    )
    assert any("hint, not as a finding" in note for note in wide.notes), "five settings are few"
    with pytest.raises(ReportError, match="between 0 and 1"):
        build("equivalence", report, None, 2.0)


def test_a_profile_by_hand():
    seconds = np.array([[1.0, 2.0, np.inf], [30.0, 10.0, 10.0]])
    times = Times((None, None), ("a", "b", "c"), seconds, ())
    assert times.factors.tolist() == [[1, 2, np.inf], [3, 1, 1]]
    assert [times.share("a", factor) for factor in (1, 2.9, 3)] == [0.5, 0.5, 1.0]
    assert [times.share("c", factor) for factor in (1, 1e9)] == [0.5, 0.5]


def test_the_area_over_log_time_by_hand():
    # Over three decades: one at the start's 1, one at 0.5, one at 0.2.
    levels = np.array([0.5, 0.2])
    assert area(np.array([1.0, 10.0]), levels, 1.0, (0.1, 100)) == pytest.approx(1.7 / 3)
    assert area(np.array([0.01, 1e-9]), levels, 1.0, (0.1, 100)) == pytest.approx(0.2)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8), st.data())
def test_an_anytime_area_lies_between_the_levels(times, data):
    levels = data.draw(st.lists(st.floats(0, 1), min_size=len(times), max_size=len(times)))
    found = area(np.sort(np.array(times)), np.array(levels), 1.0, (1e-2, 1e2))
    assert min(levels) - 1e-9 <= found <= 1 + 1e-9


def test_anytime_scores_are_between_best_and_start(report):
    scores, left_out = anytime_scores(report)
    assert len(scores) == 3, "settings, whatever their data seeds"
    assert left_out == ()
    for found in scores.values():
        assert all(-0.05 < score <= 1 + 1e-9 for score in found.values())
        assert found["dgl-1"] < found["qptl"], "sooner at much the same level"


def test_the_summary_lists_methods_by_their_mean_rank(report):
    sheet = build("summary", report)
    blocks = [[row[1].value for row in rows] for _, rows in sheet.blocks()]
    assert len(blocks) > 1
    assert all(methods == blocks[0] for methods in blocks)
    ranks = [row[2].value for row in sheet.rows[: len(blocks[0])]]
    assert ranks == sorted(ranks)


def test_of_many_names_the_rest_are_counted():
    names = [f"m{n}" for n in range(9)]
    assert listing(names, most=6) == "m0, m1, m2, m3, m4, m5 and 3 others"
    assert listing(names[:7], most=6) == "m0, m1, m2, m3, m4, m5 and m6"


def test_geometric_means():
    assert geometric_mean([1, 100]) == pytest.approx(10)
    assert math.isnan(geometric_mean([]))
    assert math.isnan(geometric_mean([0.0, 1.0]))


def test_one_pair_alone_is_not_widened_and_many_are():
    rng = np.random.default_rng(1)
    resampled = rng.normal(size=(4000, 20))
    means = np.zeros(20)
    low, high = simultaneous(means[:1], resampled[:, :1])
    assert high[0] == pytest.approx(1.96, abs=0.1)
    assert low[0] == -high[0]
    _, many = simultaneous(means, resampled)
    # Twenty independent pairs: Šidák's 3.02, no more than Bonferroni's 3.02.
    assert many.mean() == pytest.approx(3.02, abs=0.12)
    alike = np.repeat(resampled[:, :1], 20, axis=1)
    assert simultaneous(means, alike)[1] == pytest.approx(np.full(20, high[0]))
    assert simultaneous(means[:2], np.zeros((10, 2)))[0].tolist() == [0, 0]


def test_the_pairwise_table_is_stricter_than_a_single_pair(report):
    pairs = Pairs(report)
    setting = by_setting(report)[0]
    records = [r for r in build("pairwise", report).records() if r["setting"] == setting.label]
    assert len(records) == 28
    for row in records:
        single = pairs.difference(setting.result(row["method"]), setting.result(row["other"]))
        assert row["high"] - row["low"] > 100 * (single.high - single.low)


def test_the_summary_counts_ranks_and_leads(tmp_path):
    report = regrets(tmp_path, [[0.3, 0.2, 0.1], [0.3, 0.1, 0.2]])
    rows = [
        row
        for row in build("summary", report).records()
        if row["measure"] == "test regret, one run"
    ]
    assert {row["method"]: row["mean_rank"] for row in rows} == {
        "two-stage": 3.0, "spo": 1.5, "qptl": 1.5,
    }  # fmt: skip
    assert rows[1]["mean"] == pytest.approx(math.sqrt(0.02))
    with pytest.raises(ReportError, match="no result of the baseline 'lodl'; there are two-stage"):
        build("summary", report, "lodl")


def test_the_summary_ranks_no_method_where_it_did_not_run(tmp_path):
    report = regrets(tmp_path, [[0.3, 0.2, 0.1], [0.3, 0.1, 0.9], [0.1, 0.3, 0.9]])
    kept = {k: c for k, c in report.chosen.items() if c.method != "qptl" or c.unit.n == 1}
    sheet = build("summary", dataclasses.replace(report, chosen=kept))
    (rows,) = (rows for name, rows in sheet.blocks() if name == "test regret, one run")
    found = [(row[1].value, row[2].text, row[2].tone) for row in rows]
    assert found == [("spo", "1.33", "best"), ("two-stage", "1.67", ""), ("qptl", "—", "muted")]


def test_a_setting_is_a_column_with_mean_and_spread_over_its_data_seeds(tmp_path):
    make_folder(tmp_path, ["spo", "qptl"], [("matching", 10, s) for s in (1, 2, 3)], epochs=4)
    make_folder(tmp_path, ["spo", "qptl"], [("knapsack", 24, 25)], epochs=4)
    report = load(tmp_path)
    sheet = summary(report)
    assert [column.title for column in sheet.columns[4:]] == ["knapsack-24", "matching-10"]
    regrets = {"spo": [], "qptl": []}
    for run in report.chosen_runs():
        if run.unit.task == "matching":
            regrets[run.method].append(run.test_regret)
    best = min(regrets, key=lambda method: sum(regrets[method]))
    for row in sheet.rows[:2]:
        values = regrets[row[1].value]
        assert row[5].value == pytest.approx(np.mean(values))
        assert row[5].text.endswith(f" ± {100 * np.std(values, ddof=1):.2f}")
        assert (row[5].tone == "best") == (row[1].value == best)
        assert "±" not in row[4].text, "one run has no spread"


def test_the_summarys_leads_are_the_leaderboards(report):
    board = [row for row in build("leaderboard", report).records() if row["standing"] != "start"]
    summary = build("summary", report, "qptl").records()
    name = "times sooner than QPTL at its regret"
    for row in board:
        (found,) = (r for r in summary if r["measure"] == name and r["method"] == row["method"])
        if row["method"] != "qptl":
            assert found[row["setting"]] == row["speedup_qptl"]


def test_seeds_have_mean_and_spread(tmp_path):
    make_folder(tmp_path, ["spo"], [("matching", 10, s) for s in (1, 2, 3)], epochs=3)
    report = load(tmp_path)
    (row,) = build("seeds", report).records()
    values = [run.test_regret for run in report.chosen_runs()]
    assert row["mean"] == pytest.approx(np.mean(values))
    assert row["sd"] == pytest.approx(np.std(values, ddof=1))
    assert (row["low"], row["high"]) == (min(values), max(values))


def test_memory_and_time_outside_training_are_shown_where_logged(tmp_path):
    make_folder(tmp_path, ["spo", "qptl"], [("matching", 50, 25)], epochs=2)
    report = load(tmp_path)
    key, cell = next(item for item in report.chosen.items() if item[1].method == "spo")
    (run,) = cell.runs
    summary = dataclasses.replace(run.record.summary, peak_memory_mb=512.4, outside_s=1.5)
    run = dataclasses.replace(run, record=dataclasses.replace(run.record, summary=summary))
    chosen = {**report.chosen, key: dataclasses.replace(cell, runs=(run,))}
    spo, qptl = build("resources", dataclasses.replace(report, chosen=chosen)).records()
    assert (spo["peak_memory_mb"], spo["outside_s"]) == (512.4, 1.5)
    assert qptl["peak_memory_mb"] is None
    assert qptl["outside_s"] == pytest.approx(qptl["train_s"] / 2), "wall less training"


def test_settings_are_named_in_words(tmp_path):
    @dataclasses.dataclass(frozen=True)
    class Market(Settings):
        source: str = "semo"

    for share in (0.25, 0.125):
        make_run(tmp_path, "spo", "knapsack", 48, epochs=2,
                 settings=Market(n=48, capacity_fraction=share))  # fmt: skip
    names = {title(unit).replace("\u00a0", " ") for unit in load(tmp_path).units}
    assert names == {"knapsack-48, SEMO, capacity 25 %", "knapsack-48, SEMO, capacity 12.5 %"}


def test_a_title_without_its_seed(report):
    assert {without_seed(unit) for unit in report.units} == {
        "matching-10", "matching-50", "knapsack-24",
    }  # fmt: skip


def test_nothing_to_compare_is_said_not_raised(tmp_path):
    make_run(tmp_path, "spo", epochs=2)
    report = load(tmp_path)
    for name in ("ranks", "equivalence", "profile", "seeds"):
        sheet = build(name, report)
        assert sheet.rows == ()
        assert sheet.notes


def test_with_many_methods_each_is_compared_with_the_best(tmp_path):
    methods = [f"dgl-{number}" for number in range(1, 14)]
    table = [[0.1 + 0.01 * place + 0.001 * n for place in range(13)] for n in range(3)]
    sheet = build("equivalence", regrets(tmp_path, table, methods))
    pairs = {frozenset((row[0].value, row[1].value)) for row in sheet.rows}
    assert pairs == {frozenset(("dgl-1", other)) for other in methods[1:]}
    assert any("compared with DGL-1," in note for note in sheet.notes)


def test_there_is_one_mean_rank_wherever_it_is_shown(tmp_path):
    report = regrets(tmp_path, [[0.3, 0.2, 0.1], [0.3, 0.1, 0.9], [0.1, 0.3, 0.9]])
    kept = {k: c for k, c in report.chosen.items() if c.method != "qptl" or c.unit.n == 1}
    report = dataclasses.replace(report, chosen=kept)
    found = ranking(report)
    (rows,) = (
        rows for name, rows in build("summary", report).blocks() if name == "test regret, one run"
    )
    shown = {row[1].value: row[2].value for row in rows if row[2].value is not None}
    assert shown == dict(zip(found.methods, found.mean_ranks, strict=True))
    best = min(shown.values())
    assert f"lowest mean rank by test regret of one run, {best:.2f} of 2" in verdict(
        report, found, []
    )
