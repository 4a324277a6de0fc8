"""Simulated days of an electricity market, shaped after the Irish one of 2011 to 2013.

What a practitioner would look for is there: load with a daily, weekly and yearly
cycle and holidays; wind that blows for days and more in winter; a price that
climbs the merit order as load rises and wind falls, at the cost of fuel, which
drifts; scarcity uplifts, mostly at the evening peak, with a heavy tail; and
forecasts that miss what happens. Per slot, in € per MWh and MW, capped at PRICE_CAP:

    net    = load - WIND_RELIEF · wind
    price  = fuel · (PRICE_BASE · exp((net - NET_BASE) / PRICE_SLOPE + PRICE_JITTER · e)
                     + UPLIFT · exp((net - NET_TIGHT) / UPLIFT_SLOPE) · ramp(hour) · heavy(z))

The price *forecast* uses forecast load and wind; the *realised* price uses what
load and wind turned out to be, an e of its own and a heavier-tailed z, nearly its
own too. Daily and yearly shapes were read off the released data as hourly means;
the other constants were fitted to its moments (table in `knapsack.Knapsack`).
Times are in hours, so any number of slots per day samples the same kind of market.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array
from dglbench.streams import stream

__all__ = ["FEATURES", "Calendar", "Market", "calendar", "simulate"]

FEATURES = (
    "holiday",
    "day of week (Monday 0)",
    "week of year",
    "month",
    "forecast wind, MW",
    "forecast load, MW",
    "forecast price, €/MWh",
    "CO2 intensity, g/kWh",
)

FIRST_DAY = np.datetime64("2011-11-01")  # the first day of the released data

# One number per hour, from midnight: load of a working day, what midwinter adds and
# midsummer takes, and what a day of rest takes. MW.
# fmt: off
LOAD = (3470, 3200, 3000, 2880, 2840, 2860, 3040, 3640, 4310, 4560, 4700, 4750,
        4780, 4770, 4650, 4650, 4780, 5040, 5100, 4920, 4750, 4600, 4310, 3900)
WINTER = (470, 440, 390, 370, 350, 330, 370, 420, 400, 280, 310, 320,
          330, 350, 350, 380, 480, 730, 840, 840, 780, 620, 420, 400)
REST = (0, 0, 20, 60, 100, 150, 310, 760, 1160, 1030, 830, 680,
        580, 540, 570, 680, 750, 750, 650, 550, 540, 540, 440, 310)
# fmt: on
SATURDAY, SUNDAY, HOLIDAY = 0.8, 1.05, 0.8  # how much of a day of rest each is
COLDEST = 18  # day of the year at which the yearly cycle peaks
LOAD_SPELL, LOAD_WIGGLE, LOAD_MISS = 130.0, 110.0, 80.0  # weather, hours, forecast error, MW

WIND_CAPACITY = 1720.0
WIND_MEAN, WIND_SEASON, WIND_SPREAD, WIND_MISS = -1.05, 0.75, 1.3, 0.25  # on the logit scale
WIND_RELIEF = 0.5  # how much of a MW of wind comes off the net load that sets the price

PRICE_BASE, NET_BASE, PRICE_SLOPE, PRICE_JITTER = 39.5, 2300.0, 6000.0, 0.07
FUEL_SPREAD, FUEL_DAYS = 0.25, 8.0  # on the log scale
UPLIFT, NET_TIGHT, UPLIFT_SLOPE = 10.5, 4300.0, 780.0
RAMP, RAMP_HOUR, RAMP_WIDTH = 0.7, 17.75, 1.0  # the evening ramp strains plant beyond its load
UPLIFT_SHARED, UPLIFT_HOURS = 0.05, 0.42  # common to forecast and realised, how long it lasts
FORECAST_TAIL, REALISED_TAIL = 0.85, 0.93  # log spread of the uplift; forecasts are calmer
# Every market caps its price; the released values imply a highest price of about 1130.
# Without a cap one slot in a few million reaches 10 000 and rules its whole dataset.
PRICE_CAP = 1100.0

CO2_BASE, CO2_WIND, CO2_LOAD, CO2_SPREAD = 589.0, 0.131, 0.0094, 64.0


class Calendar(NamedTuple):
    """What the calendar says of each day; every array is (days,)."""

    holiday: npt.NDArray[np.bool_]
    weekday: npt.NDArray[np.int64]
    week: npt.NDArray[np.int64]
    month: npt.NDArray[np.int64]
    day_of_year: npt.NDArray[np.int64]


class Market(NamedTuple):
    """Simulated days."""

    features: Array
    """(days, slots, 8), in the order of `FEATURES`."""
    price: Array
    """(days, slots): the realised price, which a predictor never sees."""


def simulate(days: int, slots: int, seed: int) -> Market:
    """Simulate consecutive days; a longer market of the same seed begins with a shorter one."""
    dates = calendar(days)
    hours: Array = np.arange(slots, dtype=np.float64) * (24 / slots)

    def process(name: str, correlation_hours: float, smooth_hours: float = 0.0) -> Array:
        rng = stream(seed, "knapsack", "market", name)
        return _process(rng, (days, slots), 24 / slots, correlation_hours, smooth_hours)

    season = np.cos(2 * np.pi * (dates.day_of_year - COLDEST) / 365.25)[:, None]

    windiness = WIND_MEAN + WIND_SEASON * season + WIND_SPREAD * process("wind", 20, 4)
    wind = _logistic(windiness)
    wind_actual = _logistic(windiness + WIND_MISS * process("wind error", 8))

    rest = np.select([dates.weekday == 6, dates.weekday == 5], [SUNDAY, SATURDAY], 0.0)
    rest = np.where(dates.holiday, np.maximum(rest, HOLIDAY), rest)[:, None]
    load = _hourly(LOAD, hours) + season * _hourly(WINTER, hours) - rest * _hourly(REST, hours)
    load = load + LOAD_SPELL * process("weather", 120) + LOAD_WIGGLE * process("load", 3)
    load_actual = load + LOAD_MISS * process("load error", 4)

    daily = stream(seed, "knapsack", "market", "fuel")
    fuel = np.exp(FUEL_SPREAD * _process(daily, (days, 1), 24, 24 * FUEL_DAYS))
    shared = UPLIFT_SHARED**0.5 * process("scarcity", UPLIFT_HOURS)
    own = (1 - UPLIFT_SHARED) ** 0.5
    ramp = np.exp(RAMP * np.exp(-(((hours - RAMP_HOUR) / RAMP_WIDTH) ** 2)))
    price = _price(
        fuel,
        load - WIND_RELIEF * wind,
        process("forecast price", 3),
        ramp,
        _heavy(shared + own * process("forecast scarcity", UPLIFT_HOURS), FORECAST_TAIL),
    )
    price_actual = _price(
        fuel,
        load_actual - WIND_RELIEF * wind_actual,
        process("price", 3),
        ramp,
        _heavy(shared + own * process("actual scarcity", UPLIFT_HOURS), REALISED_TAIL),
    )
    co2 = CO2_BASE - CO2_WIND * wind - CO2_LOAD * load + CO2_SPREAD * process("co2", 20)

    by_day = (dates.holiday, dates.weekday, dates.week, dates.month)
    by_slot = (wind, load, price, co2)
    columns = [np.broadcast_to(column[:, None], (days, slots)) for column in by_day]
    return Market(np.stack([*columns, *by_slot], axis=-1).astype(np.float64), price_actual)


def calendar(days: int) -> Calendar:
    """Describe the days from `FIRST_DAY` on; weeks count as ISO 8601 does."""
    date = FIRST_DAY + np.arange(days)
    year = date.astype("datetime64[Y]")
    month_start = date.astype("datetime64[M]")
    number = date.astype(np.int64)
    weekday = (number + 3) % 7  # 1970-01-01 was a Thursday
    # A date's ISO week is that of the Thursday of the same Monday-to-Sunday week.
    thursday = date - weekday + 3
    week = (thursday - thursday.astype("datetime64[Y]").astype(date.dtype)).astype(np.int64) // 7
    month = month_start.astype(np.int64) % 12 + 1
    day = (date - month_start.astype(date.dtype)).astype(np.int64) + 1
    easter = _easter(year.astype(np.int64) + 1970)
    from_easter = number - easter
    fixed = np.isin(month * 100 + day, (101, 317, 1224, 1225, 1226, 1231))
    first_monday = np.isin(month, (5, 6, 8)) & (weekday == 0) & (day <= 7)
    last_october_monday = (month == 10) & (weekday == 0) & (day > 24)
    holiday = fixed | np.isin(from_easter, (-2, 0, 1)) | first_monday | last_october_monday
    day_of_year = (date - year.astype(date.dtype)).astype(np.int64)
    return Calendar(holiday, weekday, week + 1, month, day_of_year)


def _easter(year: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Easter Sunday of each year, in days since 1970 (Meeus, Jones and Butcher's computus)."""
    a, (b, c) = year % 19, np.divmod(year, 100)
    d, e = np.divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = np.divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    march = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    march += 59 + ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))
    easter: npt.NDArray[np.int64] = march + h + m - 7 * n + 114 - 31 * 3
    return easter


