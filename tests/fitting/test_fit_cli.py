"""``dglbench fit`` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dglbench
from dglbench.runs.store import is_run, read_record, run_folders
from fitting.helpers import save, top_k

DOCS = Path(__file__).parents[2] / "docs"
EASY = top_k(60, shock=0, noise=1)


def chosen(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return document


def bits(folder: Path) -> dict[str, bytes]:
    """Every run's weights, by name."""
    return {run.name: (run / "weights.pt").read_bytes() for run in run_folders(folder)}


def test_from_arrays_to_a_plan(tmp_path: Path, process: Callable[..., Any]) -> None:
    save(tmp_path, EASY)
    save(tmp_path, {"features": EASY["features"][:5]}, "new.npz")
    done = process("fit", "mine.npz", "--runs", "6")
    assert done.code == 0, done.err
    assert "60 instances; 8 items to take or leave" in done.err
    assert "best accurate" in done.err
    assert "Chosen by validation: " in done.out
    assert "What a plan is worth: expect" in done.out
    assert "Too early to rely on: there is no run yet of " in done.out
    verdict = chosen(tmp_path / "fitted")
    assert "two-stage with mlp" not in verdict["untried"]
    assert verdict["looks_at_test"] == 1
    explained = (DOCS / "logs.md").read_text("utf-8")
    assert all(f"| `{key}` |" in explained for key in verdict)
    assert set(verdict) >= {"pays", "chosen", "test_regret", "accurate_test_regret", "seconds"}
    assert set(verdict["chosen"]) >= {"run", "method", "predictor", "start"}
    assert set(verdict["test_regret"]) == {"value", "low", "high"}
    assert is_run(tmp_path / "fitted" / verdict["chosen"]["run"])
    assert len(list(run_folders(tmp_path / "fitted"))) == 6
    assert (tmp_path / "fitted" / "verdict.png").stat().st_size > 5_000
    assert verdict["chosen"]["run"] in (tmp_path / "fitted" / "verdict.md").read_text()

    applied = process("apply", "fitted", "--data", "new.npz", "--out", "plan.csv")
    assert applied.code == 0, applied.err
    assert f"taking {verdict['chosen']['run']}: what the fit in fitted chose" in applied.out
    assert "what they are worth: expect " in applied.out
    plan = pl.read_csv(tmp_path / "plan.csv")
    assert plan.group_by("instance").agg(pl.col("chosen").sum())["chosen"].to_list() == [3] * 5

    again = process("fit", "mine.npz", "--runs", "6")
    assert again.code == 0, again.err
    assert chosen(tmp_path / "fitted")["chosen"] == verdict["chosen"]
    assert chosen(tmp_path / "fitted")["looks_at_test"] == 1

    more = process("fit", "mine.npz", "--runs", "7")
    assert more.code == 0, more.err
    assert chosen(tmp_path / "fitted")["looks_at_test"] == 2
    assert "earlier verdicts" in (tmp_path / "fitted" / "verdict.md").read_text()


