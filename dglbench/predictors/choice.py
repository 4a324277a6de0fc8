"""Predictors by name and options: ``mlp:hidden=16,layers=2``.

The canonical text leaves out what is at its default and keeps the order in which options are
declared, so that one configuration has one name.
"""

from __future__ import annotations

import dataclasses

from dglbench import options
from dglbench.errors import OptionError
from dglbench.plugins import PREDICTORS, find_plugin
from dglbench.predictors.base import Predictor
from dglbench.task import Dataset, Task

__all__ = ["check_predictor", "default_predictor", "find_predictor", "predictor_text"]


def find_predictor(text: str) -> Predictor:
    """Return the predictor that ``mlp:hidden=16`` names, or say what is wrong with it."""
    name, assignments = options.split_spec(text)
    cls: type[Predictor] = find_plugin(PREDICTORS, name).target
    given = options.parse_assignments(assignments, what="--predictor", example="mlp:hidden=16")
    return cls(options.parse(cls.Options, given, owner=f"predictor {cls.name}"))


def predictor_text(predictor: Predictor) -> str:
    """Return the canonical text of a predictor."""
    chosen = predictor.options
    left = [
        f"{field.name}={_written(getattr(chosen, field.name))}"
        for field in dataclasses.fields(chosen)
        if getattr(chosen, field.name) != field.default
    ]
    return f"{predictor.name}:{','.join(left)}" if left else predictor.name


def default_predictor(task: Task) -> str:
    """Return what a task is learnt by where nothing is said."""
    if task.has_predictor():
        return "task"
    return "cnn" if task.rows == "image" else "linear"


def check_predictor(text: str, task: Task, dataset: Dataset, setting: str) -> Predictor:
    """Return the predictor, or refuse one that cannot be built for a task's data."""
    predictor = find_predictor(text)
    reason = predictor.refuses(task, dataset)
    if reason:
        raise OptionError(
            f"predictor {text} does not fit {setting}: {reason}; `dglbench list --predictors` "
            "says which do."
        )
    return predictor


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
