"""``dglbench generate --plot``: one instance and its optimum, as its task draws it.

A task without a picture of its own gets the distribution of its labels, by location or by
time of day.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.atomic import atomic_path
from dglbench.errors import DatasetError, OptionError
from dglbench.solvers import evaluation_solver
from dglbench.task import Dataset, LabelAxis, Shown, Task

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BLUE",
    "check_plot",
    "comparison_of",
    "first_test_instance",
    "look",
    "picture_of",
    "plot_dataset",
    "what_is_shown",
]

SUFFIXES = (".png", ".svg", ".pdf")

_FEW = 12  # positions that each get a violin; beyond, a violin has no room
_SHOWN = 20_000  # labels behind the violins' shapes
_DOTS_PER_INCH = 200
BLUE = "#0072B2"  # colour-blind safe (Okabe and Ito)
_QUANTILES = {"low": 0.05, "lower": 0.25, "middle": 0.5, "upper": 0.75, "high": 0.95}


def check_plot(task: Task, settings: Any, path: Path) -> None:
    """Refuse a picture that cannot be drawn, before any time is spent."""
    if path.suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"--plot takes a file that ends in {', '.join(SUFFIXES)}, got '{path.name}'."
        )
    if picture_of(task) is None and task.label_axis(settings) is None:
        raise OptionError(
            f"task {task.name} has no picture and does not give the positions of its values "
            "(label_axis), so there is nothing to draw; leave out --plot."
        )


def picture_of(task: Task) -> Callable[[Dataset, Shown], Any] | None:
    """Find the function that draws a task's instances; None if there is none."""
    if type(task).picture is not Task.picture:
        return task.picture
    module = _pictures_beside(task)
    return None if module is None else module.picture


def comparison_of(task: Task) -> Callable[[Dataset, Shown, Shown], str] | None:
    """Find the function that draws a decision on top of the optimum; None if there is none.

    It takes the dataset, the instance with its optimum and the instance with the decision taken,
    and returns an SVG of a few kilobytes: the report's page holds a dozen.
    """
    return getattr(_pictures_beside(task), "comparison", None)


def _pictures_beside(task: Task) -> Any:
    """Return the module of the task's name in ``pictures`` beside the task's, None without one."""
    package, _, stem = type(task).__module__.rpartition(".")
    folder = f"{package}.pictures"
    if not package or find_spec(folder) is None or find_spec(f"{folder}.{stem}") is None:
        return None
    return import_module(f"{folder}.{stem}")


def plot_dataset(task: Task, dataset: Dataset, path: Path) -> None:
    """Draw what the task draws of the first test instance, or else the labels."""
    check_plot(task, dataset.spec.settings, path)
    draw = picture_of(task)
    if draw is None:
        _save(_labels(task, dataset), path)
    else:
        _save(draw(dataset, first_test_instance(task, dataset)), path)


def first_test_instance(task: Task, dataset: Dataset) -> Shown:
    """Solve the first test instance exactly."""
    row = int(dataset.rows("test")[0])
    problem, labels = dataset.problem, dataset.labels[[row]]
    values = problem.values(labels)
    decision = evaluation_solver(task, problem).decide(values, rows=[row])
    return Shown(row, labels[0], decision[0], float(problem.objective(values, decision)[0]))


def what_is_shown(dataset: Dataset) -> str:
    """Name the instance in a picture's title."""
    return f"{dataset.spec.setting_name}, seed {dataset.spec.seed}: the first test instance"


def look(width: float, height: float, **changes: Any) -> Any:
    """Return the theme that pictures share."""
    import plotnine as p9

    return p9.theme_minimal(base_size=10) + p9.theme(
        figure_size=(width, height),
        panel_grid_minor=p9.element_blank(),
        plot_title=p9.element_text(size=10.5),
        plot_subtitle=p9.element_text(colour="#555555", size=8.5),
        **changes,
    )


def _labels(task: Task, dataset: Dataset) -> Any:
    """Draw the distribution of the labels at each position, over all instances."""
    import plotnine as p9

    axis: Any = task.label_axis(dataset.spec.settings)
    values = _existing(dataset)
    positions = np.unique(axis.positions)
    few = len(positions) <= _FEW
    intervals = _intervals(values, axis, positions)
    mapping = p9.aes("factor(position)" if few else "position")
    plot = (
        p9.ggplot(intervals, mapping)
        + (_violins(values, axis) if few else [])
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), colour=BLUE, size=0.6)
        + p9.geom_linerange(p9.aes(ymin="lower", ymax="upper"), colour=BLUE, size=2.2)
        + p9.geom_point(p9.aes(y="middle"), colour=BLUE, fill="white", size=1.7, stroke=0.6)
        + p9.labs(
            x=axis.title,
            y="true value (label)" if dataset.problem.sense == "maximise" else "true cost (label)",
            title=f"{dataset.spec.setting_name}, seed {dataset.spec.seed}",
            subtitle=f"{len(values):,} instances; dot: median, bars: middle 50 % and 90 %",
        )
        + look(
            max(4.5, 1.3 + 0.55 * len(positions)) if few else 7.0,
            3.6,
            panel_grid_major_x=p9.element_blank(),
        )
    )
    if not few and axis.title == "hour of day":
        plot += p9.scale_x_continuous(breaks=list(range(0, 25, 3)))
    return plot


def _existing(dataset: Dataset) -> Any:
    """Return what is predicted as (K, P), NaN where an instance has no such option."""
    problem = dataset.problem
    values = problem.pack(dataset.labels)
    if problem.counted.ndim == dataset.labels.ndim:
        values = np.where(problem.counted[:, problem.predicted], values, np.nan)
    return values


def _intervals(values: Any, axis: LabelAxis, positions: Any) -> pd.DataFrame:
    import pandas as pd

    rows = [
        np.nanquantile(values[:, axis.positions == position], list(_QUANTILES.values()))
        for position in positions
    ]
    frame = pd.DataFrame(np.array(rows), columns=list(_QUANTILES))
    return frame.assign(position=positions)


def _violins(values: Any, axis: LabelAxis) -> list[Any]:
    import pandas as pd
    import plotnine as p9

    step = max(1, values.size // _SHOWN)
    shown = pd.DataFrame(
        {
            "position": np.tile(axis.positions, len(values))[::step],
            "label": values.ravel()[::step],
        }
    ).dropna()
    shape = p9.aes("factor(position)", "label")
    return [
        p9.geom_violin(shape, shown, fill="#D6E6F2", colour="none", width=0.8, inherit_aes=False)
    ]


def _save(plot: Any, path: Path) -> None:
    from plotnine.exceptions import PlotnineWarning

    try:
        with warnings.catch_warnings(), atomic_path(path) as temporary:
            # plotnine calls pandas in ways that pandas is about to drop; that is not ours to fix.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", PlotnineWarning)  # "Saving 7 x 4 in image"
            plot.save(temporary, format=path.suffix[1:].lower(), dpi=_DOTS_PER_INCH)
    except OSError as error:
        raise DatasetError(
            f"{path} could not be written: {error.strerror or error}; choose another --plot."
        ) from error
