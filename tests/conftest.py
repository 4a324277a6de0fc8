"""What all tests share: the command line both ways, throwaway plugins, small data."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from plugin_writer import write_plugin

# Before numpy is imported, as the command line does: tests run side by side.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# pytest-xdist gives its workers a narrow terminal, which would fold what tests look for.
os.environ.pop("COLUMNS", None)

# A busy machine is slow, not wrong.
settings.register_profile("dglbench", deadline=None)
settings.load_profile("dglbench")


class Outcome(NamedTuple):
    """What a command line left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run a command inside this process, in an empty folder."""
    from dglbench.cli import console, main

    monkeypatch.chdir(tmp_path)
    for one in (console.out, console.err):  # whatever the terminal the tests run in
        monkeypatch.setattr(one, "_width", 160)

    def run(*words: str) -> Outcome:
        capsys.readouterr()
        code = main(words)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Outcome]:
    """Run a command as a real process, in an empty folder."""

    def run(*words: str, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "dglbench", *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def make_plugin(tmp_path: Path) -> Callable[..., Path]:
    """Write a distribution with entry points from source text; return the folder to import from."""

    def write(name: str, source: str, **groups: dict[str, str]) -> Path:
        return write_plugin(tmp_path / "plugins", name, source, groups)

    return write


@pytest.fixture
def installed(
    make_plugin: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """Install a throwaway plugin in this process."""
    from dglbench import plugins

    def install(name: str, source: str, **groups: dict[str, str]) -> None:
        monkeypatch.syspath_prepend(make_plugin(name, source, **groups))
        plugins.plugins.cache_clear()

    yield install
    plugins.plugins.cache_clear()


@pytest.fixture
def small_data() -> Callable[..., Any]:
    """Generate a small dataset of a bundled task."""
    from dglbench.plugins import find_task

    def make(task: str = "matching", seed: int = 7, **given: Any) -> Any:
        source = find_task(task)
        return source.generate(
            source.parse_settings({"n": 6, "train": 5, "val": 3, "test": 2, **given}), seed
        )

    return make
