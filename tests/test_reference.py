"""The reference results: numbers quoted in tables and pages are within their intervals."""

import functools
import itertools
import re
import tomllib
from pathlib import Path

import pytest

from dglbench.report.loading import load
from dglbench.report.statistics.ranking import ranking
from dglbench.report.style.palette import style
from dglbench.report.tables import build
from dglbench.runs.store import read_record, run_folders

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
FIELD = REFERENCE / "field"
FOLDERS = ("paper/runs", "field/timed/field", "field/timed/same-data")
FORMS = ("plain", "adjusted", "reactive")
CELL = re.compile(r"([\d.]+ %), ([^()]+?)(?: \(([^)]+)\))?")  # 5.17 %, 0.684 s (DGL-20)


@functools.cache
def read(folder):
    return load(REFERENCE / folder)


@functools.cache
def table(folder, name):
    """{setting: {method: {column: value}}} of a table, drawn from the runs."""
    return rows_of(build(name, read(folder)))


@functools.cache
def boards(folder):
    """The same of the leaderboard of every data seed by itself."""
    report = read(folder)
    found = {}
    for unit in report.units:
        found |= rows_of(build("leaderboard", report.only(units=[unit])))
    return found


def rows_of(sheet):
    keys = [column.key for column in sheet.columns]
    return {
        " ".join(heading.split()): {
            style(row[keys.index("method")].value).label: {
                key: cell.value for key, cell in zip(keys, row, strict=True)
            }
            for row in rows
            if row[keys.index("method")].value != "warm-start"
        }
        for heading, rows in sheet.blocks()
    }


def committed(folder, name):
    """{setting: {method: {heading: cell}}} of a table that is committed as Markdown."""
    tables = REFERENCE / folder.partition("/")[0] / "tables"
    if folder.endswith("same-data"):
        tables /= "same-data"
    found = {}
    for part in (tables / f"{name}.md").read_text("utf-8").split("### ")[1:]:
        setting, _, text = part.partition("\n")
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
        header, _, *rows = ([cell.strip() for cell in line] for line in lines)
        found[setting] = {
            row[0].rstrip("★≈ "): dict(zip(header, row, strict=True))
            for row in rows
            if len(row) == len(header) and not row[0].startswith("warm start")
        }
    return found


def share(words):
    return float(words.split()[0]) / 100


def within(quoted, found, digits=4):
    """Say whether a quoted share is within an interval, up to how it was rounded."""
    rounding = 0.6 * 10.0**-digits
    return found[0] - rounding <= quoted <= found[1] + rounding


@pytest.mark.parametrize("folder", FOLDERS)
def test_committed_regrets_are_within_the_intervals_of_the_runs_beside_them(folder):
    quoted, found = committed(folder, "leaderboard"), table(folder, "leaderboard")
    assert quoted.keys() == found.keys()
    for setting, methods in quoted.items():
        assert methods.keys() == found[setting].keys()
        for method, row in methods.items():
            interval = [found[setting][method][key] for key in ("regret_low", "regret_high")]
            assert within(share(row["one run (95 %)"]), interval), (setting, method)


def test_committed_means_are_within_the_range_of_their_seeds():
    quoted, found = committed(FOLDERS[1], "seeds"), table(FOLDERS[1], "seeds")
    assert quoted.keys() == found.keys()
    for setting, methods in quoted.items():
        for method, row in methods.items():
            ends = [found[setting][method][key] for key in ("low", "high")]
            assert within(share(row["mean regret"]), ends), (setting, method)


@pytest.fixture(scope="module", params=FOLDERS)
def report(request):
    return read(request.param)


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
    timed = {run.unit.seed for run in read(FOLDERS[1]).chosen_runs()}
    assert len(timed) == 3
    assert not tuned & timed


def test_the_readme_quotes_the_means_over_seeds():
    seeds = table(FOLDERS[1], "seeds")
    quoted = rows_below("README.md", "setting")
    assert len(quoted) == len(seeds), "every setting"
    for row in quoted:
        setting = row.pop("setting")
        for column, cell in row.items():
            regret, seconds, named = CELL.fullmatch(cell).groups()
            found = seeds[setting][named or column]
            assert within(share(regret), (found["low"], found["high"])), (setting, column)
            assert in_seconds(seconds) == pytest.approx(found["time"], rel=0.02), (setting, column)


def in_seconds(words):
    """0.310 s, 79.6 ms or 155 µs as a number."""
    number, unit = words.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


