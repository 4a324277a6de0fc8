"""The knapsack: its days, its problem, its predictor, its paper settings."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import resources
from typing import Any

import numpy as np
import pytest
import torch

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.task import SPLITS, Dataset
from dglbench.training.predictor import fresh_predictor
from dglbench_tasks import market
from dglbench_tasks.knapsack import Knapsack, KnapsackSettings

SMALL = {"train": 20, "val": 6, "test": 5}


def generate(seed: int = 25, **settings: Any) -> Dataset:
    task = Knapsack()
    return task.generate(task.parse_settings(settings), seed)


# The problem


@pytest.mark.parametrize("n", [1, 2, 5, 24, 48, 96])
def test_any_number_of_slots_gives_finite_days_of_the_right_shape(n: int) -> None:
    data = generate(n=n, **SMALL)
    assert data.features.shape == (31, n, 8)
    assert data.labels.shape == (31, n, 2)
    assert np.isfinite(data.features).all()
    assert np.isfinite(data.labels).all()
    assert (data.labels[..., 0] >= 0).all()
    assert (data.labels[..., 1] == 0).all()
    assert data.problem.is_knapsack
    assert data.problem.A.shape == (1, n, 2)
    assert data.problem.predicted[:, 0].all()
    assert not data.problem.predicted[:, 1].any()
    assert min(data.constants["weights"]) <= data.constants["capacity"]


def test_weights_are_as_even_a_mix_as_the_slots_allow() -> None:
    assert sorted(generate(**SMALL).constants["weights"]) == [3] * 16 + [5] * 16 + [7] * 16
    odd = generate(n=10, weights="2,9", **SMALL).constants["weights"]
    assert sorted(odd) == [2] * 5 + [9] * 5


@pytest.mark.parametrize(("fraction", "capacity"), [(0.25, 60), (0.5, 120), (0.75, 180)])
def test_the_papers_capacities(fraction: float, capacity: int) -> None:
    data = generate(capacity_fraction=fraction, **SMALL)
    assert sum(data.constants["weights"]) == 240
    assert data.constants["capacity"] == capacity
    assert data.problem.b.tolist() == [capacity]


def test_an_explicit_capacity_wins() -> None:
    assert generate(capacity=77, capacity_fraction=0.1, **SMALL).constants["capacity"] == 77
    assert generate(capacity="61.5", **SMALL).problem.b.tolist() == [61.5]


def test_the_problem_is_rebuilt_from_settings_and_constants() -> None:
    data = generate(n=24, **SMALL)
    again = Knapsack().problem(data.spec.settings, data.constants)
    np.testing.assert_array_equal(again.A, data.problem.A)
    np.testing.assert_array_equal(again.b, data.problem.b)


# Randomness and split


def test_the_same_seed_gives_the_same_days_to_the_last_bit() -> None:
    first, second = generate(**SMALL), generate(**SMALL)
    for name in ("features", "labels", "split"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert first.constants == second.constants


def test_another_seed_gives_other_days_weights_and_splits() -> None:
    first, second = generate(1, **SMALL), generate(2, **SMALL)
    assert not np.array_equal(first.features[..., 4:], second.features[..., 4:])
    assert not np.array_equal(first.labels, second.labels)
    assert first.constants["weights"] != second.constants["weights"]
    assert not np.array_equal(first.split, second.split)


def test_one_setting_does_not_move_what_it_has_no_part_in() -> None:
    plain = generate(**SMALL)
    tight = generate(capacity_fraction=0.1, **SMALL)
    assert plain.labels.tobytes() == tight.labels.tobytes()
    quiet = generate(noise=0, **SMALL)
    assert plain.features.tobytes() == quiet.features.tobytes()
    assert plain.split.tobytes() == quiet.split.tobytes()
    assert plain.constants == quiet.constants
    longer = generate(**{**SMALL, "test": 15})
    assert plain.features.tobytes() == longer.features[:31].tobytes()


def test_24_slots_are_the_first_half_hours_of_48() -> None:
    half, full = generate(n=24, **SMALL), generate(n=48, **SMALL)
    np.testing.assert_array_equal(half.features, full.features[:, ::2])
    assert sorted(half.constants["weights"]) == [3] * 8 + [5] * 8 + [7] * 8
    assert half.constants["capacity"] == 60


def test_every_day_belongs_to_one_split() -> None:
    data = generate()
    rows = [data.rows(split) for split in SPLITS]
    assert [len(part) for part in rows] == [550, 100, 139]
    assert sorted(np.concatenate(rows)) == list(range(789))
    # Shuffled by day: each split reaches over both years.
    assert all(part.min() < 60 and part.max() > 700 for part in rows)


def test_only_train_days_standardise_and_scale() -> None:
    data, task = generate(**SMALL), Knapsack()
    train = data.features[data.rows("train")].reshape(-1, 8)
    mean, spread = data.standardiser
    np.testing.assert_allclose(mean, train.mean(axis=0))
    assert (spread > 0).all()
    assert task.label_scale(data) == pytest.approx(data.labels[data.rows("train"), :, 0].std())


# The predictor


def test_one_linear_layer_serves_every_slot() -> None:
    data = generate(**SMALL)
    model = fresh_predictor("linear", Knapsack(), data)
    assert sum(weight.numel() for weight in model.parameters()) == 9
    values = model(torch.from_numpy(data.features))
    assert values.shape == data.labels.shape
    assert values.dtype == torch.float64
    assert (values[..., 1] == 0).all()
    # Slots moved about are predicted the same.
    moved = model(torch.from_numpy(data.features[:, ::-1].copy()))
    torch.testing.assert_close(moved.flip(1), values)


def test_the_predictor_learns_and_keeps_its_statistics() -> None:
    data = generate(**SMALL)
    model = fresh_predictor("linear", Knapsack(), data)
    model(torch.from_numpy(data.features)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is not None for weight in model.parameters())
    assert {"inputs.mean", "inputs.spread"} <= set(model.state_dict())


def test_slots_are_drawn_at_the_hour_they_start() -> None:
    axis = Knapsack().label_axis(KnapsackSettings(n=48))
    assert axis.title == "hour of day"
    assert axis.positions[[0, 1, 47]].tolist() == [0, 0.5, 23.5]


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be a whole number ≥ 1, got 0."),
        ({"slots": 48}, "has no option 'slots'; it has n, source, capacity_fraction, "),
        ({"source": "nordpool"}, "source must be one of synthetic, semo, got 'nordpool'."),
        ({"source": "semo", "n": 30}, "so n must be 24 or 48, got 30;"),
        ({"source": "semo", "train": 600}, "train + val + test must be no more"),
        ({"source": "semo", "noise": 5}, "weights and noise cannot be set;"),
        ({"capacity_fraction": 0}, "capacity_fraction must be a number > 0 and ≤ 1, got 0."),
        ({"capacity": -1}, "capacity must be a number or none > 0, got -1."),
        ({"capacity": 2, **SMALL}, "at least the lightest slot's weight, 3, or nothing"),
        ({"weights": ""}, "weights must name at least one weight"),
        ({"weights": "0,3"}, "weights must be a comma-separated list"),
        ({"noise": "nan"}, "noise must be a number ≥ 0, got 'nan'."),
    ],
)
def test_a_wrong_setting_gets_one_sentence(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        generate(**settings)
    assert message in str(caught.value)
    assert str(caught.value).startswith("task knapsack")
    assert "\n" not in str(caught.value)


def test_listing_the_task_loads_nothing_heavy() -> None:
    script = (
        "import sys, dglbench_tasks.knapsack\n"
        "print([m for m in ('torch', 'pooch', 'ortools', 'scipy') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


# The market


def statistics(data: Dataset) -> dict[str, float]:
    """Measure what the table in the task's docstring states."""
    features, values = data.features, data.labels[..., 0]
    inputs = np.column_stack([np.ones(values.size), features.reshape(-1, 8)])
    weights = np.linalg.lstsq(inputs, values.ravel(), rcond=None)[0]
    residual = values.ravel() - inputs @ weights
    price = features[..., 6].ravel()
    wind, load = features[..., 4].ravel(), features[..., 5].ravel()
    per_weight = values / np.asarray(data.constants["weights"])
    flat = per_weight.ravel()
    return {
        "value: mean": values.mean(),
        "value: standard deviation": values.std(),
        **{f"value: {q} % quantile": float(np.percentile(values, q)) for q in (5, 50, 95, 99)},
        "linear R2 on the 8 features": 1 - residual.var() / values.var(),
        "value per weight: night (2-6 h)": per_weight[:, 4:12].mean(),
        "value per weight: evening (17-19 h)": per_weight[:, 34:38].mean(),
        "value per weight: correlation with next": np.corrcoef(flat[:-1], flat[1:])[0, 1],
        "value per weight: same slot next day": np.corrcoef(flat[:-48], flat[48:])[0, 1],
        "forecast price: mean": price.mean(),
        "forecast price: standard deviation": price.std(),
        "correlation forecast, value per weight": np.corrcoef(price, flat)[0, 1],
        "correlation load, forecast price": np.corrcoef(load, price)[0, 1],
        "correlation wind, forecast price": np.corrcoef(wind, price)[0, 1],
        "forecast load: mean": load.mean(),
        "forecast load: standard deviation": load.std(),
        "forecast wind: mean": wind.mean(),
        "forecast wind: standard deviation": wind.std(),
        "forecast wind: same slot next day": np.corrcoef(wind[:-48], wind[48:])[0, 1],
        "CO2 intensity: mean": features[..., 7].mean(),
    }


