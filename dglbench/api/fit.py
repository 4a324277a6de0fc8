"""A fit from Python: ``dglbench.fit`` is ``dglbench fit``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dglbench.api.progress import Told, fit_bar
from dglbench.api.results import load
from dglbench.errors import DatasetError
from dglbench.fitting.execute import Ask, run_fit
from dglbench.fitting.intake import Given, from_arrays, from_dataset, from_sources
from dglbench.problem import Array, Problem
from dglbench.task import Dataset
from dglbench.training.apply import TrainedPredictor
from dglbench.training.calibration import Expected

if TYPE_CHECKING:
    import polars as pl

    from dglbench.fitting.execute import Fitted

__all__ = ["FittedModel", "fit"]


class FittedModel:
    """The model that a fit chose, and what the fit found."""

    def __init__(self, fitted: Fitted, folder: Path) -> None:
        self._fitted = fitted
        self.folder = folder
        """Where model, verdict and runs are."""

    def __repr__(self) -> str:
        return f"FittedModel({self._fitted.verdict.chosen.name}, {str(self.folder)!r})"

    def __str__(self) -> str:
        return "\n".join(self._fitted.verdict.sentences())

    @property
    def trained(self) -> TrainedPredictor:
        """The chosen run, with its network and the data it was trained on."""
        return self._fitted.model

    @property
    def verdict(self) -> dict[str, Any]:
        """What ``verdict.json`` holds; ``print(model)`` says it in words."""
        return self._fitted.verdict.document()

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run, as `dglbench.load` has them."""
        return load(self.folder).runs

    def predict(self, features: npt.ArrayLike) -> Array:
        """Predict in the unit and the shape of the labels that were given."""
        return self._as_given(self.trained.predict(features))

    def decide(
        self,
        features: npt.ArrayLike,
        *,
        A: Any = None,
        b: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
    ) -> Array:
        """Return the exact decisions for features, as 0 and 1 in the shape of the labels.

        A, b and mask are those of the new instances, where they differ by instance.
        """
        given = not (A is None and b is None and mask is None)
        problem = self.trained.vary(b, mask, A=A) if given else None
        predictions = self.trained.predict(features)
        return self._as_given(self.trained.decide(predictions, problem))

    def expect(self, features: npt.ArrayLike) -> Expected | None:
        """Return what the decisions for features are worth on average, by validation's line."""
        calibration, predictions = self.trained.calibration, self.trained.predict(features)
        if calibration is None:
            return None
        decisions = self.trained.decide(predictions)
        return calibration.expect(self.trained.promised(predictions, decisions))

    def _as_given(self, array: Array) -> Array:
        """Leave out the option *leave* of items, which arrays of one's own do not have."""
        return array[..., 0] if self.trained.dataset.constants.get("items") else array


def fit(
    data: str | Path | Dataset | Mapping[str, Any],
    problem: Problem | None = None,
    *,
    minutes: float | None = None,
    runs: int | None = None,
    split: str | None = None,
    jobs: int = 1,
    solver: str | None = None,
    out: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
    progress: bool = True,
) -> FittedModel:
    """Fit the best model for the decisions, as ``dglbench fit`` does, and return it.

    ``data`` are arrays by name (``features``, ``labels``, ``A``, ``b`` and the others of
    docs/own-data.md), a `Dataset`, a file or folder, or a bundled setting such as
    ``"matching-50"``. A ``problem`` takes the place of ``A``, ``b`` and the other constraints.
    It takes ``minutes`` (5 by default), or makes a number of ``runs``, which with the same data
    give the same model whatever ``jobs``. With ``out`` the same call goes on where it stopped;
    without, the runs are kept in a temporary folder. ``tell`` gets a line when the best changes;
    ``progress`` shows a bar, in a terminal or a notebook, or prints lines in a notebook without
    ipywidgets. With ``jobs`` runs are made in other processes: keep the call below
    ``if __name__ == "__main__":``.
    """
    folder = Path(tempfile.mkdtemp(prefix="dglbench-fit-")) if out is None else Path(out)
    ask = Ask(folder, minutes, runs, jobs, solver)
    given = _given(data, problem, split)
    with fit_bar(tell) if progress else nullcontext(Told(tell)) as show:
        fitted = run_fit(given, ask, show)
    if fitted.interrupted:
        raise KeyboardInterrupt
    return FittedModel(fitted, folder)


def _given(data: Any, problem: Problem | None, split: str | None) -> Given:
    if isinstance(data, Mapping):
        return from_arrays(data, problem, split=split)
    if problem is not None:
        raise DatasetError(
            "a problem goes with arrays, {'features': …, 'labels': …}; files and datasets bring "
            "theirs: leave it out."
        )
    if isinstance(data, Dataset):
        return from_dataset(data)
    return from_sources([str(data)], split=split)
