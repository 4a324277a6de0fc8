"""Which regret is shown, and of which runs."""

import pytest
from make_logs import make_folder, make_run

from dglbench.report import load
from dglbench.report.figures import FIGURES
from dglbench.report.model import Run
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.curves import curves
from dglbench.report.statistics.paired import Pairs
from dglbench.report.tables import TABLES, build, render

WITHOUT_REGRET = {"selected", "budget", "resources", "published"}  # published: pooled, by recipe


def test_the_leaderboard_shows_regret_in_the_unit_of_the_labels(report):
    records = build("leaderboard", report).records()
    for setting in by_setting(report):
        for result in setting.results:
            (row,) = (
                r for r in records if (r["setting"], r["method"]) == (setting.label, result.method)
            )
            absolute = [run.record.selected.test.absolute_regret for run in result.runs]
            assert row["absolute_regret"] == pytest.approx(sum(absolute) / len(absolute))
    assert "absolute" in render(build("leaderboard", report), "md")


@pytest.mark.parametrize("name", [name for name in TABLES if name not in WITHOUT_REGRET])
def test_every_table_of_regrets_says_which_regret_is_meant(report, name):
    assert any(
        note.startswith("regret: relative, the mean over") for note in build(name, report).notes
    )


def test_runs_judged_by_pooled_regret_are_compared_by_it_and_tables_say_so(tmp_path, monkeypatch):
    make_folder(tmp_path, ["spo", "dgl-1"], [("matching", 10, 1), ("knapsack", 24, 1)], epochs=4)
    pooled = property(lambda run: "pooled" if run.unit.task == "knapsack" else "relative")
    monkeypatch.setattr(Run, "judged_by", pooled)
    report = load(tmp_path)
    pairs = Pairs(report)
    for run in report.chosen_runs():
        test = run.record.selected.test
        by = test.pooled_regret if run.unit.task == "knapsack" else test.relative_regret
        assert run.test_regret == by
        curve = curves(report, [run])
        assert curve["best_test_regret"][-1] == pytest.approx(by)
    spo, dgl = by_setting(report)[0].results
    assert spo.units[0].task == "knapsack"
    tables = [report.table("decisions", result.runs) for result in (spo, dgl)]
    means = [table["regret"].sum() / table["optimal_value"].abs().sum() for table in tables]
    assert pairs.difference(spo, dgl).mean == pytest.approx(means[0] - means[1])
    assert pairs.interval(spo) is not None
    note = build("leaderboard", report).notes[-1]
    assert note.startswith("regret: in knapsack-24 pooled, Σ regret / Σ |optimum|")
    assert "; elsewhere relative" in note


def test_runs_of_older_code_are_in_no_figure(tmp_path):
    for source, finished in (("a" * 12, "2026-01-01"), ("b" * 12, "2026-02-01")):
        status = {"finished": f"{finished}T00:00:00"}
        for method in ("two-stage", "dgl-1", "rdgl-1"):
            make_run(tmp_path, method, source=source, status=status, epochs=3)
    report = load(tmp_path)
    current = {run.run_id for run in report.current}
    assert len(current) == 3
    assert set(FIGURES["complexity"].data(report)["run_id"]) <= current
    assert len(FIGURES["forms"].data(report)) == 2
