"""``dglbench generate --plot``: what the labels look like, by location or by time of day."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.atomic import atomic_path
from dglbench.errors import DatasetError, OptionError
from dglbench.task import Dataset, LabelAxis, Task

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_plot", "plot_labels"]

SUFFIXES = (".png", ".svg", ".pdf")

_FEW = 12  # positions that each get a violin; beyond, a violin has no room
_SHOWN = 20_000  # labels behind the violins' shapes
_DOTS_PER_INCH = 200
_BLUE = "#0072B2"  # colour-blind safe (Okabe and Ito)
_QUANTILES = {"low": 0.05, "lower": 0.25, "middle": 0.5, "upper": 0.75, "high": 0.95}


def check_plot(task: Task, settings: Any, path: Path) -> LabelAxis:
    """Refuse a picture that cannot be drawn, before any time is spent."""
    if path.suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"--plot takes a file that ends in {', '.join(SUFFIXES)}, got '{path.name}'."
        )
    axis = task.label_axis(settings)
    if axis is None:
        raise OptionError(
            f"task {task.name} does not say where its values live (label_axis), so there is "
            "nothing to draw; leave out --plot."
        )
    return axis


def plot_labels(task: Task, dataset: Dataset, path: Path) -> None:
    """Draw the distribution of the labels at each position, over all instances."""
    import plotnine as p9

    axis = check_plot(task, dataset.spec.settings, path)
    values = _existing(dataset)
    positions = np.unique(axis.positions)
    few = len(positions) <= _FEW
    intervals = _intervals(values, axis, positions)
    mapping = p9.aes("factor(position)" if few else "position")
    plot = (
        p9.ggplot(intervals, mapping)
        + (_violins(values, axis) if few else [])
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), colour=_BLUE, size=0.6)
        + p9.geom_linerange(p9.aes(ymin="lower", ymax="upper"), colour=_BLUE, size=2.2)
        + p9.geom_point(p9.aes(y="middle"), colour=_BLUE, fill="white", size=1.7, stroke=0.6)
        + p9.labs(
            x=axis.title,
            y="true value (label)" if dataset.problem.sense == "maximise" else "true cost (label)",
            title=f"{dataset.spec.setting_name}, seed {dataset.spec.seed}",
            subtitle=f"{len(values):,} instances; dot: median, bars: middle 50 % and 90 %",
        )
        + p9.theme_minimal(base_size=10)
        + p9.theme(
            figure_size=(max(4.5, 1.3 + 0.55 * len(positions)) if few else 7.0, 3.6),
            panel_grid_minor=p9.element_blank(),
            panel_grid_major_x=p9.element_blank(),
            plot_subtitle=p9.element_text(colour="#555555", size=8.5),
        )
    )
    if not few and axis.title == "hour of day":
        plot += p9.scale_x_continuous(breaks=list(range(0, 25, 3)))
    _save(plot, path)


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
    try:
        with warnings.catch_warnings(), atomic_path(path) as temporary:
            # plotnine calls pandas in ways that pandas is about to drop; not ours to mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            plot.save(temporary, format=path.suffix[1:].lower(), dpi=_DOTS_PER_INCH, verbose=False)
    except OSError as error:
        raise DatasetError(
            f"{path} could not be written: {error.strerror or error}; choose another --plot."
        ) from error
