"""What the page opens on: sentences and the table of times, made from the results."""

import pytest
from make_logs import make_folder, make_run

from dglbench.report import figures, load, page
from dglbench.report.page.answers import answers
from dglbench.report.page.for_time import for_time, leads
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.for_time import best_for, budgets, spent
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.ranking import ranking
from dglbench.report.statistics.standings import standings
from dglbench.report.style.palette import style

SETTINGS = [("matching", n, seed) for n in (10, 50) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four methods, two settings of three data seeds, four repeats; SPO+ is clearly best."""
    out = tmp_path_factory.mktemp("logs") / "results"
    for repeat in range(4):
        make_folder(out, ["two-stage", "dgl-1"], SETTINGS, epochs=6, train_seed=repeat)
        make_folder(
            out, ["spo", "qptl"], SETTINGS, epochs=6, train_seed=repeat, regret_factor=0.5
        )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def report(folder):
    return load(folder)


def said(report):
    found = answers(report, ranking(report), standings(report), Pairs(report))
    return {each.question: each.words for each in found}


def test_the_best_for_a_time_is_the_lowest_of_what_fits(report):
    for comparison in by_setting(report):
        for time in budgets([comparison]):
            fits = [
                result.regret(r)
                for result in comparison.results
                for r in range(1, result.most + 1)
                if r * spent(result) <= time
            ]
            choice = best_for(comparison, time)
            assert (choice.regret if choice else None) == (min(fits) if fits else None)
        assert best_for(comparison, budgets([comparison])[-1]).regret == min(
            result.regret(r) for result in comparison.results for r in (1, 2)
        )


def test_every_question_is_answered_for_settings_not_for_runs(report):
    words = said(report)
    assert list(words) == [
        "Which method?", "For how much time?", "Does training for decisions pay?", "Is it luck?",
    ]  # fmt: skip
    assert words["Which method?"].startswith("Over 2 settings (3 data seeds and 4 repeats each) ")
    assert "of 2 settings" in words["Does training for decisions pay?"]
    assert words["Is it luck?"].startswith("Every figure is a mean over 3 data seeds × 4 repeats;")
    assert " at most (" in words["Is it luck?"]


def test_one_kind_of_training_answers_no_question_about_the_other(report):
    alone = report.only(methods=["spo", "qptl"])
    assert "Does training for decisions pay?" not in said(alone)


def test_times_that_were_measured_unlike_are_not_compared(tmp_path):
    make_run(tmp_path, "spo", epochs=3)
    make_run(tmp_path, "two-stage", epochs=3, environment={"concurrency": 4})
    report = load(tmp_path)
    assert for_time(standings(report)).rows == ()
    assert leads(standings(report)) == ""
    assert "For how much time?" not in said(report)


def test_the_table_names_method_restarts_and_regret(report):
    sheet = for_time(standings(report))
    assert [row[0].text for row in sheet.rows] == ["matching-10", "matching-50"]
    assert sheet.columns[-1].key == "warm_start"
    last = sheet.rows[0][-2]
    choice = best_for(by_setting(report)[0], 1e9)
    assert last.value == choice.regret
    assert style(choice.result.method).label in last.text
    assert f"{100 * choice.regret:.2f}" in last.text
    assert ("best\u00a0of" in last.text) == (choice.r > 1)


def test_one_run_each_is_said(tmp_path):
    make_folder(tmp_path, ["spo", "dgl-1"], [("matching", 10, 25)], epochs=4)
    words = said(load(tmp_path))["Is it luck?"]
    assert "these data only" in words
    assert "Each method ran once" in words


def test_several_folders_make_one_page(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    make_folder(tmp_path / "more", ["spo", "dgl-1"], [("knapsack", 24, 25)], epochs=4)
    text = page.build(load(folder, tmp_path / "more"))
    assert "4 methods compared in 3 settings, from 98 runs, all finished." in text
    assert "<h1>dglbench: results and more</h1>" in text
    for name in ("matching-10", "matching-50", "knapsack-24"):
        assert f'data-title="{name}"' in text
