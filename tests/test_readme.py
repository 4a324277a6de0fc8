"""Every command and every example in the README and in two guides, executed as a reader would.

A sweep that would take long is planned instead of run; `make` targets are resolved
without running them (this is `make test`); the cluster's commands are run for real
in tests/sweep.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from plugin_writer import write_plugin

ROOT = Path(__file__).parent.parent
README, EXTEND, CLUSTER = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/extend.md", "docs/cluster.md")
)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def commands():
    lines = [
        line
        for page in (README, EXTEND, CLUSTER)
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def package():
    """The files of the guide's example, by the names it gives them."""
    task, method, predictor = blocks(EXTEND, "python")
    (project,) = blocks(EXTEND, "toml")
    modules = {"coupons.py": task, "perturbed.py": method, "products.py": predictor}
    return {**modules, "pyproject.toml": project}


@pytest.fixture(scope="module")
def plugin_path(tmp_path_factory):
    """The guide's package, as pip would leave it."""
    project = tomllib.loads(package()["pyproject.toml"])["project"]
    return write_plugin(
        tmp_path_factory.mktemp("plugins"),
        project["name"],
        {
            name.removesuffix(".py"): text
            for name, text in package().items()
            if name.endswith(".py")
        },
        {
            group.removeprefix("dglbench."): entries
            for group, entries in project["entry-points"].items()
        },
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the reader is, with arrays of her own and the guide's files beside them."""
    here = tmp_path_factory.mktemp("reader")
    draws = np.random.default_rng(7)
    features, hours = draws.normal(size=(40, 6, 3)), draws.integers(1, 6, size=(2, 6))
    pay = 50 + features @ [9.0, -4.0, 6.0]
    np.savez(here / "mine.npz", features=features, labels=pay, A=hours, b=0.4 * hours.sum(axis=1))
    np.savez(here / "new.npz", features=draws.normal(size=(5, 6, 3)))
    for name, text in package().items():
        (here / name).write_text(text)
    return here


TINY = shlex.split("--tasks matching-10 --epochs 1 --set train=8 --set val=4 --set test=4")


def run(words, folder, plugin_path):
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(plugin_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def with_globs(words, folder):
    """Put what a shell would put in place of a word with a star."""
    found = (
        [str(p.relative_to(folder)) for p in folder.glob(word)] for word in words if "*" in word
    )
    return [part for word in words for part in (next(found) if "*" in word else [word])]


def test_every_dglbench_command_runs_in_the_order_shown(folder, plugin_path):
    shown = [words for words in commands() if words[0] == "dglbench"]
    assert len(shown) >= 9
    for words in shown:
        arguments = words[:]
        if words[1] == "sweep":
            arguments = [word for word in words if not word.startswith("tcp:")]
            arguments = [word for word in arguments if word != "--scheduler"]
            if "--data" in words:
                arguments += ["--epochs", "1"]
            elif "--methods" in words and "--plan" not in words:
                arguments += TINY  # what the reports after it need
            elif "--plan" not in words:
                arguments += ["--plan"]
        if words[1] == "fit":
            arguments = [*words[: words.index("--minutes")], "--runs", "2"]
        plugged = folder if "--plugin" in words else plugin_path
        done = run(with_globs(arguments, folder), folder, plugged)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stderr}"
    made = {path.name for path in folder.iterdir()}
    assert {"data", "results", "report.html", "plan.csv"} <= made


def test_the_example_package_is_complete():
    files = package()
    document = tomllib.loads(files["pyproject.toml"])
    assert {"requires", "build-backend"} <= set(document["build-system"])
    assert {"name", "version"} <= set(document["project"])
    modules = document["tool"]["setuptools"]["py-modules"]
    assert {f"{name}.py" for name in modules} == set(files) - {"pyproject.toml"}
    points = document["project"]["entry-points"]
    for module, _, name in (v.partition(":") for p in points.values() for v in p.values()):
        assert f"class {name}(" in files[f"{module}.py"]
        assert f"`{module}.py`" in EXTEND


@pytest.mark.slow  # pip fetches the build system
def test_the_example_package_installs_and_trains(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name, text in package().items():
        (source / name).write_text(text)
    install = ["pip", "install", "--quiet", "--no-deps", "--target", str(site), "."]
    done = run(install, source, site)
    assert done.returncode == 0, done.stderr
    listed = run(["dglbench", "list"], tmp_path, site)
    assert listed.stdout.count("coupons 0.1") == 2
    words = [
        "dglbench",
        "train",
        "coupons",
        "--method",
        "perturbed",
        "--epochs",
        "1",
        "--set",
        "train=20",
    ]
    trained = run(words, tmp_path, site)
    assert trained.returncode == 0, trained.stderr
    checked = run(["dglbench", "check-method", "perturbed"], tmp_path, site)
    assert checked.returncode == 0, checked.stdout


def test_an_editable_install_stays_editable():
    for words in re.findall(r"`(pip install [^`]*)`", README):
        assert " -e " in words


def test_every_other_command_exists():
    for words in commands():
        if words[0] == "make":
            done = subprocess.run(
                ["make", "-n", words[1]], cwd=ROOT, capture_output=True, check=False
            )
            assert done.returncode == 0
        elif words[0] == "dask":
            assert words[1] in ("scheduler", "worker")
        else:
            assert words[0] == "dglbench"


def test_every_file_it_points_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(
        r"python (benchmarks/\w+\.py)", README
    )
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


@pytest.mark.parametrize("source", [*blocks(README, "python"), *blocks(EXTEND, "python")])
def test_examples_are_short(source):
    assert len(source.splitlines()) <= 50


def test_the_loop_shown_is_that_of_the_complete_example():
    """The README shows lines of docs/python.md, which a test runs."""
    complete = (ROOT / "docs" / "python.md").read_text("utf-8")
    (loop,) = blocks(README, "python")
    code = [line.partition("#")[0].rstrip() for line in loop.splitlines() if line.strip()]
    told_elsewhere = ("problem =", "decisions =")
    for line in code:
        assert line.startswith(told_elsewhere) or line in complete, line
