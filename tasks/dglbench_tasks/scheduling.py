"""Energy-cost aware scheduling: run jobs on machines when electricity is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from dglbench.layout import Kind
from dglbench.options import LATER
from dglbench.problem import Array, Problem
from dglbench.streams import stream
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, last_in_order, split_sizes_to_rows
from dglbench_tasks.scheduling_loads import ICON_JOBS, SURVEY, Job, Load, drawn_load

__all__ = ["Option", "Scheduling", "SchedulingSettings", "options_of"]

REAL_DAYS = 789
SURVEY_SLOTS = 48
_DEFAULT_JOBS = 10


@dataclass(frozen=True)
class SchedulingSettings:
    """Which jobs, and which days of the market."""

    n: Annotated[
        int,
        Ge(1),
        Doc("jobs; the survey's loads 1, 2 and 3 have 10, 15 and 20; load=icon brings its own"),
    ] = 10
    load: Annotated[
        Literal["survey", "drawn", "icon"],
        Doc("jobs and machines: the survey's, drawn with the seed, or the ICON challenge's"),
    ] = "survey"
    load_number: Annotated[
        int, Ge(1), Le(8), LATER, Doc("load of load=icon; 7 and 8 have 30 and 50 jobs, 10 machines")
    ] = 1
    day: Annotated[int, Ge(1), Le(14), LATER, Doc("day of that load")] = 1
    machines: Annotated[int, Ge(1), Doc("machines of a drawn load")] = 3
    slots: Annotated[int, Ge(2), Doc("slots per day of a drawn load")] = SURVEY_SLOTS
    source: Annotated[
        Literal["synthetic", "semo", "icon"],
        Doc("simulated market days, or real Irish ones: as SEMO or as the ICON challenge has them"),
    ] = "synthetic"
    split: Annotated[
        Literal["auto", "time", "random"],
        LATER,
        Doc("the past trains and the future tests, or days at random; auto: time if days are real"),
    ] = "auto"
    limit: Annotated[
        float,
        Gt(0),
        LATER,
        Doc("work of an exact decision, a few seconds per unit; beyond, regret is against a bound"),
    ] = 0.2
    noise: Annotated[
        float,
        Ge(0),
        LATER,
        Doc("standard deviation of noise added to simulated prices, in € per MWh"),
    ] = 0.0
    train: Annotated[int, Ge(1), Doc("days to train on")] = 550
    val: Annotated[int, Ge(1), Doc("days to validate on")] = 100
    test: Annotated[int, Ge(1), Doc("days to test on")] = 139

    def __post_init__(self) -> None:
        """Refuse combinations that no single field can rule out."""
        if self.load == "survey":
            if self.n not in SURVEY:
                raise ValueError(
                    f"the survey has loads of {', '.join(map(str, SURVEY))} jobs, got n = "
                    f"{self.n}; use load=drawn for other sizes."
                )
        elif self.load == "icon":
            jobs = ICON_JOBS[self.load_number - 1]
            if self.n not in (jobs, _DEFAULT_JOBS):
                raise ValueError(
                    f"load {self.load_number} of load=icon has {jobs} jobs, got n = {self.n}; "
                    "leave n out, or use load=drawn for other sizes."
                )
            object.__setattr__(self, "n", jobs)
        if self.load != "icon" and (self.load_number, self.day) != (1, 1):
            raise ValueError("load_number and day belong to load=icon; set that too.")
        if self.load != "drawn" and (self.machines, self.slots) != (3, SURVEY_SLOTS):
            raise ValueError(
                "the survey's loads come with their machines and 48 slots, so machines and "
                "slots cannot be set; use load=drawn to vary them."
            )
        if self.source != "synthetic" and (
            self.slots != SURVEY_SLOTS or sum(self.sizes) > REAL_DAYS
        ):
            raise ValueError(
                f"source={self.source} has {REAL_DAYS} days of {SURVEY_SLOTS} slots, so train + "
                f"val + test must be no more and slots {SURVEY_SLOTS}, got {sum(self.sizes)} "
                f"and {self.slots}; use source=synthetic for others."
            )

        if self.source != "synthetic" and self.noise:
            raise ValueError(
                f"source={self.source} has real prices with the noise that they have, so noise "
                f"cannot be set, got {self.noise:g}; use source=synthetic to vary it."
            )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Days in train, val and test."""
        return self.train, self.val, self.test

    @property
    def by_time(self) -> bool:
        """Whether the first days train and the last ones test."""
        return self.split == "time" or (self.split == "auto" and self.source != "synthetic")


class Option(NamedTuple):
    """One way to run a job."""

    machine: int
    start: int


