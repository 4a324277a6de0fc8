"""The reference results: what is committed is what the commands print, and the README quotes it."""

import re
from pathlib import Path

import pytest

from dglbench.report.load import load
from dglbench.report.tables import build, render

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
TABLES = ("summary", "leaderboard", "ranks", "pairwise", "selected")

# The README's rows and columns, by the leaderboard's names.
SETTINGS = {
    "matching-10, seed 25": "matching-10, seed 25",
    "matching-50, seed 25": "matching-50, seed 25",
    "knapsack-24, SEMO": "knapsack-24, SEMO",
    "knapsack-48, SEMO, capacity 50 %": "knapsack-48, SEMO, capacity 50 %",
}
BASELINES = ("Two-stage", "SPO+", "QPTL")
QUOTED = re.compile(r"([\d.]+ %)(?: \(([\w-]+)\))?, (.+)")  # 5.17 % (DGL-20), 0.684 s


@pytest.mark.parametrize("sweep", ["tuned", "paper"])
def test_tables_are_drawn_from_the_runs_beside_them(sweep):
    report = load(REFERENCE / sweep / "runs")
    assert len(report.chosen_runs()) == 80, "ten settings, eight methods"
    for name in TABLES:
        committed = (REFERENCE / sweep / "tables" / f"{name}.md").read_text("utf-8")
        assert render(build(name, report), "md") == committed, name


@pytest.mark.parametrize("sweep", ["tuned", "paper"])
def test_timed_runs_were_made_alone_by_committed_code(sweep):
    report = load(REFERENCE / sweep / "runs")
    environments = [run.environment for run in report.chosen_runs()]
    assert {(e.threads, e.concurrency, e.git_dirty) for e in environments} == {(1, 1, False)}
    assert len({e.git_revision for e in environments}) == 1
    assert len({e.machine for e in environments}) == 1


@pytest.mark.parametrize(("label", "heading"), SETTINGS.items())
def test_the_readme_quotes_the_leaderboard(label, heading):
    readme = (ROOT / "README.md").read_text("utf-8").replace("**", "")
    (row,) = (line for line in readme.splitlines() if line.startswith(f"| {label} |"))
    leaderboard = (REFERENCE / "tuned" / "tables" / "leaderboard.md").read_text("utf-8")
    board = leaderboard.split(f"### {heading}\n")[1].split("###")[0].splitlines()
    for column, cell in zip((*BASELINES, None), row.split(" | ")[1:], strict=True):
        regret, named, seconds = QUOTED.match(cell.strip(" |")).groups()
        (found,) = (line for line in board if f"| {regret} (" in line and f"| {seconds} |" in line)
        assert found.startswith(f"| {named or column} ")
        if column is None:
            assert found == next(line for line in board if line.startswith("| DGL")), "the best"


def test_it_stays_small_and_holds_no_data_of_others():
    files = [path for path in REFERENCE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 10e6
    assert {path.suffix for path in files} <= {
        ".md",
        ".toml",
        ".json",
        ".parquet",
        ".png",
        ".txt",
        ".sh",
        ".py",
    }
