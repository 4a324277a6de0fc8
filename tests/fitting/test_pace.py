"""What fits into the time, from what a few instances say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dglbench.fitting.conclude import reserve
from dglbench.fitting.pace import FEWEST_EPOCHS, FEWEST_EVALUATIONS, LONGEST_RUN, Pace, fitting

METHODS = ("two-stage", "spo", "spo", "rdgl-newton")


def kinds(epochs: int = 40) -> list[Any]:
    """Return what is read of kinds; two-stage has epochs of its own, up to 500."""
    found = []
    for method in METHODS:
        own = method == "two-stage"
        protocol = SimpleNamespace(epochs=500 if own else epochs, evaluate_every=10 if own else 2)
        spec = SimpleNamespace(method=method, protocol=protocol)
        found.append(SimpleNamespace(spec=spec, own_epochs=own))
    return found


def measured(epoch: float, evaluation: float = 0.0) -> dict[str, Pace]:
    return {
        "two-stage": Pace(0.0, epoch / 10, evaluation),
        "spo": Pace(1.0, epoch, evaluation),
        "rdgl-newton": Pace(0.5, epoch / 2, evaluation),
    }


def test_where_all_fits_nothing_is_changed() -> None:
    budget = fitting(kinds(), measured(0.01), 300.0, jobs=1)
    assert (budget.epochs, budget.every, budget.too_slow) == (40, 2, ())
    assert budget.runs == pytest.approx(300 / ((0.06 + 1.4 + 1.4 + 0.7) / 4), rel=0.3)
    assert budget.shortest_s == pytest.approx(0.06)
    assert "spo 1.4 s" in budget.words


def test_epochs_shrink_until_the_first_round_fits_its_share() -> None:
    budget = fitting(kinds(), measured(1.0), 150.0, jobs=1)
    assert FEWEST_EPOCHS <= budget.epochs < 40
    assert fitting(kinds(), measured(1.0), 150.0, jobs=4).epochs == 40, "four at a time"


def test_where_decisions_take_the_time_runs_are_evaluated_less_and_keep_their_epochs() -> None:
    budget = fitting(kinds(), measured(0.01, evaluation=1.0), 60.0, jobs=1)
    assert (budget.epochs, budget.every) == (40, 40 // FEWEST_EVALUATIONS)
    longer = fitting(kinds(), measured(0.01, evaluation=1.0), 150.0, jobs=1)
    assert 2 < longer.every < 10
    assert longer.epochs == 40


def test_a_method_of_which_one_run_takes_too_long_is_left_out() -> None:
    budget = fitting(kinds(), measured(10.0), 200.0, jobs=1)
    assert budget.epochs == FEWEST_EPOCHS
    assert budget.too_slow == ("spo",), "never two-stage, which the others are compared with"
    assert FEWEST_EPOCHS * 10.0 > LONGEST_RUN * 200


def test_the_optima_and_the_end_count_too() -> None:
    free = fitting(kinds(), measured(1.0), 300.0, jobs=1)
    assert free.epochs == 40
    assert fitting(kinds(), measured(1.0), 300.0, jobs=1, once_s=60.0).epochs < 40
    assert fitting(kinds(), measured(1.0), 300.0, jobs=1, kept_s=150.0).epochs < 40
    assert fitting(kinds(), measured(1.0), 300.0, jobs=1, kept_s=150.0).runs < free.runs


def test_one_decision_focused_run_is_made_however_long_decisions_take() -> None:
    slow = {name: pace._replace(ends=4.0) for name, pace in measured(0.01, 2.0).items()}
    budget = fitting(kinds(), slow, 15.0, jobs=1, once_s=2.0)
    assert budget.every > 40 // FEWEST_EVALUATIONS, "fewer evaluations than otherwise"
    assert budget.both_sides_s <= 15.0
    assert budget.too_slow == ("spo",)
    assert budget.longest_s > budget.both_sides_s / 2, "its limit does not stop it"
    hopeless = fitting(kinds(), slow, 6.0, jobs=1, once_s=2.0)
    assert hopeless.both_sides_s > 6.0
    assert hopeless.every == hopeless.epochs


def test_the_end_keeps_what_its_decisions_take_and_at_most_half(small_data: Any) -> None:
    data = small_data(val=100, test=50)
    quick, slow = (reserve(data, each, 600.0) for each in (1e-5, 0.05))
    assert quick.kept < 10
    assert slow.kept > 100 * 0.05 * 12 + 50 * 0.05
    assert reserve(data, 0.05, 60.0).sureness == 6.0
    assert reserve(data, 0.05, 20.0).kept == 10.0
