import hashlib
import os
import random
import shutil
import subprocess
import sys

import polars as pl
import pyarrow.parquet as pq
import pytest
from make_logs import METHODS, Options, Settings, make_folder, make_run
from record_files import change_record, flip_bit, replace_table

from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.statistics.curves import curves, time_to
from dglbench.report.tables import build
from dglbench.report.units import one_seed_each
from dglbench.runs.record import FORMAT_VERSION


def test_import_leaves_torch_and_solvers_alone():
    code = (
        "import sys, dglbench.report, dglbench.report.figures;"
        "print([m for m in ('torch', 'ortools', 'cvxpy') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_every_run_is_found_and_every_method_has_its_choice(report):
    assert len(report.runs) == 5 * len(METHODS)
    assert [unit.label for unit in report.units] == [
        "knapsack-24",
        "matching-10, seed 10",
        "matching-10, seed 25",
        "matching-50, seed 10",
        "matching-50, seed 25",
    ]
    order = ["two-stage", "spo", "qptl", "dgl-none", "dgl-20", "dgl-5", "dgl-1", "dgl-auto"]
    assert [cell.method for cell in report.cells(report.units[0])] == order
    assert report.unreadable == []


def test_tables_hold_what_the_files_hold(report, logs):
    frame = report.table("regret")
    run = report.chosen_runs()[3]
    mine = frame.filter(pl.col("run_id") == run.run_id)
    file = pq.read_table(logs / run.run_id / "regret.parquet").to_pydict()
    assert mine["relative_regret"].to_list() == file["relative_regret"]
    assert set(mine["method"]) == {run.method}
    assert set(mine["setting"]) == {run.unit.label}


def test_labels_show_only_what_differs(tmp_path):
    for fraction in (0.25, 0.5):
        make_run(tmp_path, task="knapsack", settings=Settings(48, fraction), epochs=3)
    make_run(tmp_path, task="matching", n=10, epochs=3)
    labels = [unit.label for unit in load(tmp_path).units]
    assert labels == [
        "knapsack-48, capacity_fraction 0.25",
        "knapsack-48, capacity_fraction 0.5",
        "matching-10",
    ]


def test_choice_is_by_validation_never_by_test(tmp_path):
    good_on_test = make_run(tmp_path, options=Options(lr=0.01), epochs=3)
    good_on_val = make_run(tmp_path, options=Options(lr=0.1), epochs=3)

    def set_regrets(val, test):
        def change(record):
            record["summary"]["selected"]["val"]["relative_regret"] = val
            record["summary"]["selected"]["test"]["relative_regret"] = test

        return change

    change_record(good_on_test, set_regrets(0.03, 0.01))
    change_record(good_on_val, set_regrets(0.02, 0.09))
    assert [run.run_id for run in load(tmp_path).chosen_runs()] == [good_on_val.name]


def test_run_of_older_code_gives_way_to_its_repeat(tmp_path):
    old = make_run(tmp_path, source="a" * 12, epochs=3, regret_factor=0.5)
    later = {"finished": "2026-02-01T00:00:00+00:00"}
    new = make_run(tmp_path, source="b" * 12, epochs=3, status=later)
    report = load(tmp_path)
    assert [run.run_id for run in report.chosen_runs()] == [new.name]
    assert {run.run_id for run in report.runs} == {old.name, new.name}


def test_missing_folder(tmp_path):
    with pytest.raises(ReportError, match=r"there is no folder .*nowhere; give the one"):
        load(tmp_path / "nowhere")


def test_empty_folder(tmp_path):
    (tmp_path / "warm-starts").mkdir()
    with pytest.raises(ReportError, match=r"holds no runs; `dglbench sweep --preset quick"):
        load(tmp_path)


def test_folder_of_failed_runs_says_how_many_and_why(tmp_path):
    make_run(tmp_path, "spo", status={"state": "failed", "message": "The solver gave up."})
    make_run(tmp_path, "qptl", status={"state": "timeout", "message": "1 s is over"})
    sentence = r"none of the 2 runs .* finished \(1 timeout, 1 failed\); .*1 s is over"
    with pytest.raises(ReportError, match=sentence):
        load(tmp_path)
    assert {run.state for run in load(tmp_path, require_done=False).runs} == {"failed", "timeout"}


def test_a_column_that_older_logs_lack_is_filled_in(tmp_path):
    folder = make_run(tmp_path, epochs=3)
    older = pq.read_table(folder / "timing.parquet").drop_columns(["refresh_s"])
    replace_table(folder, "timing", older)
    report = load(tmp_path)
    assert report.table("timing")["refresh_s"].to_list() == [None] * 4
    assert report.table("timing")["predict_s"].to_list() == older["predict_s"].to_pylist()
    assert report.unreadable == []


def test_newer_format_asks_for_an_upgrade(tmp_path):
    folder = make_run(tmp_path, epochs=3)
    change_record(folder, lambda record: record["identity"].update(format=FORMAT_VERSION + 1))
    with pytest.raises(ReportError, match=r"log format \d+.*upgrade dglbench"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("regret.parquet", b"not parquet", "its regret.parquet is damaged"),
        ("decisions.parquet", None, "it has no decisions.parquet"),
        ("run.json", b"{garbage", "its run.json is damaged"),
        ("run.json", None, "it has no run.json"),
    ],
)
def test_damaged_run_is_listed_and_the_next_best_stands_in(tmp_path, file, content, reason):
    damaged = make_run(tmp_path, options=Options(lr=0.01), epochs=3, regret_factor=0.5)
    whole = make_run(tmp_path, options=Options(lr=0.1), epochs=3)
    if content is None:
        (damaged / file).unlink()
    else:
        (damaged / file).write_bytes(content)
    report = load(tmp_path)
    assert [run.run_id for run in report.chosen_runs()] == [whole.name]
    assert [run_id for run_id, _ in report.unreadable] == [damaged.name]
    assert reason in report.unreadable[0].reason