def rows_below(page, first):
    """The rows of the table on a page whose first heading is this, each a dict by heading."""
    lines = (ROOT / page).read_text("utf-8").replace("**", "").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    cut = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[start:]]
    header, rows = cut[0], itertools.takewhile(lambda row: len(row) == len(cut[0]), cut[2:])
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_the_note_on_reactive_prices_quotes_the_leaderboards():
    board = boards(FOLDERS[2])
    quoted = rows_below("docs/reactive.md", "setting")
    assert len(quoted) == 10
    for row in quoted:
        setting = row.pop("setting")
        for method, regret in row.items():
            found = board[setting][method]
            interval = (found["regret_low"], found["regret_high"])
            assert within(share(regret), interval), (setting, method)


def test_the_note_on_reactive_prices_quotes_means_by_form():
    runs = read("field/timed/forms").done
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
            if regrets:
                assert min(regrets) - 0.01 <= float(cell) <= max(regrets) + 0.01, (refresh, form)
            else:
                assert cell == "—", (refresh, form)


@pytest.mark.parametrize(
    ("page", "words", "folder", "method"),
    [
        ("docs/paper.md", "QPTL ends at", FOLDERS[0], "QPTL"),
        ("docs/paper.md", "tuned on the data it is at", FOLDERS[2], "QPTL"),
        ("docs/paper.md", "RDGL-newton ends at", FOLDERS[2], "RDGL-newton"),
        ("README.md", "RDGL-newton ends at", FOLDERS[2], "RDGL-newton"),
        ("README.md", "in about 0.4 s, QPTL-dual at", FOLDERS[2], "QPTL-dual"),
    ],
)
def test_regrets_on_matching_50_are_quoted_within_their_intervals(page, words, folder, method):
    page = " ".join((ROOT / page).read_text("utf-8").split())
    quoted = re.findall(r"[\d.]+", page.split(words)[1].split("%")[0])
    board = boards(folder)
    for seed, number in zip((10, 25, 95), quoted, strict=True):
        found = board[f"matching-50, seed {seed}"][method]
        assert within(share(number), (found["regret_low"], found["regret_high"]), digits=3)


def test_the_readme_quotes_mean_ranks_and_odds():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    quoted = re.findall(r"([\w+–-]+) \((\d+\.\d\d)\)", readme)
    found = ranking(read(FOLDERS[1]))
    assert len(quoted) == 8
    for method, rank in quoted:
        (name,) = (name for name in found.methods if style(name).label == method)
        assert float(rank) == pytest.approx(found.rank(name), abs=0.006), method
    for method in ("rdgl-5", "rdgl-newton"):
        assert found.rank(method) < found.rank("two-stage")
        assert [other for other in found.methods if found.differ(method, other)] == ["two-stage"]
    odds = build("equivalence", read(FOLDERS[1]), "rdgl-5").records()
    still_open = {row["other"] for row in odds if row["better"] < 0.95}
    assert still_open == {"qptl-dual", "dgl-auto", "dgl-none", "rdgl-auto", "rdgl-newton"}
    assert min(row["better"] for row in odds if row["other"] not in still_open) > 0.98


def test_the_readme_quotes_what_tuning_took():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    budget = committed(FOLDERS[1], "budget")["matching-50, seed 10"]
    quoted = re.findall(r"([\d.]+ s) \((\S+)\)", readme.split("24 configurations")[1][:200])
    assert len(quoted) == 4
    for seconds, method in quoted:
        assert budget[method]["training time"].split()[0] == seconds.split()[0]


def test_the_readme_quotes_dgl_none_on_knapsacks():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    seeds = table(FOLDERS[1], "seeds")
    settings = [name for name in seeds if name.startswith("knapsack")]
    (quoted,) = re.findall(r"\(([^()]*) % in the order above\)", readme)
    for setting, regret in zip(settings, re.findall(r"[\d.]+", quoted), strict=True):
        found = seeds[setting]["DGL-none"]
        assert within(share(regret), (found["low"], found["high"])), setting


def test_the_readme_says_what_the_dual_layer_saves():
    seeds = table(FOLDERS[1], "seeds")["matching-50"]
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    (quoted,) = re.findall(r"in ([\d.]+ s) instead of ([\d.]+ s) on matching-50", readme)
    for seconds, method in zip(quoted, ("QPTL-dual", "QPTL"), strict=True):
        assert in_seconds(seconds) == pytest.approx(seeds[method]["time"], rel=0.02)


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
