"""What fits into the time, from what a few instances say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dglbench.fitting.pace import FEWEST_EPOCHS, LONGEST_RUN, fitting

METHODS = ("two-stage", "spo", "spo", "rdgl-newton")


def kinds(epochs: int = 40) -> list[Any]:
    """Return what is read of kinds; two-stage has epochs of its own, up to 500."""
    found = []
    for method in METHODS:
        own = method == "two-stage"
        protocol = SimpleNamespace(epochs=500 if own else epochs)
        spec = SimpleNamespace(method=method, protocol=protocol)
        found.append(SimpleNamespace(spec=spec, own_epochs=own))
    return found


def measured(epoch: float) -> dict[str, tuple[float, float]]:
    return {"two-stage": (0.0, epoch / 10), "spo": (1.0, epoch), "rdgl-newton": (0.5, epoch / 2)}


def test_where_all_fits_nothing_is_changed() -> None:
    budget = fitting(kinds(), measured(0.01), 300.0, jobs=1)
    assert (budget.epochs, budget.too_slow) == (40, ())
    assert budget.runs == pytest.approx(300 / ((0.06 + 1.4 + 1.4 + 0.7) / 4), rel=0.3)
    assert budget.shortest_s == pytest.approx(0.06)
    assert "spo 1.4 s" in budget.words


def test_epochs_shrink_until_the_first_round_fits_its_share() -> None:
    budget = fitting(kinds(), measured(1.0), 150.0, jobs=1)
    assert FEWEST_EPOCHS <= budget.epochs < 40
    assert fitting(kinds(), measured(1.0), 150.0, jobs=4).epochs == 40, "four at a time"


def test_a_method_of_which_one_run_takes_too_long_is_left_out() -> None:
    budget = fitting(kinds(), measured(10.0), 200.0, jobs=1)
    assert budget.epochs == FEWEST_EPOCHS
    assert budget.too_slow == ("spo",), "never two-stage, which the others are compared with"
    assert FEWEST_EPOCHS * 10.0 > LONGEST_RUN * 200