@pytest.mark.slow
def test_a_number_of_runs_gives_the_same_bits_with_any_jobs(
    tmp_path: Path, process: Callable[..., Any]
) -> None:
    save(tmp_path, EASY)
    for out, jobs in (("one", "1"), ("two", "2")):
        done = process("fit", "mine.npz", "--runs", "24", "--jobs", jobs, "--out", out)
        assert done.code == 0, done.err
    one, two = chosen(tmp_path / "one"), chosen(tmp_path / "two")
    assert one | {"seconds": 0} == two | {"seconds": 0}
    assert bits(tmp_path / "one") == bits(tmp_path / "two")
    assert len(bits(tmp_path / "one")) == 24


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dglbench", "fit", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_runs(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 90
    while len(list(run_folders(folder))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_it_goes_on_and_chooses_as_if_nothing_had_been(
    tmp_path: Path, process: Callable[..., Any]
) -> None:
    save(tmp_path, EASY)
    killed = started(tmp_path, "mine.npz", "--runs", "8")
    wait_for_runs(tmp_path / "fitted", 3)
    killed.kill()
    killed.wait()
    assert not (tmp_path / "fitted" / "verdict.json").exists()
    assert process("fit", "mine.npz", "--runs", "8").code == 0
    assert process("fit", "mine.npz", "--runs", "8", "--out", "whole").code == 0
    assert bits(tmp_path / "fitted") == bits(tmp_path / "whole")
    assert chosen(tmp_path / "fitted")["chosen"] == chosen(tmp_path / "whole")["chosen"]


@pytest.mark.slow
def test_ctrl_c_ends_it_with_the_best_so_far(tmp_path: Path) -> None:
    save(tmp_path, EASY)
    running = started(tmp_path, "mine.npz", "--minutes", "5")
    wait_for_runs(tmp_path / "fitted", 2)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert is_run(tmp_path / "fitted" / chosen(tmp_path / "fitted")["chosen"]["run"])


@pytest.mark.slow
def test_it_keeps_to_its_time_and_counts_what_was_used(
    tmp_path: Path, process: Callable[..., Any]
) -> None:
    save(tmp_path, EASY)
    done = process("fit", "mine.npz", "--minutes", "0.3")
    assert done.code == 0, done.err
    assert "fit into 18 s" in done.err
    assert "the time is up" in done.err
    first = chosen(tmp_path / "fitted")
    assert first["seconds"] < 18 + 3

    def states() -> list[str]:
        return [read_record(run).state for run in run_folders(tmp_path / "fitted")]

    made = states()
    assert set(made) == {"done"}, "a run that the end cut short leaves nothing"
    process("fit", "mine.npz", "--minutes", "0.3")
    assert states() == made, "the time was used before"
    process("fit", "mine.npz", "--minutes", "0.8")
    assert len(states()) > len(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "pays"),
    [(top_k(400, shock=25, noise=0.5), True), (top_k(120, shock=0, noise=0.0), False)],
)
def test_it_names_the_right_side(data: dict[str, Any], pays: bool, tmp_path: Path) -> None:
    model = dglbench.fit(data, runs=14, out=tmp_path, progress=False)
    assert model.verdict["pays"] is pays
    side = model.verdict["chosen"]["role"]
    assert not pays or side == "best decision-focused"


def test_from_python(tmp_path: Path) -> None:
    said: list[str] = []
    features_and_labels = {name: EASY[name] for name in ("features", "labels")}
    problem = dglbench.Problem.top_k(8, 3)
    model = dglbench.fit(
        features_and_labels, problem, runs=3, out=tmp_path, progress=False, tell=said.append
    )
    assert any("best accurate" in sentence for sentence in said)
    assert model.predict(EASY["features"][:2]).shape == (2, 8)
    assert model.decide(EASY["features"][:2]).sum(axis=1).tolist() == [3, 3]
    assert model.verdict["chosen"]["run"] in model.runs["run_id"].to_list()
    assert len(model.runs) == 3
    assert "Chosen by validation" in str(model)
    expected = model.expect(EASY["features"])
    assert expected is not None
    assert expected.low < expected.value < expected.high


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mine.npz", "--minutes", "0"], "--minutes must be a number above 0, got 0"),
        (["mine.npz", "--runs", "0"], "--runs must be a whole number ≥ 1, got 0"),
        (["mine.npz", "--minutes", "1", "--runs", "5"], "give --minutes or --runs"),
        (["mine.npz", "--minutes", "0.0001"], "too short for a single run"),
        (["mine.npz", "--solver", "gurobi"], "there is no solver 'gurobi'"),
        (["tight.npz", "--solver", "batched"], "has no batched solver; use --solver ortools"),
        (["nothing.npz"], "there is no file or folder nothing.npz"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], says: str, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    save(tmp_path, EASY)
    save(tmp_path, {**EASY, "A": [[1] * 8, [2] * 8], "b": [3, 6], "equality": False}, "tight.npz")
    outcome = cli("fit", *words)
    assert outcome.code == 2
    assert outcome.err.count("error: ") == 1
    assert says in outcome.err.splitlines()[-1]
    assert not (tmp_path / "fitted" / "verdict.json").exists()


def test_other_data_are_not_mixed_in(tmp_path: Path, cli: Callable[..., Any]) -> None:
    save(tmp_path, EASY)
    save(tmp_path, top_k(60, shock=0, noise=1, seed=9), "other.npz")
    assert cli("fit", "mine.npz", "--runs", "1").code == 0
    outcome = cli("fit", "other.npz", "--runs", "1")
    assert outcome.code == 2
    assert "fitted holds a fit of other data; choose another --out" in outcome.err
