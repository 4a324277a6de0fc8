"""The reference results: what is committed is what the commands print, and the README quotes it."""

import itertools
import re
import statistics
import tomllib
from pathlib import Path

import pytest

from dglbench.report.loading import load
from dglbench.report.tables import build, render
from dglbench.runs.store import read_record, run_folders

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
FIELD = REFERENCE / "field"
TABLES = {
    "paper/runs": ("summary", "leaderboard", "ranks", "pairwise", "selected"),
    "field/timed/field": (
        "summary",
        "leaderboard",
        "ranks",
        "equivalence",
        "profile",
        "anytime",
        "seeds",
        "selected",
        "budget",
    ),
    "field/timed/same-data": ("leaderboard", "summary"),
}
FORMS = ("plain", "adjusted", "reactive")
CELL = re.compile(r"([\d.]+ %), ([^()]+?)(?: \(([^)]+)\))?")  # 5.17 %, 0.684 s (DGL-20)


@pytest.fixture(scope="module", params=TABLES)
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def report(folder):
    return load(REFERENCE / folder)


def test_tables_are_drawn_from_the_runs_beside_them(folder, report):
    tables = REFERENCE / folder.partition("/")[0] / "tables"
    if folder.endswith("same-data"):
        tables /= "same-data"
    for name in TABLES[folder]:
        committed = (tables / f"{name}.md").read_text("utf-8")
        assert render(build(name, report), "md") == committed, name


def test_timed_runs_were_made_alone_by_committed_code(report):
    for unit in report.units:
        environments = [run.environment for run in report.chosen_runs(unit)]
        assert {(e.threads, e.concurrency, e.git_dirty) for e in environments} == {(1, 1, False)}
        # Seconds are compared within a setting: there all is alike.
        assert len({(e.git_revision, e.machine) for e in environments}) == 1, unit.label


def searches(files):
    """What every search of some tuned settings says of itself."""
    settings = [s for file in files for s in tomllib.loads(file.read_text("utf-8"))["setting"]]
    return [search for setting in settings for search in setting["tuned"].values()]


def test_tuning_never_saw_the_data_that_are_reported():
    files = [f for f in (FIELD / "tuning").glob("*.toml") if "same-data" not in f.name]
    tuned = {search["seed"] for search in searches(files)}
    timed = {run.unit.seed for run in load(FIELD / "timed" / "field").chosen_runs()}
    assert len(timed) == 3
    assert not tuned & timed


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
    seeds = by_setting(FIELD / "tables" / "seeds.md")
    quoted = rows_below("README.md", "setting")
    assert len(quoted) == len(seeds), "every setting"
    for row in quoted:
        setting = row.pop("setting")
        for column, cell in row.items():
            regret, seconds, named = CELL.fullmatch(cell).groups()
            found = seeds[setting][named or column]
            assert (found["mean regret"], found["time (mean)"]) == (regret, seconds), column


def rows_below(page, first):
    """The rows of the table on a page whose first heading is this, each a dict by heading."""
    lines = (ROOT / page).read_text("utf-8").replace("**", "").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    cut = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[start:]]
    header, rows = cut[0], itertools.takewhile(lambda row: len(row) == len(cut[0]), cut[2:])
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_the_note_on_reactive_prices_quotes_the_leaderboards():
    board = by_setting(FIELD / "tables" / "same-data" / "leaderboard.md")
    quoted = rows_below("docs/reactive.md", "setting")
    assert len(quoted) == 10
    for row in quoted:
        found = {name.rstrip("★≈ "): cells for name, cells in board[row.pop("setting")].items()}
        for method, regret in row.items():
            assert found[method]["test regret (95 %)"].startswith(f"{regret} %"), method


def test_the_note_on_reactive_prices_quotes_means_by_form():
    runs = load(FIELD / "timed" / "forms").done
    refreshes = ("none", "5", "1", "auto", "newton")
    columns = [(task, form) for task in ("matching", "knapsack") for form in FORMS]
    for refresh, row in zip(
        refreshes, rows_below("docs/reactive.md", "prices renewed"), strict=True
    ):
        for (task, form), cell in zip(columns, list(row.values())[1:], strict=True):
            regrets = [
                100 * run.test_regret
                for run in runs
                if run.unit.task == task
                and run.method.partition("-")[2] == refresh
                and run.record.identity.options.get("form", "reactive") == form
            ]
            assert cell == (f"{statistics.mean(regrets):.2f}" if regrets else "—"), (refresh, form)