class Scheduling(Task):
    """Give each job a machine and a start so that the electricity costs least.

        minimise Σ_j power_j Σ_{t covered by j} price_t
        subject to   Σ_{j runs on m at t} use_j ≤ capacity_m   for every machine m and slot t

    A group is a job, its options are (machine, start) pairs, ordered by machine and then by
    start; loads 1 to 3 of the survey have 411, 888 and 1,545 of them. What is predicted is the
    price of every slot: a linear map takes 48 prices to the costs of the options. The same
    start costs the same on every machine, so there are ties, and the relaxation is
    fractional. Idle, start-up and shut-down costs are not part of the survey's task.

    Days are those of the knapsack with the same seed: simulated (`market`, realised prices
    with N(0, noise²) on top, cut at 0), or the released Irish data, whose values are divided
    by their weights; these then carry N(0, 25²) / weight of noise, cut at 0. ``source=icon``
    has the prices of the same days as they were paid, and the calendar and the forecasts
    (`icon.FEATURES`). The predictor is one linear layer from eight features of a slot to its
    price, shared by all slots.

    Loads 1 to 4, 7 and 8 of ``load=icon`` are decided exactly in a fraction of a second; a few days
    of 5 and 6 take CP-SAT many seconds. ``limit`` ends such a search: the best schedule found
    is taken, and regrets are then against a bound on the optimum, which the logs say of each.

    Reference: Mandi et al. (2024), Decision-Focused Learning: foundations, state of the art,
    benchmark and future opportunities.
    """

    name: ClassVar[str] = "scheduling"
    summary: ClassVar[str] = "run jobs on machines when power is cheap (the survey's loads)"
    integral: ClassVar[bool | None] = False
    sizes: ClassVar[tuple[int, ...]] = (10, 15, 20)
    Settings: ClassVar[type[Any]] = SchedulingSettings
    rows: ClassVar[Kind | None] = "item"

    def generate(self, settings: SchedulingSettings, seed: int) -> Dataset:
        """Take the market's days and the load, and split by day."""
        features, prices = _days(settings, seed)
        load = _load(settings, seed)
        constants = {
            "machines": list(load.machines),
            "jobs": [list(job) for job in load.jobs],
        }
        order = np.arange(len(features))
        if not settings.by_time:
            order = stream(seed, "scheduling", "split").permutation(len(features))
        kept, order = last_in_order(settings.sizes, order)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, constants),
            constants=constants,
            features=features[kept],
            labels=prices[kept],
            split=split_sizes_to_rows(settings.sizes, order),
        )

    def problem(self, settings: SchedulingSettings, constants: Mapping[str, Any]) -> Problem:
        """One row for every machine and slot; options padded to those of the freest job."""
        from scipy.sparse import coo_array

        load = Load(tuple(constants["machines"]), tuple(Job(*job) for job in constants["jobs"]))
        slots, jobs = settings.slots, len(load.jobs)
        width = max(len(options_of(load, job)) for job in load.jobs)
        mask = np.zeros((jobs, width), dtype=bool)
        uses: list[tuple[int, int, float]] = []  # row, option, use
        costs: list[tuple[int, int, float]] = []  # option, slot, power
        for group, job in enumerate(load.jobs):
            for place, option in enumerate(options_of(load, job)):
                mask[group, place] = True
                flat = group * width + place
                for slot in range(option.start, option.start + job.duration):
                    uses.append((option.machine * slots + slot, flat, job.use))
                    costs.append((flat, slot, job.power))
        size = jobs * width
        row, column, use = zip(*uses, strict=True)
        flat_option, covered, power = zip(*costs, strict=True)
        return Problem.build(
            A=coo_array((use, (row, column)), shape=(len(load.machines) * slots, size)),
            b=np.repeat(np.array(load.machines, dtype=np.float64), slots),
            mask=mask,
            groups=jobs,
            parameters=coo_array((power, (flat_option, covered)), shape=(size, slots)),
            sense="minimise",
        ).limited(settings.limit)

    def label_scale(self, dataset: Dataset) -> float:
        """Return the standard deviation of the options' costs over the train days."""
        train = dataset.labels[dataset.rows("train")]
        values = dataset.problem.values(train)[:, dataset.problem.mask]
        spread = float(values.std())
        return spread if spread > 0 else 1.0

    def label_axis(self, settings: SchedulingSettings) -> LabelAxis:
        """Place each slot at the hour it starts."""
        return LabelAxis("hour of day", np.arange(settings.slots) * (24 / settings.slots))


def options_of(load: Load, job: Job) -> list[Option]:
    """List the ways to run a job on machines that can hold it, by machine and then by start."""
    return [
        Option(machine, start)
        for machine, capacity in enumerate(load.machines)
        if job.use <= capacity
        for start in job.starts
    ]


def _load(settings: SchedulingSettings, seed: int) -> Load:
    if settings.load == "survey":
        return SURVEY[settings.n]
    if settings.load == "icon":
        from dglbench_tasks import icon

        return icon.load(settings.load_number, settings.day)
    return drawn_load(settings.n, settings.slots, settings.machines, seed)


def _days(settings: SchedulingSettings, seed: int) -> tuple[Array, npt.NDArray[np.float64]]:
    """Return features (K, slots, 8) and prices (K, slots)."""
    if settings.source == "semo":
        from dglbench_tasks import semo

        released = semo.load()
        return released.features, released.values / released.weights
    if settings.source == "icon":
        from dglbench_tasks import icon

        return icon.days()
    from dglbench_tasks import market

    simulated = market.simulate(sum(settings.sizes), settings.slots, seed)
    prices = simulated.price
    if settings.noise:
        draws = stream(seed, "scheduling", "noise").standard_normal(prices.shape)
        prices = np.maximum(prices + settings.noise * draws, 0.0)
    return simulated.features, prices
