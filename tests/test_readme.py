"""Every command and every example in the README, executed as a reader would.

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

import pytest
from plugin_writer import write_plugin

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def package():
    """The files of the README's example, by the names it gives them."""
    task, method = blocks("python")
    (project,) = blocks("toml")
    return {"coupons.py": task, "perturbed.py": method, "pyproject.toml": project}


@pytest.fixture(scope="module")
def plugin_path(tmp_path_factory):
    """The README's package, as pip would leave it."""
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
    return tmp_path_factory.mktemp("reader")


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


def test_every_dglbench_command_runs_in_the_order_shown(folder, plugin_path):
    shown = [words for words in commands() if words[0] == "dglbench"]
    assert len(shown) >= 9
    for words in shown:
        arguments = words[:]
        if words[1] == "sweep":
            arguments = [word for word in words if not word.startswith("tcp:")]
            arguments = [word for word in arguments if word != "--scheduler"]
            if "--methods" in words and "--plan" not in words:
                arguments += TINY  # what the reports after it need
            elif "--plan" not in words:
                arguments += ["--plan"]
        done = run(arguments, folder, plugin_path)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stderr}"
    made = {path.name for path in folder.iterdir()}
    assert {"data", "results", "report.html"} <= made


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
        assert f"`{module}.py`" in README


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


@pytest.mark.parametrize("source", blocks("python"))
def test_examples_are_short(source):
    assert len(source.splitlines()) <= 50
