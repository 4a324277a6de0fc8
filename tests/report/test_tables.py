import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make_logs import METHODS, Options, make_folder, make_run
from record_files import change_record, replace_table

from dglbench.errors import ReportError
from dglbench.report import Report, load
from dglbench.report.statistics.comparisons import by_setting, compare
from dglbench.report.statistics.curves import curves, time_to
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.standings import standings
from dglbench.report.statistics.time_to_regret import Reach
from dglbench.report.tables import TABLES, build, render
from dglbench.report.tables.leaderboard import unfinished
from dglbench.runs import schemas

ELSEWHERE = {"machine": "another", "concurrency": 4}


def set_decisions(run: Path, relative: np.ndarray) -> None:
    """Give a run these relative regrets on instances 0, 1, …, each worth 10."""
    columns = {
        "instance": np.arange(len(relative)),
        "optimal_value": np.full(len(relative), 10.0),
        "achieved_value": 10 - 10 * relative,
        "regret": 10 * relative,
        "optimum_gap": np.zeros(len(relative)),
        "options": [[0]] * len(relative),
    }
    replace_table(run, "decisions", pa.table(columns, schema=schemas.DECISIONS))


def cells(report: Report, name: str, **match: str) -> dict[str, str]:
    """Return the texts of the one row whose values match."""
    sheet = build(name, report)
    keys = [column.key for column in sheet.columns]
    rows = [
        dict(zip(keys, row, strict=True))
        for row, record in zip(sheet.rows, sheet.records(), strict=True)
        if all(record[key] == value for key, value in match.items())
    ]
    assert len(rows) == 1
    return {key: cell.text for key, cell in rows[0].items()}


def test_leaderboard_has_a_row_for_every_method_lowest_regret_first(report):
    records = build("leaderboard", report).records()
    settings = by_setting(report)
    for setting in settings:
        mine = [record for record in records if record["setting"] == setting.label]
        assert [record["method"] for record in mine].count("warm-start") == 1
        assert {record["method"] for record in mine} == {*METHODS, "warm-start"}
        assert len(mine) == len(METHODS) + 1
        regrets = [record["test_regret"] for record in mine]
        assert regrets == sorted(regrets)
        assert next(row for row in mine if row["method"] != "warm-start")["standing"] == "best"


def test_the_warm_start_is_a_row_that_takes_part_in_nothing(report):
    rows = {row["setting"]: row for row in build("leaderboard", report).records()
            if row["method"] == "warm-start"}  # fmt: skip
    for setting in by_setting(report):
        row = rows.pop(setting.label)
        assert row["standing"] == "start"
        runs = setting.result("spo").runs
        known = [run.record.summary.warm_start for run in runs]
        levels = [start.test_relative_regret for start in known]
        assert row["test_regret"] == pytest.approx(np.mean(levels))
        assert row["reach_s"] == pytest.approx(np.mean([start.seconds for start in known]))
        assert row["epochs"] == np.mean([start.epochs for start in known])
        empty = ("best_known_gap", "near_best_s", "speedup_qptl", "solves", "run_id")
        assert [row[key] for key in empty] == [None] * len(empty)
    assert not rows
    for name in ("ranks", "pairwise", "summary", "selected"):
        assert "warm-start" not in render(build(name, report), "csv")


def test_no_row_of_a_warm_start_where_nothing_began_from_one(tmp_path):
    make_run(tmp_path, "two-stage")
    sheet = build("leaderboard", load(tmp_path))
    assert [row["method"] for row in sheet.records()] == ["two-stage"]
    assert not sheet.lead
    assert not any("warm start:" in note for note in sheet.notes)