def stated() -> dict[str, tuple[float, float]]:
    """Read the table of the task's docstring: real and synthetic."""
    table = {}
    for line in (Knapsack.__doc__ or "").splitlines():
        row = re.fullmatch(r"\s+(\S.*?)\s+(-?[\d.]+)\s+(-?[\d.]+)", line)
        if row:
            table[row[1]] = (float(row[2]), float(row[3]))
    return table


def test_the_docstring_states_what_the_synthetic_market_is_like() -> None:
    table, measured = stated(), statistics(generate(25))
    assert set(table) == set(measured)
    wrong = {
        name: (v, table[name][1])
        for name, v in measured.items()
        if v != pytest.approx(table[name][1], rel=0.006, abs=0.006)
    }
    assert not wrong


@pytest.mark.skipif(
    not os.environ.get("DGLBENCH_SEMO_FILE"),
    reason="DGLBENCH_SEMO_FILE does not name a copy of the released SEMO data",
)
def test_the_docstring_states_what_the_real_market_is_like() -> None:
    table, measured = stated(), statistics(generate(25, source="semo"))
    wrong = {
        name: (v, table[name][0])
        for name, v in measured.items()
        if v != pytest.approx(table[name][0], rel=0.006, abs=0.006)
    }
    assert not wrong


def test_other_seeds_give_markets_close_to_the_real_one() -> None:
    table = {name: real for name, (real, _) in stated().items()}

    def far(name: str, value: float, share: float, difference: float) -> bool:
        real = table[name]
        allowed = difference if abs(real) < 1 else share * abs(real)  # correlations, R2: as is
        return abs(value - real) > allowed

    runs = [statistics(generate(seed)) for seed in range(1, 9)]
    medians = {name: float(np.median([run[name] for run in runs])) for name in table}
    assert not {name: value for name, value in medians.items() if far(name, value, 0.12, 0.06)}
    # Of 160 seeds tried these strayed the furthest, for instance by a run of capped prices.
    for seed in (339, 393, 397, 448):
        run = statistics(generate(seed))
        assert not {name: value for name, value in run.items() if far(name, value, 0.3, 0.12)}


