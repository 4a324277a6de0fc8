"""The reference results: pages quote what the packs say, and the packs keep their promises."""

import re
import runpy
from pathlib import Path

import pytest

from dglbench.packs.reading import PackRuns

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"
PACKS = sorted(REFERENCE.glob("*.dglpack"))
NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*")

_fill = runpy.run_path(str(ROOT / "docs" / "fill.py"))
TABLES = [
    pytest.param(shown, command, id=f"{page.stem}: {command.partition('results/')[2]}")
    for page in _fill["PAGES"]
    for command, shown in _fill["tables"](page.read_text("utf-8")).items()
]
# Pages whose percentages all come from the reference results.
QUOTING = ("README.md", "docs/results.md", "docs/note.md", "docs/reactive.md")


def numbers(text):
    """The numbers of a text, with the minus sign that tables print."""
    return [float(word.replace(",", "").replace("−", "-")) for word in NUMBER.findall(text)]


@pytest.mark.parametrize(("shown", "command"), TABLES)
def test_a_table_is_what_its_command_prints(shown, command):
    printed = _fill["printed"](command)
    assert NUMBER.sub("·", shown) == NUMBER.sub("·", printed), "the same rows, columns and words"
    for quoted, found in zip(numbers(shown), numbers(printed), strict=True):
        assert quoted == pytest.approx(found, rel=0.01, abs=0.01)


@pytest.mark.parametrize("page", QUOTING)
def test_percentages_in_the_text_stand_in_a_table(page):
    told = "\n".join(
        shown
        for name in QUOTING
        for shown in _fill["tables"]((ROOT / name).read_text("utf-8")).values()
    )
    known = {abs(number) for number in numbers(told)}
    text = re.sub(
        r"<!-- dglbench .*?<!-- end -->|```.*?```",
        "",
        (ROOT / page).read_text("utf-8"),
        flags=re.DOTALL,
    )
    quoted = re.findall(r"(\d+\.\d+)(?:\s|–\d+\.\d+\s)*(?:%|points)", " ".join(text.split()))
    strangers = [
        word
        for word in quoted
        if not any(round(number, len(word.partition(".")[2])) == float(word) for number in known)
    ]
    assert not strangers, f"{page} quotes what no table shows"


def records(pack):
    runs = PackRuns(pack)
    return [runs.record(name) for name in runs.names]


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.stem)
def test_runs_were_timed_alone_and_a_setting_on_one_machine_with_one_code(pack):
    made = {}
    for record in records(pack):
        assert (record.environment.threads, record.environment.concurrency) == (1, 1)
        identity = record.identity
        key = (str(identity.settings), identity.task, identity.method, identity.predictor)
        made.setdefault(key, set()).add((record.environment.machine, identity.source))
    assert made
    assert all(len(each) == 1 for each in made.values())


def test_tuning_and_defaults_never_saw_the_data_that_are_reported():
    reported = {record.identity.seed for pack in PACKS for record in records(pack)}
    searched = {0, 1, 2}  # make.sh
    assert "--tune-seeds 0-2" in (REFERENCE / "make.sh").read_text("utf-8")
    assert not reported & (searched | {1001})


def test_every_method_of_a_setting_has_equal_seeds_and_repeats():
    # One fit is all there is to a closed form; QPTL through cvxpylayers takes minutes a run.
    for pack in PACKS:
        runs = {}
        for record in records(pack):
            identity = record.identity
            if identity.has_own_predictor or identity.method == "qptl":
                continue
            key = (identity.setting, str(sorted(identity.settings.items())), identity.predictor)
            runs.setdefault(key, {}).setdefault(identity.method, set()).add(
                (identity.seed, identity.train_seed)
            )
        for setting, methods in runs.items():
            assert len({frozenset(each) for each in methods.values()}) == 1, (pack.stem, setting)


def test_it_stays_small_and_holds_no_data_of_others():
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert len(files) <= 40
    assert sum(path.stat().st_size for path in files) <= 25e6
    assert {path.suffix for path in files} <= {
        ".md",
        ".toml",
        ".json",
        ".parquet",
        ".png",
        ".sh",
        ".dglpack",
    }
