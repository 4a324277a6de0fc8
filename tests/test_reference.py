"""The reference results: what is committed is what the commands print, and the README quotes it."""

import re
from pathlib import Path

import pytest

from dglbench.report.load import load
from dglbench.report.tables import build, render

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
TABLES = ("leaderboard", "pairwise", "selected")

# "**5.17 %** (DGL-20), 0.787 s"
QUOTED = re.compile(r"\**([\d.]+ %)\**(?: \(([\w-]+)\))?, ((?:\d+ min )?[\d.]+ m?s)")


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
    assert {(e["threads"], e["concurrency"], e["git_dirty"]) for e in environments} == {
        (1, 1, False)
    }
    assert len({e["git_revision"] for e in environments}) == 1
    assert len({e["machine"] for e in environments}) == 1


def test_the_readme_quotes_the_leaderboard():
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.split("## Reference results")[1].split("\n## ")[0]
    quoted = QUOTED.findall(section)
    assert len(quoted) >= 16
    leaderboard = (REFERENCE / "tuned" / "tables" / "leaderboard.md").read_text("utf-8")
    for regret, method, seconds in quoted:
        rows = [line for line in leaderboard.splitlines() if f"| {regret} (" in line]
        assert any(f"| {seconds} |" in row and method in row for row in rows), (regret, seconds)


def test_it_stays_small_and_holds_no_data_of_others():
    files = [path for path in REFERENCE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 10e6
    assert {path.suffix for path in files} <= {".md", ".toml", ".json", ".parquet", ".png", ".txt"}
