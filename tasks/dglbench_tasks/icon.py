"""The market days and the loads of the ICON challenge on energy-cost aware scheduling.

38,016 half-hours of the Irish market from November 2011 to December 2013, and eight loads of
fourteen days each: machines with a capacity, jobs with a duration, a window, a power and a use of
the machine's resource. The file is not part of dglbench: it is taken from ``DGLBENCH_ICON_FILE``,
or downloaded once (`dglbench_tasks.released`), and its sha256 is checked either way.

The price is SMPEP2, what was paid in the end. Features are what was known the day before: the
calendar and the forecasts. Temperature, wind speed, CO2 intensity, wind production and load as
they turned out to be are not.

References: Simonis et al., CSPLib problem 059; Ifrim, O'Sullivan and Simonis (2012), Properties of
energy-price forecasts for scheduling.
"""

import zipfile
from typing import NamedTuple

import numpy as np

from dglbench.errors import DatasetError
from dglbench.problem import Array
from dglbench_tasks.released import Released, located
from dglbench_tasks.scheduling_loads import Job, Load

__all__ = ["FEATURES", "FILE", "IconDays", "days", "load"]

FILE = Released(
    title="the ICON data",
    variable="DGLBENCH_ICON_FILE",
    file_name="icon-scheduling.zip",
    sha256="3ea0ecf68627d74f16e41b07c4a1a38fcd86e0e3477724e501a2aadd7ea94147",
    # First as of a commit known to hold the file, then wherever the repository stands.
    urls=tuple(
        f"https://raw.githubusercontent.com/JayMan91/aaai_predit_then_optimize/{revision}/"
        "EnergyCost/ICON_data.zip"
        for revision in ("35b3ea7e28928a948e172bb5a0acb545763c69d3", "HEAD")
    ),
    instead="use source=synthetic and load=survey, which need no download",
)
SLOTS = 48
FEATURES = (
    "HolidayFlag",
    "DayOfWeek",
    "WeekOfYear",
    "Month",
    "PeriodOfDay",
    "ForecastWindProduction",
    "SystemLoadEA",
    "SMPEA",
)
"""The calendar, then the forecasts of wind, load and price."""
PRICE = "SMPEP2"


class IconDays(NamedTuple):
    """Days in the order of the calendar."""

    features: Array
    """(days, 48, 8), in the order of `FEATURES`."""
    prices: Array
    """(days, 48)"""


def days() -> IconDays:
    """Read the 789 market days that have no gaps; three more have."""
    lines = _text("data/prices2013.dat").splitlines()
    columns = lines[0].lstrip("#").split()
    # Texts in quotes, the date and the name of a holiday, are the first two columns.
    wanted = [columns.index(name) - 2 for name in (*FEATURES, PRICE)]
    rows = [line.rsplit('"', 1)[1].split() for line in lines[1:]]
    numbers = np.array([[float(row[at]) for at in wanted] for row in rows])
    by_day = numbers.reshape(-1, SLOTS, len(wanted))
    whole = by_day[np.isfinite(by_day).all(axis=(1, 2))]
    return IconDays(np.ascontiguousarray(whole[..., :-1]), whole[..., -1].copy())


def load(number: int, day: int) -> Load:
    """Read one of the loads 1 to 8 of one of the days 1 to 14.

    Slot length, resources, machines; for each machine a line (id, idle, up and down cost) and its
    capacity; jobs; for each a line (id, duration, earliest start, latest end, power) and its use.
    """
    words = iter(_text(f"load{number}/day{day:02d}.txt").split())

    def numbers(count: int) -> list[float]:
        return [float(next(words)) for _ in range(count)]

    _, _, machines = numbers(3)
    capacities = [int(numbers(5)[-1]) for _ in range(int(machines))]
    (jobs,) = numbers(1)
    found = []
    for _ in range(int(jobs)):
        _, duration, earliest, latest, power, use = numbers(6)
        found.append(Job(int(duration), int(earliest), int(latest), power, int(use)))
    return Load(tuple(capacities), tuple(found))


def _text(name: str) -> str:
    path = located(FILE)
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name).decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{path} holds no {name} ({error}); fetch {FILE.urls[0]} again."
        ) from error
