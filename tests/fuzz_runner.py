"""Running fuzzed cases: a scratch folder for each, the command in this process, and a verdict."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import shutil
import signal
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_cases import Case, described, make_case

from dglbench.cli import app
from dglbench.streams import stream

__all__ = ["Finding", "Outcome", "build_world", "built_once", "judge", "run_case"]

TIMEOUT_S = 120
FINDS_FAULTS = ("verify", "check-method")
"""Exit code 1 is their answer that something does not hold."""
OLD_RUN = Path(__file__).parent / "old_run"  # as 0.2 wrote it

SETTINGS = """\
methods = ["two-stage", "dgl-1"]
search = "full"
epochs = 9
option = { lr = 0.1, dgl-1 = { tau = 0.5 } }

[[setting]]
task = "matching-3"
seeds = [1, 2]
set = { train = 4, val = 2, test = 2 }
protocol = { epochs = 9, patience = 2 }
option = { dgl-1 = { lr = 0.05 } }
space = { two-stage = { lr = [0.1, 0.2] }, dgl-1 = { tau = [0.1, 1.0] } }
"""
CLAIMS = Path(__file__).parent.parent / "dglbench/report/claims/claims.toml"


class Outcome(NamedTuple):
    """What a command left behind."""

    code: Any
    out: str
    err: str


class Finding(NamedTuple):
    """A case that did not end as it should."""

    number: int
    case: str
    why: str
    err: str


def build_world(root: Path) -> None:
    """Make what commands may meet: runs new and old, a dataset, configurations, odd files."""
    small = ["--set", "train=4", "--set", "val=2", "--set", "test=2", "--epochs", "2"]
    with _inside(root):
        for method in ("two-stage", "dgl-1"):
            _expect(["train", "matching-3", "--method", method, "--solver", "batched", *small])
        _expect(["generate", "matching-3", "--out", "data.parquet", *small[:6]])
        _expect(["pack", "results", "--out", "runs.dglpack", "--zip"])
    donor = next((root / "results").glob("*dgl-1*"))
    shutil.copytree(donor, root / "results" / "donor")
    shutil.copytree(OLD_RUN, root / "old" / "run")
    rng = stream(1, "fuzz", "arrays")
    use = rng.integers(1, 6, size=(2, 5))
    np.savez(
        root / "mine.npz",
        features=rng.normal(size=(12, 5, 2)),
        labels=rng.normal(size=(12, 5)),
        A=use,
        b=0.4 * use.sum(axis=1),
    )
    with np.load(root / "mine.npz") as arrays:
        np.savez(root / "new.npz", features=arrays["features"][:2])
    (root / "plugin.py").write_text("from dglbench.task import Task\n")
    (root / "broken.py").write_text("raise OSError('no')\n")
    (root / "empty").mkdir()
    (root / "file.txt").write_text("nothing\n")
    (root / "broken.toml").write_text("methods = [\n")
    (root / "sweep.toml").write_text(SETTINGS.partition("[[")[0] + 'tasks = ["matching-3"]\n')
    (root / "settings.toml").write_text(SETTINGS)
    shutil.copy(CLAIMS, root / "claims.toml")


@contextlib.contextmanager
def built_once() -> Iterator[None]:
    """Build the program's parser once: thousands of times it would cost more than the commands."""
    make, load = app.get_command, app._LazyGroup._load
    app.get_command = functools.cache(make)
    app._LazyGroup._load = functools.cache(load)
    try:
        yield
    finally:
        app.get_command, app._LazyGroup._load = make, load


def run_case(world: Path, scratch: Path, seed: int, number: int) -> tuple[Case, Outcome]:
    """Run one case in a fresh copy of the world."""
    case = make_case(seed, number)
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(world, scratch)
    if case.prepare is not None:
        case.prepare(scratch)
    with _inside(scratch):
        return case, _run(case.words)


def judge(number: int, case: Case, outcome: Outcome) -> Finding | None:
    """Say what is wrong with how a command ended, None if nothing is."""
    code, out, err = outcome
    why = None
    if "Traceback" in out + err:
        why = "a traceback"
    elif "bug in dglbench" in err:
        why = "called a bug"
    elif code not in (0, 1, 2, 130):
        why = f"exit code {code!r}"
    elif (
        code == 1
        and case.words[0] not in FINDS_FAULTS
        and ("ended as" not in err and "not_done" not in out and '"state"' not in out)
    ):
        why = "exit code 1 without a run that failed"
    elif code == 2 and sum(line.startswith("error: ") for line in err.splitlines()) != 1:
        why = "exit code 2 without one sentence"
    elif code == 0 and "--json" in case.words and case.words[0] != "--json":
        with contextlib.suppress(ValueError):
            json.loads(out)
            return None
        why = "no JSON" if "--help" not in case.words else None
    return Finding(number, described(case), why, err[-1500:]) if why else None


def _expect(words: list[str]) -> None:
    outcome = _run(words)
    if outcome.code != 0:
        raise RuntimeError(f"{words}: {outcome.err}")


def _run(words: Any) -> Outcome:
    from dglbench.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _timed():
        try:
            code: Any = main(list(words))
        except BaseException as error:  # whatever escapes is the finding
            code = f"{type(error).__name__} escaped"
            err.write(traceback.format_exc())
    return Outcome(code, out.getvalue(), err.getvalue())


class _TookTooLong(BaseException):
    """Not an Exception: nothing on the way may take it for its own."""


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    def give_up(*_: Any) -> None:
        raise _TookTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TIMEOUT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with the market data named there: nothing is ever downloaded."""
    kept = os.environ.get("DGLBENCH_SEMO_FILE")
    os.environ["DGLBENCH_SEMO_FILE"] = str(folder / "data.parquet")
    try:
        with contextlib.chdir(folder), warnings.catch_warnings():
            yield
    finally:
        if kept is None:
            os.environ.pop("DGLBENCH_SEMO_FILE")
        else:
            os.environ["DGLBENCH_SEMO_FILE"] = kept
