"""Every command of README and docs runs: reduced on every page, as it stands on the guides' pages.

`tests/pages.py` says how a page is read and how commands are reduced.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pages
import pytest
from plugin_writer import write_plugin

from dglbench import plugins
from dglbench.cli.app import VERBS
from dglbench.report import load
from dglbench.report.tables import build

EXTEND = "docs/extend.md"
SCRIPTED = ("docs/own-data.md",)
"""Pages whose scripts are run with their commands; tests/test_docs.py runs those of python.md."""
RUN = [
    page for page in pages.PAGES if any(words[0] == "dglbench" for words in pages.commands(page))
]
SLOW = {
    f"docs/{name}.md"
    for name in ("compare", "gallery", "own-data", "published", "submit", "when-it-pays")
}
"""Pages that take more than a few seconds even if they are reduced."""


def package() -> dict[str, str]:
    """Return the files of the guide's example package."""
    return pages.files(EXTEND)


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the guide's package, as pip would leave it."""
    project = tomllib.loads(package()["pyproject.toml"])["project"]
    modules = {
        name.removesuffix(".py"): text for name, text in package().items() if name[-2:] == "py"
    }
    groups = {
        group.removeprefix("dglbench."): entries
        for group, entries in project["entry-points"].items()
    }
    return write_plugin(tmp_path_factory.mktemp("plugins"), project["name"], modules, groups)


def follow(
    page: str, folder: Path, run: Callable[[list[str]], str], reduce: bool = True
) -> dict[str, str]:
    """Run a page's commands from top to bottom; return what each printed."""
    shown, script, printed = "", "", {}
    for part in pages.parts(page):
        if part.kind == "sh":
            todo = [shlex.split(line, comments=True) for line in pages.lines(part.text)]
        elif part.kind == "sentence" and not pages.is_form(part.text):
            todo = [shlex.split(part.text)]
        else:
            todo = []
        for words in todo:
            if words and words[0] == "dglbench" and not pages.without_its_data(words):
                asked = pages.reduced(words) if reduce else words
                shown = run(pages.with_globs(asked, folder))
                printed[shlex.join(words)] = shown
        if part.kind == "text":
            assert " ".join(part.text.split()) in " ".join(shown.split()), part.text
        elif part.kind == "python" and not part.file and page in SCRIPTED:
            script += part.text
            command = [sys.executable, "-W", "error", "-c", script]
            subprocess.run(command, cwd=folder, check=True, timeout=300)
    return printed


@pytest.fixture
def reader(
    tmp_path: Path,
    plugin_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Callable[..., Any],
) -> Iterator[Callable[..., dict[str, str]]]:
    """Follow a page in a folder with the reader's arrays and the files that pages show."""
    pages.write_arrays(tmp_path)
    for page in (EXTEND, "docs/submit.md"):
        for name, text in pages.files(page).items():
            (tmp_path / name).write_text(text)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(pages.ROOT / "results" / "reference")

    def run(words: list[str]) -> str:
        with monkeypatch.context() as patch:
            if "--plugin" not in words:  # a class is installed or given in a file, never both
                patch.syspath_prepend(plugin_path)
            plugins.plugins.cache_clear()
            done = cli(*words[1:])
        assert done.code == 0, f"{shlex.join(words)}\n{done.err}"
        return done.out + done.err

    def read(page: str, reduce: bool = True) -> dict[str, str]:
        return follow(page, tmp_path, run, reduce)

    yield read
    plugins.plugins.cache_clear()


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in RUN]
)
def test_every_command_of_a_page_runs_in_the_order_shown(page, reader, tmp_path):
    printed = reader(page)
    assert len(printed) >= 1
    if page == "README.md":
        made = {path.name for path in tmp_path.iterdir()}
        assert {"data", "results", "plan.csv"} <= made


@pytest.mark.slow
def test_own_data_become_a_plan_as_the_page_stands(reader, tmp_path):
    reader("docs/own-data.md", reduce=False)
    for plan in ("plan.csv", "other.csv"):
        lines = (tmp_path / plan).read_text().splitlines()
        assert lines[0] == "instance,item,predicted,chosen"
        assert len(lines) == 1 + 5 * 10


@pytest.mark.slow
def test_tuning_and_timing_run_as_the_guide_stands(reader, tmp_path):
    reader("docs/compare.md", reduce=False)
    assert (tmp_path / "timed.html").is_file()


@pytest.mark.slow
def test_an_author_joins_as_the_page_stands(reader, tmp_path):
    reader("docs/submit.md", reduce=False)
    both = load(tmp_path / "ref.dglpack", tmp_path / "mine.dglpack")
    rows = [row for row in build("leaderboard", both).records() if row["standing"] != "start"]
    assert {row["method"] for row in rows} == {"two-stage", "spo", "dgl-1", "huber"}
    assert all(row["seeds"] == 2 and row["repeats"] == 2 for row in rows)
    assert "huber" in (tmp_path / "both.html").read_text("utf-8")


