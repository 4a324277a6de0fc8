"""One rule of selection, wherever a choice is made."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglbench.runs.protocol import Protocol
from dglbench.runs.record import (
    Environment,
    Identity,
    Regrets,
    RunRecord,
    Selected,
    Status,
    Summary,
)
from dglbench.runs.selection import (
    best_record,
    improves,
    improving,
    ranked,
    validation_regret,
)


def record(val: float, *, epochs: int = 9, state: str = "done", **options) -> RunRecord:
    identity = Identity(
        task="matching",
        settings={"n": 4},
        seed=1,
        method="spo",
        options=options,
        solver="batched",
        dual_rule="centre",
        protocol=Protocol(epochs=epochs),
        source="x",
    )
    regrets = Regrets(val, val, val, 0.0)
    summary = Summary(
        epochs, 1.0, {}, {}, 1, 1, 1.0, selected=Selected(1, 1.0, 0, regrets, regrets)
    )
    return RunRecord(identity.run_id, identity, Environment(), Status(state), summary)


def test_the_lowest_validation_regret_wins():
    low, high = record(0.1, lr=1.0), record(0.2, lr=0.1)
    assert best_record([high, low]) is low
    assert ranked([high, low]) == [low, high]


def test_of_equals_the_one_with_more_epochs_then_smaller_options_wins():
    short, long = record(0.1, epochs=3, lr=0.01), record(0.1, epochs=9, lr=0.1)
    assert best_record([short, long]) is long
    two, ten = record(0.1, lr=2.0), record(0.1, lr=10.0)
    assert best_record([ten, two]) is two, "numbers, not their text"
    assert best_record([two, ten]) is two, "whatever the order"


def test_options_of_unlike_kinds_can_be_compared():
    records = [record(0.1, patience=None), record(0.1, patience=3), record(0.1, patience="x")]
    assert len(ranked(records)) == 3


def test_what_has_no_finite_result_is_never_chosen():
    assert best_record([record(0.1, state="diverged"), record(math.nan)]) is None
    assert best_record([]) is None
    assert validation_regret(record(0.3, state="failed")) == math.inf


@pytest.mark.parametrize(
    ("regret", "best", "better"),
    [(0.1, None, True), (0.1, 0.2, True), (0.1, 0.1, False), (math.nan, None, False)],
)
def test_an_epoch_must_be_better_than_the_ones_before_it(regret, best, better):
    assert improves(regret, best) is better


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, math.nan, math.inf]), min_size=1, max_size=8))
def test_a_frame_of_epochs_is_judged_by_the_same_rule(regrets):
    best, expected = None, []
    for regret in regrets:
        expected.append(improves(regret, best))
        best = regret if expected[-1] else best
    frame = pl.DataFrame({"run": ["a"] * len(regrets), "regret": regrets})
    assert frame.select(improving("regret", of="run")).to_series().to_list() == expected