def test_leaderboard_says_what_the_status_and_the_curves_say(report):
    unit = report.units[0]
    run, base = (report.chosen[unit.key, method].first for method in ("dgl-1", "qptl"))
    (record,) = (
        record
        for record in build("leaderboard", report).records()
        if record["run_id"] == run.run_id
    )
    selected = run.record.selected
    assert record["test_regret"] == selected.test.relative_regret
    assert record["reach_s"] == pytest.approx(selected.elapsed_s)
    timing = pq.read_table(run.folder / "timing.parquet").to_pydict()
    until = run.selected_epoch + 1
    assert record["solves"] == sum(
        sum(timing[f"solves_{purpose}"][:until]) for purpose in ("label", "train", "refresh")
    )
    mine, theirs = curves(report, [run]), curves(report, [base])
    best = min(other.test_regret for other in report.chosen_runs(unit))
    assert record["near_best_s"] == time_to(mine, 1.05 * best)
    target = base.test_regret
    own = time_to(mine, target)
    expected = None if own is None else time_to(theirs, target) / own
    assert record["speedup_qptl"] == (expected and pytest.approx(expected))


def test_a_baseline_has_no_speed_up_over_itself_and_is_exactly_as_fast(report):
    unit = report.units[0]
    spo = compare(report, [unit]).result("spo")
    assert Reach(report).speedup(spo, spo).times == 1.0
    assert cells(report, "leaderboard", setting=unit.label, method="spo")["speedup_spo"] == "—"


def test_no_speed_up_where_the_baseline_gained_nothing(tmp_path):
    make_folder(tmp_path, ["dgl-1"], [("matching", 10, 25)])
    folder = make_run(tmp_path, "spo", n=10, regret_factor=3.0)

    def end_badly(record):
        record["summary"]["selected"]["test"]["relative_regret"] = 1.0

    change_record(folder, end_badly)
    report = load(tmp_path)
    assert cells(report, "leaderboard", method="dgl-1")["speedup_spo"] == "at start"


def test_better_means_that_the_interval_excludes_zero(tmp_path):
    generator = np.random.default_rng(0)
    base = generator.uniform(0.05, 0.3, 200)
    relative = {
        "spo": base + 0.01 + generator.normal(0, 0.005, 200),
        "dgl-1": base + generator.normal(0, 0.02, 200),
        "dgl-5": base,
    }
    for method, values in relative.items():
        set_decisions(make_run(tmp_path, method), values)
    report = load(tmp_path)
    (setting,) = by_setting(report)
    spo, one, five = (setting.result(name) for name in ("spo", "dgl-1", "dgl-5"))
    pairs = Pairs(report)
    difference = pairs.difference(spo, five)
    assert difference.mean == pytest.approx(float(np.mean(relative["spo"] - base)))
    assert difference.low < difference.mean < difference.high
    # The methods' own intervals overlap; only pairing tells them apart.
    assert difference.verdict == "higher"
    assert pairs.difference(five, spo).verdict == "lower"
    assert pairs.difference(one, five).verdict == "open"
    again = Pairs(load(tmp_path))
    assert pairs.difference(spo, five) == again.difference(spo, five)
    assert difference.over == "these data only"


def test_runs_judged_on_other_instances_are_not_paired(tmp_path):
    set_decisions(make_run(tmp_path, "spo"), np.full(200, 0.1))
    set_decisions(make_run(tmp_path, "dgl-1"), np.full(150, 0.1))
    report = load(tmp_path)
    spo, dgl = by_setting(report)[0].results
    assert Pairs(report).difference(spo, dgl) is None
    sheet = build("pairwise", report)
    assert not sheet.rows
    assert "different instances" in sheet.notes[-1]


def test_a_baseline_that_was_not_run_has_no_column_to_read(tmp_path):
    for method in ("spo", "dgl-1"):
        make_run(tmp_path, method)
    sheet = build("leaderboard", load(tmp_path))
    shown = [sheet.columns[at].title for at in sheet.shown]
    assert "vs SPO+" in shown
    assert "vs QPTL" not in shown
    assert "speedup_qptl" in sheet.records()[0], "files keep their columns"