def test_prices_have_a_heavy_tail_and_forecasts_miss() -> None:
    days = market.simulate(789, 48, 25)
    price, forecast = days.price, days.features[..., 6]
    z = (price - price.mean()) / price.std()
    assert (z**4).mean() > 10  # a normal law has 3
    assert price.max() > 5 * price.mean()
    assert (price > 0).all()
    assert price.max() <= market.PRICE_CAP
    assert 0.4 < np.corrcoef(price.ravel(), forecast.ravel())[0, 1] < 0.8


def test_the_week_and_the_year_show_in_the_load() -> None:
    days = market.simulate(789, 48, 25)
    load = days.features[..., 5].mean(axis=1)
    weekday, month = days.features[:, 0, 1], days.features[:, 0, 3]
    assert load[weekday < 5].mean() > load[weekday == 5].mean() > load[weekday == 6].mean()
    assert load[np.isin(month, (12, 1, 2))].mean() > 1.1 * load[np.isin(month, (6, 7, 8))].mean()


def test_the_calendar_knows_weeks_and_holidays() -> None:
    dates = market.calendar(789)
    assert (dates.weekday[0], dates.week[0], dates.month[0]) == (1, 44, 11)  # 1 November 2011
    assert dates.holiday.sum() == 29
    easter_monday = np.datetime64("2012-04-09") - market.FIRST_DAY
    assert dates.holiday[easter_monday.astype(int)]
    assert dates.week.min() == 1
    assert dates.week.max() == 52