@pytest.mark.parametrize(
    ("page", "words", "tables", "method"),
    [
        ("docs/paper.md", "QPTL ends at", "paper/tables", "QPTL"),
        ("docs/paper.md", "tuned on the data it is at", "field/tables/same-data", "QPTL"),
        ("docs/paper.md", "RDGL-newton ends at", "field/tables/same-data", "RDGL-newton"),
        ("README.md", "RDGL-newton ends at", "field/tables/same-data", "RDGL-newton"),
        ("README.md", "in about 0.4 s, QPTL-dual at", "field/tables/same-data", "QPTL-dual"),
    ],
)
def test_regrets_on_matching_50_are_quoted_as_they_are(page, words, tables, method):
    page = " ".join((ROOT / page).read_text("utf-8").split())
    quoted = re.findall(r"[\d.]+", page.split(words)[1].split("%")[0])
    board = by_setting(REFERENCE / tables / "leaderboard.md")
    for seed, number in zip((10, 25, 95), quoted, strict=True):
        rows = board[f"matching-50, seed {seed}"]
        (cells,) = (row for name, row in rows.items() if name.rstrip("★≈ ") == method)
        regret = float(cells["test regret (95 %)"].split()[0])
        assert number == f"{regret:.1f}"


def test_the_readme_quotes_mean_ranks_and_odds():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    quoted = re.findall(r"([\w+–-]+) \((\d+\.\d\d)\)", readme)
    ranks = (FIELD / "tables" / "ranks.md").read_text("utf-8")
    assert len(quoted) == 8
    for method, rank in quoted:
        assert f"| {method} | {rank} |" in ranks, method
    for method in ("RDGL-5", "RDGL-newton"):
        for other in ("Two-stage", "DGL-1", "RDGL-none"):
            (row,) = re.findall(rf"^\| {method} \| \S+ \| {other} \|.*$", ranks, re.MULTILINE)
            assert row.endswith("| better |"), row
    odds = (FIELD / "tables" / "equivalence.md").read_text("utf-8")
    still_open = re.findall(r"^\| RDGL-5 \| ([^|]+) \|.*\| open \|$", odds, re.MULTILINE)
    assert sorted(still_open) == ["QPTL-dual", "RDGL-auto", "RDGL-newton"]


def test_the_readme_quotes_what_tuning_took():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    budget = by_setting(FIELD / "tables" / "budget.md")["matching-50, seed 10"]
    quoted = re.findall(r"([\d.]+ s) \((\S+)\)", readme.split("24 configurations")[1][:200])
    assert len(quoted) == 4
    for seconds, method in quoted:
        assert budget[method]["training time"].replace("\xa0", " ") == seconds


def test_the_readme_quotes_dgl_none_on_knapsacks():
    readme = (ROOT / "README.md").read_text("utf-8")
    seeds = by_setting(FIELD / "tables" / "seeds.md")
    settings = [name for name in seeds if name.startswith("knapsack")]
    regrets = [seeds[name]["DGL-none"]["mean regret"].split()[0] for name in settings]
    assert "({}, {}, {} and {} % in the order above)".format(*regrets) in readme


def test_the_readme_says_what_the_dual_layer_saves():
    seeds = by_setting(FIELD / "tables" / "seeds.md")["matching-50"]
    soon, late = (seeds[method]["time (mean)"] for method in ("QPTL-dual", "QPTL"))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"in {soon} instead of {late} on matching-50" in readme


def test_how_long_the_reference_took_is_said():
    records = [
        read_record(run) for group in (FIELD / "timed").iterdir() for run in run_folders(group)
    ]
    timed = sum(record.status.wall_s for record in records)
    files = [
        file for file in (FIELD / "tuning").glob("*.toml") if not file.name.startswith("qptl-")
    ]
    runs, trained = (
        sum(search[name] for search in searches(files)) for name in ("runs", "seconds")
    )
    page = " ".join((REFERENCE / "README.md").read_text("utf-8").split())
    assert f"timed runs took {timed / 60:.0f} minutes" in page
    assert f"the {runs:,} runs of the searches trained for {trained / 60:.0f} minutes" in page


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