def test_the_leaderboard_marks_what_cannot_be_told_from_the_best(tmp_path):
    values = np.random.default_rng(1).uniform(0, 0.2, 200)
    for method, shift in (("dgl-1", 0.0), ("spo", 1e-5), ("two-stage", 0.3)):
        noise = np.random.default_rng(2).normal(0, 0.01, 200) if method == "spo" else 0
        set_decisions(make_run(tmp_path, method), values + shift + noise)
    report = load(tmp_path)
    (board,) = standings(report)
    found = {each.result.method: each for each in board.standings}
    assert found["dgl-1"].is_best
    assert found["spo"].ties_best
    assert not found["two-stage"].ties_best
    assert cells(report, "leaderboard", method="dgl-1")["method"] == "DGL-1 ★"
    assert cells(report, "leaderboard", method="spo")["method"] == "SPO+ ≈"


def test_times_made_under_different_conditions_are_not_ranked(tmp_path):
    make_folder(tmp_path, ["spo", "dgl-1"], [("matching", 50, 25)])
    make_run(tmp_path, "qptl", environment=ELSEWHERE)
    report = load(tmp_path)
    records = {record["method"]: record for record in build("leaderboard", report).records()}
    assert records.pop("warm-start")["reach_s"] is None
    for record in records.values():
        assert record["reach_s"] is None
        assert record["near_best_s"] is None
        assert record["test_regret"] > 0
        assert record["speedup_qptl"] is None
    assert records["dgl-1"]["speedup_spo"] > 0, "these two were timed alike"
    row = cells(report, "leaderboard", method="dgl-1")
    assert row["reach_s"].endswith("†")
    assert row["speedup_qptl"] == "†"
    (note,) = (note for note in build("leaderboard", report).notes if note.startswith("† "))
    assert "machine another, concurrency 4: qptl" in note
    assert f"dglbench train --out {tmp_path}-timed --like" in note


def test_methods_that_were_not_trained_alike_are_named(tmp_path):
    make_run(tmp_path, "spo", epochs=10)
    make_run(tmp_path, "dgl-1", epochs=20)
    assert any("epochs 10: SPO+" in note for note in build("leaderboard", load(tmp_path)).notes)


def test_what_left_no_result_is_always_listed(tmp_path):
    make_folder(tmp_path, ["spo", "dgl-1"], [("matching", 10, 25)])
    make_run(tmp_path, "qptl", n=10, status={"state": "timeout", "message": "limit of 3 s"})
    make_run(tmp_path, "dgl-5", n=10, status={"state": "diverged", "message": "loss is NaN"})
    broken = make_run(tmp_path, "dgl-20", n=10)
    (broken / "run.json").write_text("{")
    report = load(tmp_path)
    sentences = unfinished(report)
    assert "matching-10, QPTL: timeout (limit of 3 s)" in sentences
    assert "matching-10, DGL-5: diverged (loss is NaN)" in sentences
    assert any(broken.name in sentence for sentence in sentences)
    states = {record["run_id"]: record["state"] for record in build("runs", report).records()}
    assert sorted(states.values()) == ["chosen", "chosen", "diverged", "timeout", "unreadable"]
    assert states[broken.name] == "unreadable"


def test_a_run_made_again_by_other_code_is_stale(tmp_path):
    old = make_run(tmp_path, "spo", source="a" * 12)
    new = make_run(tmp_path, "spo", source="b" * 12, status={"finished": "2026-02-01T00:00:00"})
    report = load(tmp_path)
    assert [run.run_id for run in report.current] == [new.name]
    states = {record["run_id"]: record["state"] for record in build("runs", report).records()}
    assert states == {old.name: "stale", new.name: "chosen"}


def test_test_regret_is_shown_for_chosen_runs_only(tmp_path):
    for lr in (0.01, 0.1, 0.5):
        make_run(tmp_path, "spo", options=Options(lr=lr), regret_factor=1 + lr)
    records = build("runs", load(tmp_path)).records()
    shown = [record["state"] for record in records if record["test_regret"] is not None]
    assert shown == ["chosen"]


