"""A fit keeps to its time where decisions are slow, and says what is so where nothing was made."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import dglbench
from dglbench.api.progress import fit_bar
from dglbench.errors import RunError
from dglbench.fitting import execute
from dglbench.fitting.progress import Progress
from dglbench.solvers.batched_top_k import BatchedTopK
from dglbench.sweep.driver import SweepEnd
from fitting.helpers import top_k

EASY = top_k(60, shock=0, noise=1)
GRANTED_S = 36.0
_DECISION_S = 0.08


@pytest.fixture
def slow_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = BatchedTopK._decide

    def decide(self: Any, values: Any, *rest: Any) -> Any:
        time.sleep(_DECISION_S * len(values))
        return quick(self, values, *rest)

    monkeypatch.setattr(BatchedTopK, "_decide", decide)


@pytest.mark.slow
@pytest.mark.usefixtures("slow_decisions")
def test_slow_decisions_leave_time_for_both_sides_and_for_the_end(tmp_path: Path) -> None:
    began = time.monotonic()
    model = dglbench.fit(EASY, minutes=GRANTED_S / 60, out=tmp_path, progress=False)
    took = time.monotonic() - began
    verdict = model.verdict
    assert verdict["accurate_test_regret"] is not None
    assert verdict["decision_focused_test_regret"] is not None
    # Without a reserve for what is decided at the end it takes 42 s.
    assert took < 1.1 * GRANTED_S
    assert verdict["seconds"] == pytest.approx(took, abs=1.0), "all is counted"
    assert json.loads((tmp_path / "fit.json").read_text())["seconds"] == verdict["seconds"]


@pytest.mark.parametrize("asked", [{"runs": 1}, {"minutes": 1}])
def test_ctrl_c_before_a_run_is_finished_says_that_the_same_command_goes_on(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    _sweep_ends(monkeypatch, interrupted=True)
    with pytest.raises(KeyboardInterrupt):
        dglbench.fit(EASY, out=tmp_path, progress=False, tell=said.append, **asked)
    assert said[-1] == "stopped before a run was finished; the same command goes on."


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"runs": 1}, "run the same command again to go on"), ({"minutes": 1}, "--minutes than 1")],
)
def test_minutes_are_advised_where_minutes_were_given(
    asked: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sweep_ends(monkeypatch, interrupted=False)
    with pytest.raises(RunError, match=says):
        dglbench.fit(EASY, out=tmp_path, progress=False, **asked)


def _sweep_ends(monkeypatch: pytest.MonkeyPatch, *, interrupted: bool) -> None:
    nothing: Any = SimpleNamespace(results={})
    end = SweepEnd([nothing], Counter(), interrupted, stopped_early=False)
    monkeypatch.setattr(execute, "run_sweep", lambda *_, **__: end)


def test_a_notebook_without_ipywidgets_gets_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich._console", Console(force_jupyter=True))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as if it were not installed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fit_bar() as show:
            show.better("4.0 s, run 1: best accurate 9 %")
            show.update(Progress(10.0, 60.0, 3, None))
            monkeypatch.setattr("dglbench.fitting.progress._LINE_EVERY_S", 0.0)
            show.update(Progress(31.0, 60.0, 4, None))
    assert capsys.readouterr().out.splitlines() == [
        "4.0 s, run 1: best accurate 9 %",
        "31 s of 1 min 0 s, 4 runs",
    ]