# The paper's settings

METHODS = {
    "two-stage": {"lr"},
    "spo": {"lr"},
    "qptl": {"lr", "alpha"},
    **{
        name: {"lr", "alpha", "tau"} for name in ("dgl-none", "dgl-auto", "dgl-1", "dgl-5", "dgl-U")
    },
}


@pytest.mark.parametrize("name", ["knapsack", "matching"])
def test_the_papers_tables_are_complete(name: str) -> None:
    file = resources.files("dglbench_tasks").joinpath(f"{name}.toml")
    paper = tomllib.loads(file.read_text("utf-8"))
    assert set(paper) - {"range", "label_scale", "vary"} == {
        "protocol",
        "warm_start",
        "search",
        "settings",
        "selected",
    }
    assert set(paper["protocol"]) == {"epochs", "batch_size"}
    assert paper["warm_start"]["lr"] > 0
    task = find_task(name)
    assert set(paper["settings"]) == {f"{name}-{size}" for size in task.sizes}
    assert set(paper["selected"]) == set(paper["settings"])
    for setting, given in paper["settings"].items():
        seeds = given.pop("seeds")
        assert seeds
        assert f"{name}-{task.parse_settings(given).n}" == setting
        everything = paper["selected"][setting]
        ours = {name for name in everything if name.startswith("rdgl-") or name == "qptl-dual"}
        chosen = {name: options for name, options in everything.items() if name not in ours}
        assert {method: set(options) for method, options in chosen.items()} == METHODS
        assert everything["qptl-dual"] == chosen["qptl"]
        rules = ("none", "auto", "step", "newton", "U")
        assert ours == {"qptl-dual", *(f"rdgl-{rule}" for rule in rules)}
        assert all(set(everything[f"rdgl-{rule}"]) == {"lr", "tau"} for rule in rules)
        for options in chosen.values():
            for option, value in options.items():
                assert value in paper["search"][option]
        assert chosen["dgl-U"] == chosen["dgl-5"]


def test_the_grid_is_the_papers_with_zero_alpha() -> None:
    search = Knapsack().paper()["search"]
    # In units of the labels: 0.01, 0.05, 0.1, 0.5 and 1 over 220.
    assert search["lr"] == [4.55e-05, 0.000227, 0.000455, 0.00227, 0.00455]
    assert search["alpha"] == [i / 10 for i in range(11)]
    assert search["tau"] == [0.1, 0.5, 1.0]