def test_selected_stands_beside_the_paper(tmp_path):
    for lr in (0.05, 0.1):
        make_run(tmp_path, "dgl-1", options=Options(lr=lr, tau=0.5), regret_factor=1 + lr)
    make_run(tmp_path, "dgl-20")
    make_run(tmp_path, "rdgl-auto")
    make_run(tmp_path, "spo", task="foreign")
    records = {record["method"]: record for record in build("selected", load(tmp_path)).records()}
    one = records["dgl-1"]
    assert (one["lr"], one["tau"], one["configurations"]) == (0.05, 0.5, 2)
    assert (one["paper_lr"], one["paper_alpha"], one["paper_tau"]) == (0.01, 0.6, 1.0)
    assert records["dgl-20"]["paper_lr"] is None, "the paper's table has no DGL-20"
    assert records["rdgl-auto"]["paper_lr"] is None, "nor RDGL: those are dglbench's own"
    assert records["spo"]["paper_lr"] is None, "an unknown task has no paper"


def test_budget_counts_every_run_of_the_folder(tmp_path):
    for lr in (0.01, 0.1):
        make_run(tmp_path, "spo", options=Options(lr=lr), epochs=5)
    make_run(tmp_path, "spo", options=Options(lr=1.0), status={"state": "failed", "train_s": 2.0})
    (row,) = build("budget", load(tmp_path)).records()
    assert (row["configurations"], row["runs"], row["unfinished"]) == (3, 3, 1)
    assert row["solves"] == 2 * (400 + 5 * 400)
    assert row["train_s"] > 2
    assert row["source"] == "folder"


def test_budget_takes_the_account_of_the_sweep_that_chose_the_run(tmp_path):
    run = make_run(tmp_path, "spo")
    other = make_run(tmp_path, "dgl-1")
    group = {
        "run_id": run.name, "configurations": 55, "runs": 60, "seconds": 12.5,
        "solver_calls": 1000, "failed": 2, "concurrency": 1,
    }  # fmt: skip
    sweep = {"search": "full", "groups": [group, {"run_id": other.name}, 7]}
    (tmp_path / "sweep-abc.json").write_text(json.dumps(sweep))
    sheet = build("budget", load(tmp_path))
    spo, dgl = sheet.records()
    assert (spo["configurations"], spo["runs"], spo["train_s"]) == (55, 60, 12.5)
    assert spo["source"] == "sweep-abc.json"
    assert dgl["source"] == "folder", "an entry that is not as a sweep writes it is passed over"
    assert "search: full." in sheet.notes


@pytest.mark.parametrize("name", TABLES)
def test_csv_holds_every_row_and_value(report, name):
    sheet = build(name, report)
    rows = list(csv.DictReader(io.StringIO(render(sheet, "csv"))))
    assert len(rows) == len(sheet.rows)
    for row, record in zip(rows, sheet.records(), strict=True):
        assert row == {key: "" if value is None else str(value) for key, value in record.items()}


@pytest.mark.parametrize("name", [name for name in TABLES if name != "published"])  # no such runs
def test_markdown_and_latex_are_well_formed(report, name):
    sheet = build(name, report)
    lines = [line for line in render(sheet, "md").splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(sheet.shown) + 1}
    text = render(sheet, "tex")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 0
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line]
    assert {line.replace(r"\&", "").count("&") for line in body} == {len(sheet.shown) - 1}


def test_markdown_and_latex_escape_what_logs_say(tmp_path):
    make_run(tmp_path, "spo")
    make_run(
        tmp_path, "qptl", status={"state": "failed", "message": "a|b <script> 50 % of_x \\ {y}"}
    )
    sheet = build("runs", load(tmp_path))
    assert r"a\|b &lt;script> 50 % of\_x \\ {y}" in render(sheet, "md")
    assert r"a|b $<$script$>$ 50 \% of\_x \textbackslash{} \{y\}" in render(sheet, "tex")


def test_unknown_names_list_the_valid_ones(report):
    with pytest.raises(ReportError, match="summary, leaderboard, ranks, equivalence, profile"):
        build("league", report)
    with pytest.raises(ReportError, match="md, csv, tex"):
        render(build("runs", report), "docx")
