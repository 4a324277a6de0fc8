"""``--search optuna``: configurations from Optuna's tree-structured Parzen estimator.

Watanabe (2023), *Tree-Structured Parzen Estimator*. The first configuration is the method's own
defaults, so that a search never ends with less than what a run without one would take; the others
are drawn. Configurations are asked for in batches of
four and told in the order asked once the whole batch has ended, from a seed of their own: so what
is suggested depends on the results alone, not on how many run at once or how often the sweep was
stopped. A resumed sweep asks again and finds the answers in its folder; with more trials it goes on
where the shorter search ended.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dglbench.runs.record import RunRecord
from dglbench.runs.selection import validation_regret
from dglbench.streams import repetition, stream
from dglbench.sweep.request.space import Axis, Range
from dglbench.training.spec import RunSpec

if TYPE_CHECKING:
    import optuna

__all__ = ["Tpe"]

_BATCH = 4
# Tried before the estimator takes over, the defaults among them; fixed, so that more trials extend
# a search.
_BEFORE_GUESSING = 8

_IN_RANGE = "in the range"


def _where(key: str) -> str:
    """Name the choice between a range and the values beside it."""
    return f"{key} is"


class Tpe:
    """A number of configurations, each batch suggested from the results before it."""

    def __init__(self, base: RunSpec, space: Mapping[str, Axis], trials: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        words = ("search", base.method, *repetition(base.train_seed))
        seed = int(stream(base.data.seed, *words).integers(2**32))
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_BEFORE_GUESSING)
        self._study = optuna.create_study(sampler=sampler)
        self._study.enqueue_trial(_defaults(base, space))
        self._base, self._space = base, space
        self._trials = trials
        self._open: list[optuna.Trial] = []
        self._asked = 0

    @property
    def upcoming(self) -> int:
        """How many configurations were not asked for yet."""
        return self._trials - self._asked

    def first(self) -> list[RunSpec]:
        """Return the first batch."""
        return self._ask()

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Tell how a batch ended and return the next one."""
        import optuna

        for trial, record in zip(self._open, ended, strict=True):
            regret = validation_regret(record)
            if math.isfinite(regret):
                self._study.tell(trial, regret)
            else:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return self._ask()

    def _ask(self) -> list[RunSpec]:
        size = min(_BATCH, self._trials - self._asked)
        self._asked += size
        self._open = [self._study.ask() for _ in range(size)]
        return [self._spec(trial) for trial in self._open]

    def _spec(self, trial: optuna.Trial) -> RunSpec:
        drawn = {key: _draw(trial, key, axis) for key, axis in self._space.items()}
        changed = dataclasses.replace(self._base.options, **drawn)
        return dataclasses.replace(self._base, options=changed)


def _defaults(base: RunSpec, space: Mapping[str, Axis]) -> dict[str, Any]:
    """Write the method's own values as Optuna's; one that is outside the space is drawn."""
    said: dict[str, Any] = {}
    for key, axis in space.items():
        value = getattr(base.options, key)
        if not isinstance(axis, Range):
            said |= {key: value} if value in axis else {}
        elif value in axis.also:
            said[_where(key)] = value
        elif axis.low <= value <= axis.high:
            said |= {key: value} | ({_where(key): _IN_RANGE} if axis.also else {})
    return said


def _draw(trial: optuna.Trial, key: str, axis: Axis) -> Any:
    """Let the trial choose a value; a number has three digits, to be read and typed."""
    if not isinstance(axis, Range):
        return trial.suggest_categorical(key, list(axis))
    if axis.also:
        where = trial.suggest_categorical(_where(key), [_IN_RANGE, *axis.also])
        if not isinstance(where, str):
            return where
    drawn = trial.suggest_float(key, axis.low, axis.high, log=axis.scale == "log")
    return axis.rounded(drawn)
