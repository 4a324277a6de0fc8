"""Which runs a fit asks for: from results and a named stream alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dglbench.data.loading import load_dataset
from dglbench.fitting.kinds import BASELINES, Kind, families, kinds, methods, side
from dglbench.fitting.rounds import ROUND, FitRounds
from dglbench.plugins import find_task
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.resolve import resolve
from dglbench.sweep.request.specs import make_groups
from dglbench.training.spec import RunSpec

SETTING = {"n": 4, "train": 8, "val": 8, "test": 8}


@pytest.fixture(scope="module")
def every() -> list[Kind]:
    task = find_task("matching")
    request = Request(
        tasks=("matching",), seeds=(1,), set=SETTING, methods=methods(), solver="batched"
    )
    base = next(iter(make_groups(resolve([request]))))[0].specs[0].data
    dataset = load_dataset(base)
    tried = tuple(families(task, dataset))
    found = {
        (spec.method, spec.predictor): spec
        for unit in make_groups(resolve([Request(**{**vars(request), "predictor": tried})]))
        for group in unit
        for spec in group.specs
    }
    left_out: list[str] = []
    every = list(
        kinds(task, dataset, lambda m, p: found[m, p], lambda name, why: left_out.append(why))
    )
    assert not left_out
    return every


def record(spec: RunSpec, regret: float) -> Any:
    """Return what a search reads of a run's record."""
    val = SimpleNamespace(relative_regret=regret)
    selected = SimpleNamespace(val=val)
    summary = SimpleNamespace(judged_by="relative")
    return SimpleNamespace(state="done", selected=selected, summary=summary, run_id=spec.run_id)


def asked(rounds: FitRounds, regret: Any, count: int = 200) -> list[RunSpec]:
    """Drive the rounds, giving every run the regret that a function says."""
    found: list[RunSpec] = []
    batch = rounds.first()
    while batch and len(found) < count:
        found += batch
        batch = rounds.after([record(spec, regret(spec)) for spec in batch])
    return found


def by_method(spec: RunSpec) -> float:
    return {"rdgl-newton": 0.1, "two-stage": 0.2}.get(spec.method, 0.3) + spec.train_seed * 1e-6


def test_the_first_round_has_every_kind_and_soon_both_sides(every: list[Kind]) -> None:
    first = FitRounds(every, 1).first()
    accurate = [spec for spec in first if spec.method in (*BASELINES, "two-stage")]
    there = [name for name in BASELINES if name in methods()]
    assert len(accurate) == len(there) + 2
    sides = [side(spec.method) for spec in first[:2]]
    assert set(sides) == {"accurate", "decision-focused"}
    rest = [spec for spec in first if spec not in accurate]
    wanted = {
        (method, predictor, start)
        for method in ("rdgl-newton", "rdgl-5", "spo", "qptl-dual")
        for predictor in ("linear", "mlp")
        for start in ("fresh", "warm")
    }
    assert {(s.method, s.predictor, s.options.start) for s in rest} == wanted
    assert len(rest) == len(wanted)
    assert [spec.options.start for spec in rest] == ["fresh"] * 8 + ["warm"] * 8


def test_the_same_results_ask_for_the_same_runs_and_more_runs_extend_them(
    every: list[Kind],
) -> None:
    short = [spec.run_id for spec in asked(FitRounds(every, 1, 30), by_method)]
    again = [spec.run_id for spec in asked(FitRounds(every, 1, 30), by_method)]
    long = [spec.run_id for spec in asked(FitRounds(every, 1, 61), by_method)]
    assert short == again == long[:30]
    assert (len(short), len(long)) == (30, 61)
    assert len(set(long)) == 61, "no run twice"
    other = [spec.run_id for spec in asked(FitRounds(every, 2, 61), by_method)]
    assert other[: len(every)] == long[: len(every)]
    assert other != long


def test_what_does_best_gets_most_and_everything_gets_some(every: list[Kind]) -> None:
    later = asked(FitRounds(every, 1), by_method, count=400)[len(every) :]
    counts = Counter(spec.method for spec in later)
    assert counts["rdgl-newton"] == max(counts.values())
    assert {"rdgl-5", "spo", "qptl-dual", "two-stage"} <= set(counts)
    accurate = sum(counts[name] for name in (*BASELINES, "two-stage"))
    assert accurate / len(later) == pytest.approx(1 / 3, abs=0.02), "neither side is slighted"
    assert len(later) % ROUND == 0


def test_later_runs_are_drawn_within_the_ranges_restarted_and_of_other_sizes(
    every: list[Kind],
) -> None:
    later = asked(FitRounds(every, 1), by_method, count=400)[len(every) :]
    newton = [spec for spec in later if spec.method == "rdgl-newton"]
    axis = next(kind for kind in every if kind.spec.method == "rdgl-newton").space["lr"]
    assert all(axis.low <= spec.options.lr <= axis.high for spec in newton)
    assert len({spec.options.lr for spec in newton}) > 10
    default = next(kind.spec.options for kind in every if kind.spec.method == "rdgl-newton")
    restarts = [spec for spec in newton if spec.options.tau == default.tau]
    assert restarts
    assert len({spec.train_seed for spec in newton}) == len(newton), "a training seed of its own"
    assert len({spec.predictor for spec in newton}) > 3


def test_kinds_that_fail_are_not_asked_for_again(every: list[Kind]) -> None:
    def failing(spec: RunSpec) -> float:
        return float("nan") if spec.method == "spo" else by_method(spec)

    later = asked(FitRounds(every, 1), failing, count=200)[len(every) :]
    assert "spo" not in {spec.method for spec in later}
    nothing = FitRounds(every, 1)
    assert nothing.after([record(s, float("nan")) for s in nothing.first()]) == []


def test_names_of_kinds_are_methods_that_exist(tmp_path: Path) -> None:
    from dglbench.plugins import find_method

    for name in methods():
        assert find_method(name).name == name