CHECKS = ["files", "logs", "data", "decisions", "fairness", "reruns"]


def test_the_page_for_authors_names_every_check():
    table = re.findall(r"^\| (\w+) \| ", pages.read("docs/submit.md"), re.MULTILINE)
    assert [name for name in table if name in CHECKS] == CHECKS


@pytest.mark.parametrize("page", pages.PAGES)
def test_commands_with_places_to_fill_name_verbs_and_options_that_exist(page):
    for _, verb, *rest in pages.forms(page):
        assert verb in VERBS, verb
        run = importlib.import_module(VERBS[verb].module).run
        known = str(inspect.signature(run)) + "--help"
        names = {name.replace("_", "-") for name in inspect.signature(run).parameters}
        for word in rest:
            if word.startswith("--"):
                assert word[2:] in names or f"'{word}'" in known, f"{verb} {word}"


@pytest.mark.parametrize("page", pages.PAGES)
def test_no_command_hides_in_another_kind_of_block(page):
    for part in pages.parts(page):
        if part.kind not in ("sh", "bash", "sentence"):
            assert not re.search(r"^\s*(…|dglbench) .*--", part.text, re.MULTILINE), part.text
    assert not re.search(r"^ {4,}dglbench ", pages.read(page), re.MULTILINE)


def test_every_other_command_exists():
    for page in pages.PAGES:
        for words in pages.commands(page):
            if words[0] == "make":
                command = ["make", "-n", words[1]]
                done = subprocess.run(command, cwd=pages.ROOT, capture_output=True, check=False)
                assert done.returncode == 0, words
            elif words[0] == "dask":
                assert words[1] in ("scheduler", "worker")
            elif words[0] != "dglbench":
                assert words[0] in ("python", "pip", ".", "git"), words


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page):
    links = re.findall(r"\]\(([^)\s]+)\)", pages.read(page))
    for link in links:
        if link.startswith("https://"):
            continue
        path, _, heading = link.partition("#")
        target = (pages.ROOT / page).parent / path if path else pages.ROOT / page
        assert target.exists(), link
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert heading in {anchor(title) for title in titles}, link


def anchor(title: str) -> str:
    """Return a heading's name in a link, as GitHub and the site make it."""
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def test_the_site_shows_every_page():
    listed = re.findall(r"^(?:[\w ]+<)?([\w-]+)>?$", pages.read("docs/index.md"), re.MULTILINE)
    there = {path.stem for path in (pages.ROOT / "docs").glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(there)


def test_every_script_named_is_there():
    for page in pages.PAGES:
        for script in re.findall(r"python (benchmarks/\w+\.py)", pages.read(page)):
            assert (pages.ROOT / script).is_file(), script


def test_the_example_package_is_complete():
    document = tomllib.loads(package()["pyproject.toml"])
    assert {"requires", "build-backend"} <= set(document["build-system"])
    assert {"name", "version"} <= set(document["project"])
    modules = document["tool"]["setuptools"]["py-modules"]
    assert {f"{name}.py" for name in modules} == set(package()) - {"pyproject.toml"}
    points = document["project"]["entry-points"]
    for module, _, name in (v.partition(":") for p in points.values() for v in p.values()):
        assert f"class {name}(" in package()[f"{module}.py"]


@pytest.mark.slow  # pip fetches the build system
def test_the_example_package_installs_and_trains(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name, text in package().items():
        (source / name).write_text(text)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(line: str, folder: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(line)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(f"pip install --quiet --no-deps --target {site} .", source)
    assert run("dglbench list", tmp_path).count("coupons 0.1") == 3
    run("dglbench train coupons --method perturbed --epochs 1 --set train=20", tmp_path)
    run("dglbench check-method perturbed", tmp_path)


def test_an_editable_install_stays_editable():
    for page in ("README.md", "docs/start.md"):
        for words in re.findall(r"`(pip install [^`]*)`", pages.read(page)):
            assert " -e " in words


def test_examples_are_short():
    for page in ("README.md", EXTEND):
        for part in pages.parts(page):
            assert part.kind != "python" or len(part.text.splitlines()) <= 50


def test_the_readme_is_short_and_shows_the_mission_verbatim():
    readme = pages.read("README.md")
    assert len(readme.split()) <= 1_200
    lines = readme.splitlines()
    for command in (
        "dglbench generate matching --n 50 --seed 25",
        "dglbench sweep --methods two-stage,spo,qptl,dgl-1,dgl-auto",
        "dglbench report results/ --figure time-vs-regret",
    ):
        assert command in lines
