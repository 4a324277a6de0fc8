"""The schedule as a Gantt chart, a lane for each machine, above the prices it follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.data.plot import BLUE, look, what_is_shown
from dglbench.task import Dataset, Shown
from dglbench_tasks.scheduling import options_of
from dglbench_tasks.scheduling_loads import Job, Load

__all__ = ["picture", "schedule"]


def schedule(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return each job with its machine, start and end (slots), power, use and track.

    Jobs that run on one machine at the same time lie on different tracks of its lane.
    """
    machines, jobs = dataset.constants["machines"], dataset.constants["jobs"]
    load = Load(tuple(machines), tuple(Job(*job) for job in jobs))
    rows = []
    for number, job in enumerate(load.jobs):
        option = options_of(load, job)[int(shown.decision[number].argmax())]
        rows.append((number + 1, *option, option.start + job.duration, job.power, job.use))
    frame = pd.DataFrame(rows, columns=["job", "machine", "start", "end", "power", "use"])
    frame = frame.sort_values(["machine", "start", "end"], ignore_index=True)
    free: dict[int, list[int]] = {}  # when each track of a machine is free again
    tracks = []
    for machine, start, end in zip(frame["machine"], frame["start"], frame["end"], strict=True):
        ends = free.setdefault(machine, [])
        track = next((t for t, until in enumerate(ends) if until <= start), len(ends))
        ends[track : track + 1] = [end]
        tracks.append(track)
    return frame.assign(track=tracks)


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw bars over the hours of the day, darker the more power a job draws; prices below."""
    frame = schedule(dataset, shown)
    slots = dataset.spec.settings.slots
    hour = 24 / slots
    machines = len(dataset.constants["machines"])
    tracks = frame.groupby("machine")["track"].max().reindex(range(machines)).fillna(0) + 1
    floor = np.concatenate([[0.0], np.cumsum(tracks + 0.4)])  # where each lane begins
    frame["low"] = floor[frame["machine"]] + frame["track"] + 0.08
    frame["high"] = frame["low"] + 0.84
    frame[["start_hour", "end_hour"]] = frame[["start", "end"]] * hour
    frame["ink"] = np.where(frame["power"] > 0.6 * frame["power"].max(), "white", "#222222")
    hours = p9.scale_x_continuous(breaks=list(range(0, 25, 3)), limits=(0, 24), expand=(0, 0.2))
    height = 2 * max(2.3, 0.9 + 0.2 * float(floor[-1]))
    theme = look(7.4, height)
    gantt = (
        p9.ggplot(frame)
        + p9.geom_hline(yintercept=list(floor[1:-1] - 0.2), colour="#BBBBBB", size=0.4)
        + p9.geom_rect(
            p9.aes(xmin="start_hour", xmax="end_hour", ymin="low", ymax="high", fill="power"),
            colour="white",
            size=0.4,
        )
        + p9.geom_text(
            p9.aes("(start_hour + end_hour) / 2", "(low + high) / 2", label="job", colour="ink"),
            size=7,
        )
        + p9.scale_colour_identity()
        + p9.scale_fill_gradient("#D6E6F2", BLUE, name="power")
        + hours
        + p9.scale_y_reverse(
            breaks=list((floor[:-1] + floor[1:] - 0.4) / 2),
            labels=[f"machine {machine + 1}" for machine in range(machines)],
        )
        + p9.labs(
            x="",
            y="",
            title=what_is_shown(dataset),
            subtitle=f"the cheapest schedule of the {len(frame)} jobs costs {shown.optimum:,.0f}",
        )
        + theme
        + p9.theme(panel_grid_major_y=p9.element_blank())
    )
    return gantt / (_prices(shown, hour) + hours + theme)


def _prices(shown: Shown, hour: float) -> Any:
    price = np.append(shown.labels, shown.labels[-1])  # the last step has a width too
    steps = pd.DataFrame({"hour": np.arange(len(price)) * hour, "price": price})
    return (
        p9.ggplot(steps, p9.aes("hour", "price"))
        + p9.geom_step(colour=BLUE, size=0.9)
        + p9.expand_limits(y=0)
        + p9.labs(x="hour of day", y="true price")
    )
