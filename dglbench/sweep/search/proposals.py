"""Which configurations a search tries, in which order: listed, drawn, or suggested by results.

``optuna`` is Optuna's tree-structured Parzen estimator (Watanabe 2023, *Tree-Structured Parzen
Estimator*): its first configuration is the method's own defaults, the next seven are drawn, the
others suggested from the results of the batches before. ``random`` draws every configuration, so
that any of its trials might have come first: the tuning curve is an expectation over their order.
Both draw from a stream of their own and are told results in the order asked: what is tried depends
on the results alone, not on how many run at once or how often the sweep was stopped. With more
trials they go on where a shorter search ended.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dglbench.streams import stream
from dglbench.sweep.request.space import Axis, Range
from dglbench.training.spec import RunSpec

if TYPE_CHECKING:
    import optuna

__all__ = ["Drawn", "Listed", "Proposals"]

_BATCH = 4
# Tried before the estimator takes over, the defaults among them; fixed, so that more trials extend
# a search.
_BEFORE_GUESSING = 8

_IN_RANGE = "in the range"


class Proposals(Protocol):
    """Configurations, batch by batch."""

    @property
    def left(self) -> int:
        """How many configurations were not asked for yet."""

    def ask(self) -> list[Any]:
        """Return the options of the next trials, [] if there are none."""

    def tell(self, regrets: Sequence[float]) -> None:
        """Take the validation regrets of the last batch, infinite for failures."""


class Listed:
    """A given list of configurations, all at once."""

    def __init__(self, configurations: Sequence[Any]) -> None:
        self._configurations = list(configurations)

    @property
    def left(self) -> int:
        """How many configurations were not asked for yet."""
        return len(self._configurations)

    def ask(self) -> list[Any]:
        """Return all of them, once."""
        asked, self._configurations = self._configurations, []
        return asked

    def tell(self, regrets: Sequence[float]) -> None:
        """Nothing depends on results."""


class Drawn:
    """A number of configurations from Optuna: drawn (``random``) or suggested (``optuna``)."""

    def __init__(self, kind: str, base: RunSpec, space: Mapping[str, Axis], trials: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        seed = int(stream(base.data.seed, "search", base.method).integers(2**32))
        guided = kind == "optuna"
        self._study = optuna.create_study(
            sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=_BEFORE_GUESSING)
            if guided
            else optuna.samplers.RandomSampler(seed=seed)
        )
        if guided:
            self._study.enqueue_trial(_defaults(base, space))
        self._options, self._space = base.options, space
        self._batch = _BATCH if guided else trials
        self._open: list[optuna.Trial] = []
        self._left = trials

    @property
    def left(self) -> int:
        """How many configurations were not asked for yet."""
        return self._left

    def ask(self) -> list[Any]:
        """Return the next batch."""
        size = min(self._batch, self._left)
        self._left -= size
        self._open = [self._study.ask() for _ in range(size)]
        return [self._configuration(trial) for trial in self._open]

    def tell(self, regrets: Sequence[float]) -> None:
        """Report how a batch ended."""
        import optuna

        for trial, regret in zip(self._open, regrets, strict=True):
            if math.isfinite(regret):
                self._study.tell(trial, regret)
            else:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)

    def _configuration(self, trial: optuna.Trial) -> Any:
        drawn = {key: _draw(trial, key, axis) for key, axis in self._space.items()}
        return dataclasses.replace(self._options, **drawn)


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


def _where(key: str) -> str:
    """Name the choice between a range and the values beside it."""
    return f"{key} is"
