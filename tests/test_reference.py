"""The reference results: what is committed is what the commands print, and the README quotes it."""

import re
from pathlib import Path

import pytest

from dglbench.report.load import load
from dglbench.report.tables import build, render

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
FIELD = REFERENCE / "field"
TABLES = {
    "paper/runs": ("summary", "leaderboard", "ranks", "pairwise", "selected"),
    "field/timed/field": ("summary", "seeds", "selected", "budget"),
}
CELL = re.compile(r"([\d.]+ %), ([^()]+?)(?: \(([^)]+)\))?")  # 5.17 %, 0.684 s (DGL-20)


@pytest.fixture(scope="module", params=TABLES)
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def report(folder):
    return load(REFERENCE / folder)


def test_tables_are_drawn_from_the_runs_beside_them(folder, report):
    tables = REFERENCE / folder.partition("/")[0] / "tables"
    for name in TABLES[folder]:
        committed = (tables / f"{name}.md").read_text("utf-8")
        assert render(build(name, report), "md") == committed, name


def test_timed_runs_were_made_alone_by_committed_code(report):
    environments = [run.environment for run in report.chosen_runs()]
    assert {(e.threads, e.concurrency, e.git_dirty) for e in environments} == {(1, 1, False)}
    assert len({e.git_revision for e in environments}) == 1
    assert len({e.machine for e in environments}) == 1


def test_tuning_never_saw_the_data_that_are_reported():
    timed = load(FIELD / "timed" / "field")
    assert {run.unit.seed for run in timed.chosen_runs()} == {10, 25, 95}, "tuned on seed 0"


def by_setting(file):
    """{setting: {method: {column: cell}}} of a table by setting in Markdown."""
    found = {}
    for part in file.read_text("utf-8").split("### ")[1:]:
        setting, _, text = part.partition("\n")
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
        header, _, *rows = ([cell.strip() for cell in line] for line in lines)
        found[setting] = {
            row[0]: dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header)
        }
    return found


def test_the_readme_quotes_the_means_over_seeds():
    readme = (ROOT / "README.md").read_text("utf-8").replace("**", "")
    seeds = by_setting(FIELD / "tables" / "seeds.md")
    lines = readme.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| setting |"))
    header = [cell.strip() for cell in lines[start].strip("| ").split(" | ")]
    quoted = 0
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        setting, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
        for column, cell in zip(header[1:], cells, strict=True):
            if cell == "—":
                continue
            regret, seconds, named = CELL.fullmatch(cell).groups()
            row = seeds[setting][named or column]
            assert (row["mean regret"], row["time (mean)"]) == (regret, seconds), (setting, column)
            quoted += 1
    assert quoted >= 40


def test_the_readme_quotes_mean_ranks():
    quoted = re.findall(r"([\w+–-]+) \((\d+\.\d\d)\)", (ROOT / "README.md").read_text("utf-8"))
    ranks = (FIELD / "tables" / "ranks.md").read_text("utf-8")
    assert len(quoted) >= 5
    for method, rank in quoted:
        assert f"| {method} | {rank} |" in ranks, method


def test_it_stays_small_and_holds_no_data_of_others():
    files = [path for path in REFERENCE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 25e6
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