def _price(fuel: Array, net: Array, jitter: Array, strain: Array, heavy: Array) -> Array:
    base = PRICE_BASE * np.exp((net - NET_BASE) / PRICE_SLOPE + PRICE_JITTER * jitter)
    uplift = UPLIFT * np.exp((net - NET_TIGHT) / UPLIFT_SLOPE) * strain * heavy
    price: Array = np.minimum(fuel * (base + uplift), PRICE_CAP)
    return price


def _heavy(scarcity: Array, tail: float) -> Array:
    """Turn a normal process into a log-normal one with mean 1."""
    factor: Array = np.exp(tail * scarcity - tail**2 / 2)
    return factor


def _hourly(table: tuple[int, ...], hours: Array) -> Array:
    return np.interp(hours, np.arange(24), table, period=24)


def _logistic(windiness: Array) -> Array:
    power: Array = WIND_CAPACITY / (1 + np.exp(-windiness))
    return power


def _process(
    rng: np.random.Generator,
    shape: tuple[int, int],
    step_hours: float,
    correlation_hours: float,
    smooth_hours: float = 0.0,
) -> Array:
    """Draw a stationary Gaussian process of unit variance over consecutive slots, as (days, slots).

    Its correlation decays like exp(-t / correlation_hours); a smoothing time
    passes it through a second such filter, which rounds its path.
    """
    from scipy.signal import lfilter

    days, slots = shape
    slow = math.exp(-step_hours / correlation_hours)
    fast = math.exp(-step_hours / smooth_hours) if smooth_hours else 0.0
    # One more day in front, dropped again, lets the second filter settle.
    white = rng.standard_normal((days + 1) * slots)
    white[1:] *= math.sqrt(1 - slow**2)
    rough = lfilter([1.0], [1.0, -slow], white)
    spread = math.sqrt((1 + slow * fast) / ((1 - slow * fast) * (1 - fast**2)))
    path: Array = lfilter([1.0 / spread], [1.0, -fast], rough).reshape(days + 1, slots)[1:]
    return path
