"""Scheduling on the ICON challenge's days: what is read, how it is split, what a limit means."""

import dataclasses
import hashlib
import os
import zipfile

import numpy as np
import pytest
from training.helpers import run

from dglbench.errors import DatasetError
from dglbench.plugins import find_task
from dglbench.sweep.request.specs import single_run
from dglbench_tasks import icon, scheduling
from dglbench_tasks.scheduling_loads import SURVEY, Job, Load

needs_release = pytest.mark.skipif(
    not os.environ.get("DGLBENCH_ICON_FILE"),
    reason="DGLBENCH_ICON_FILE does not name a copy of the released ICON data",
)
COLUMNS = (
    "DateTime Holiday HolidayFlag DayOfWeek WeekOfYear Day Month Year PeriodOfDay "
    "ForecastWindProduction SystemLoadEA SMPEA ORKTemperature ORKWindspeed CO2Intensity "
    "ActualWindProduction SystemLoadEP2 SMPEP2"
)
DAYS = 12
LOAD = """30 1 2
0 190 0.1 0.0
1000
1 170 0.1 0.1
900
3
0 10 1 25 471.40
600
1 23 8 47 426.43
700
2 3 0 48 10.50
500
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A file of the released form: twelve days, the fifth with a gap, and one load."""
    draws = np.random.default_rng(1)
    lines = ["#" + COLUMNS]
    for day in range(DAYS):
        for slot in range(48):
            actual = "NaN" if (day, slot) == (3, 7) else "5.0"
            price = "NaN" if (day, slot) == (4, 9) else f"{draws.uniform(20, 90):.2f}"
            lines.append(
                f'"tue {day + 1}/11/2011 00:00" "New Year\'s Eve" 0 1 44 {day + 1} 11 2011 {slot} '
                f"{draws.uniform(0, 900):.1f} 3000 49.26 {actual} 9.3 600 356 3159 {price}"
            )
    path = tmp_path / "icon.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/prices2013.dat", "\n".join(lines) + "\n")
        archive.writestr("load2/day03.txt", LOAD)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(icon, "FILE", icon.FILE._replace(sha256=digest))
    monkeypatch.setattr(scheduling, "REAL_DAYS", DAYS - 1)
    monkeypatch.setattr(scheduling, "ICON_JOBS", (10, 3))
    monkeypatch.setenv("DGLBENCH_ICON_FILE", str(path))
    return path


def dataset(**settings):
    task = find_task("scheduling")
    return task.generate(task.parse_settings(settings), 3)


def test_days_without_a_price_are_left_out_and_actuals_are_no_features(small):
    days = icon.days()
    assert days.features.shape == (DAYS - 1, 48, 8)
    assert days.prices.shape == (DAYS - 1, 48)
    assert days.features[0, 5].tolist()[:5] == [0, 1, 44, 11, 5]
    assert (days.features[..., 6] == 3000).all()
    assert np.isfinite(days.features).all()


def test_a_load_is_read(small):
    jobs = (Job(10, 1, 25, 471.4, 600), Job(23, 8, 47, 426.43, 700), Job(3, 0, 48, 10.5, 500))
    assert icon.load(2, 3) == Load((1000, 900), jobs)
    with pytest.raises(DatasetError, match=r"holds no load1/day01\.txt"):
        icon.load(1, 1)


def test_the_past_trains_and_the_future_tests_unless_days_are_drawn(small):
    chosen = {"load": "icon", "load_number": 2, "day": 3, "train": 6, "val": 2, "test": 3}
    real = dataset(source="icon", **chosen)
    assert real.split.tolist() == [0] * 6 + [1] * 2 + [2] * 3
    assert real.spec.settings.n == 3
    assert dataset(source="icon", split="random", **chosen).split.tolist() != real.split.tolist()
    drawn = dataset(**chosen)
    assert drawn.split.tolist() != real.split.tolist()
    assert dataset(split="time", **chosen).split.tolist() == real.split.tolist()


def test_regrets_against_a_bound_are_called_so(small, monkeypatch):
    """Many alike jobs on two machines: packing them takes longer than the limit allows."""
    few = {"train": 6, "val": 2, "test": 3}
    jobs = "".join(
        f"{j} {3 + j % 5} {j % 4} {30 + j % 6} {100 + 7.3 * j}\n{280 + 13 * (j % 7)}\n"
        for j in range(16)
    )
    with zipfile.ZipFile(small, "a") as archive:
        archive.writestr("load2/day04.txt", "30 1 2\n0 1 1 1\n1000\n1 1 1 1\n900\n16\n" + jobs)
    digest = hashlib.sha256(small.read_bytes()).hexdigest()
    monkeypatch.setattr(icon, "FILE", icon.FILE._replace(sha256=digest))
    monkeypatch.setattr(scheduling, "ICON_JOBS", (10, 16))
    chosen = {**few, "source": "icon", "load": "icon", "load_number": 2, "day": 4}

    def trained(limit):
        settings = {**chosen, "limit": limit}
        return run(single_run("scheduling", "two-stage", settings=settings, seed=1, epochs=2))

    ran = trained(1e-6)
    assert ran.record.state == "done", ran.record.status
    assert ran.record.summary.bounds["test"] >= 1
    assert any("regrets are against a bound" in said for said in ran.record.summary.remarks)
    rows = ran.tables["decisions"].to_pylist()
    assert sum(row["optimum_gap"] > 0 for row in rows) == ran.record.summary.bounds["test"]
    assert all(row["regret"] >= row["optimum_gap"] * (1 - 1e-9) for row in rows)
    last = ran.tables["regret"].to_pylist()[-1]
    assert last["optimum_gap"] > 0
    whole = trained(50.0)
    assert whole.record.summary.bounds == {}
    for bound, best in zip(rows, whole.tables["decisions"].to_pylist(), strict=True):
        assert bound["optimal_value"] <= best["optimal_value"] * (1 + 1e-9)  # of costs


@needs_release
def test_the_released_file_is_what_the_docstring_says():
    days = icon.days()
    assert days.features.shape == (scheduling.REAL_DAYS, 48, 8)
    assert days.prices.min() == -47.74
    assert days.prices.max() == 1000.0
    assert [len(icon.load(number, 1).jobs) for number in range(1, 9)] == list(scheduling.ICON_JOBS)
    assert icon.load(1, 1) == SURVEY[10]
    assert len(icon.load(8, 14).machines) == 10


@needs_release
def test_real_days_need_no_other_setting():
    task = find_task("scheduling")
    data = task.generate(task.parse_settings({"source": "icon"}), 0)
    assert [len(data.rows(split)) for split in ("train", "val", "test")] == [550, 100, 139]
    assert data.rows("train").max() < data.rows("val").min() < data.rows("test").min()
    assert dataclasses.asdict(data.spec.settings)["load"] == "survey"