def test_truncated_parquet_does_not_stop_the_others(tmp_path):
    make_folder(tmp_path, ["spo", "dgl-5"], [("matching", 10, 25)], epochs=3)
    victim = next(tmp_path.glob("*dgl-5*")) / "duals.parquet"
    victim.write_bytes(victim.read_bytes()[:200])
    report = load(tmp_path)
    assert report.table("duals").is_empty()
    assert report.unreadable[0].reason.startswith("its duals.parquet is damaged")


def test_a_flipped_bit_in_any_file_is_found_and_named(tmp_path):
    folder = make_run(tmp_path, "dgl-5", n=10, epochs=3)
    (folder / "weights.pt").write_bytes(bytes(range(200)))
    add = {"weights.pt": hashlib.sha256(bytes(range(200))).hexdigest()}
    change_record(folder, lambda record: record["files"].update(add))
    draw = random.Random(1)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for place in {0, 1, len(whole) // 2, len(whole) - 1, *draw.sample(range(len(whole)), 20)}:
            flip_bit(file, place)
            (item,) = load(tmp_path, require_done=False).unreadable
            assert item.run_id == folder.name
            assert file.name in item.reason
            file.write_bytes(whole)
    assert load(tmp_path).unreadable == []
    (folder / "weights.pt").unlink()
    assert load(tmp_path).unreadable == [], "results are published without weights"


def test_regrets_made_with_other_libraries_are_marked_and_seconds_not_ranked(tmp_path):
    versions = {"numpy": "2.0.0", "torch": "2.13.0"}
    for method in ("spo", "dgl-1"):
        make_run(tmp_path, method, epochs=3, environment={"versions": versions})
    older = {**versions, "torch": "2.12.0"}
    make_run(tmp_path, "qptl", epochs=3, environment={"versions": older})
    report = load(tmp_path)
    verdict = report.comparability(report.units[0])
    assert not verdict.comparable
    assert "different libraries (torch 2.13.0: spo, dgl-1; torch 2.12.0: qptl)" in verdict.reason
    sheet = build("leaderboard", report)
    marked = {row[1].value: "‡" in row[2].text for row in sheet.rows}
    assert marked == {"qptl": True, "spo": False, "dgl-1": False, "warm-start": False}
    assert any(note.startswith("‡ matching-50: made with other versions") for note in sheet.notes)


def test_seconds_made_under_other_conditions_are_not_comparable(tmp_path):
    make_run(tmp_path, "spo", epochs=3)
    make_run(tmp_path, "qptl", epochs=3, environment={"concurrency": 4})
    report = load(tmp_path)
    verdict = report.comparability(report.units[0])
    assert not verdict.comparable
    assert "different concurrency (concurrency 1: spo; concurrency 4: qptl)" in verdict.reason
    assert report.only(methods=["spo"]).comparability(report.units[0]).comparable


def test_sweep_documents_are_read_and_damaged_ones_passed_over(tmp_path):
    make_run(tmp_path, epochs=3)
    (tmp_path / "sweep-abc.json").write_text('{"search": "full", "groups": []}')
    (tmp_path / "sweep-bad.json").write_text("{")
    assert [sweep["search"] for sweep in load(tmp_path).sweeps] == ["full"]


def test_best_so_far_follows_validation(report, logs):
    run = report.chosen_runs()[1]
    curve = curves(report, [run])
    rows = pq.read_table(logs / run.run_id / "regret.parquet").to_pylist()
    val = {row["epoch"]: row["relative_regret"] for row in rows if row["split"] == "val"}
    test = {row["epoch"]: row["relative_regret"] for row in rows if row["split"] == "test"}
    timing = pq.read_table(logs / run.run_id / "timing.parquet").to_pylist()
    for row in curve.iter_rows(named=True):
        seen = range(row["epoch"] + 1)
        best = min(seen, key=lambda epoch: val[epoch])
        assert row["best_epoch"] == best
        assert row["best_test_regret"] == test[best]
        assert row["solves"] == sum(
            line["solves_label"] + line["solves_train"] + line["solves_refresh"]
            for line in timing
            if line["epoch"] <= row["epoch"]
        )
    assert curve["best_epoch"][-1] == run.selected_epoch
    assert curve["best_test_regret"][-1] == run.test_regret
    assert time_to(curve, run.test_regret) <= run.record.selected.elapsed_s
    assert time_to(curve, -1.0) is None


def test_one_seed_stands_for_settings_that_differ_by_seed_alone(report):
    labels = [unit.label for unit in one_seed_each(report.units)]
    assert labels == ["knapsack-24", "matching-10, seed 25", "matching-50, seed 25"]


@pytest.mark.slow
def test_three_thousand_runs_are_read(tmp_path):
    templates = [make_run(tmp_path / "templates", method, epochs=40) for method in METHODS]
    many = tmp_path / "many"
    for number in range(3000):
        template = templates[number % len(templates)]
        folder = many / f"{template.name}-{number}"
        folder.mkdir(parents=True)
        for file in template.iterdir():
            if file.suffix == ".parquet":
                os.link(file, folder / file.name)
        shutil.copy(template / "run.json", folder)
        change_record(folder, lambda record: record["identity"]["options"].update(lr=number))  # noqa: B023
    report = load(many)
    frame = report.table("timing", report.done)
    assert len(report.runs) == 3000
    assert frame["run_id"].n_unique() == 3000
