"""The best known regret: validation chooses among all runs, and every leaderboard shows the gap."""

from __future__ import annotations

import pytest
from make_logs import Options, make_run

from dglbench.packs.finding import find_runs
from dglbench.packs.writing import pack
from dglbench.report import load
from dglbench.report.tables import build


@pytest.fixture
def report(tmp_path):
    """Two authors' results: the second found better runs on one data seed."""
    for seed in (10, 25):
        for method in ("spo", "qptl", "dgl-1"):
            make_run(tmp_path / "ours", method, "matching", 10, seed, epochs=6)
    better = Options(lr=0.5)
    make_run(
        tmp_path / "theirs", "lava", "matching", 10, 25,
        epochs=6, options=better, regret_factor=0.1,
    )  # fmt: skip
    pack(find_runs([tmp_path / "theirs"]).runs, tmp_path / "theirs.dglpack")
    return load(tmp_path / "ours", tmp_path / "theirs.dglpack")


def test_validation_chooses_among_all_runs(report):
    rows = build("best-known", report).records()
    assert [(row["seed"], row["predictor"]) for row in rows] == [(10, "linear"), (25, "linear")]
    for row in rows:
        there = [run for run in report.done if run.unit.seed == row["seed"]]
        best = min(there, key=lambda run: run.val_regret)
        assert row["run_id"] == best.run_id
        assert row["test_regret"] == best.test_regret
        assert row["runs"] == len(there)
        assert row["runs_s"] == pytest.approx(sum(run.train_s for run in there))
    assert rows[1]["method"] == "lava"


def test_the_leaderboard_shows_the_gap(report):
    known = {row["seed"]: row["test_regret"] for row in build("best-known", report).records()}
    rows = [row for row in build("leaderboard", report).records() if row["standing"] != "start"]
    assert rows
    for row in rows:
        runs = [run for run in report.chosen_runs() if run.method == row["method"]]
        gaps = [run.test_regret - known[run.unit.seed] for run in runs]
        assert row["best_known_gap"] == pytest.approx(100 * sum(gaps) / len(gaps))


def test_the_command_writes_the_table(report, tmp_path, cli):
    words = [str(tmp_path / "ours"), str(tmp_path / "theirs.dglpack")]
    outcome = cli("report", *words, "--table", "best-known", "--format", "csv")
    assert outcome.code == 0
    assert outcome.out.count("lava") >= 1
