"""What `fit` tries: every kind of run that the data allow, in the order of the first round.

A kind is a method with a predictor and a start. The accurate kinds train for accuracy and then
optimise; the decision-focused ones train for decisions. First come, predictor by predictor, a
baseline, the first decision-focused method and two-stage, so that even little time says something
of both sides: two-stage has epochs of its own and may take long, a baseline does not. Then come
the other methods from fresh weights, then all from the warm start.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dglbench.errors import DglbenchError
from dglbench.plugins import METHODS, find_method, plugins
from dglbench.predictors.choice import default_predictor, find_predictor, predictor_text
from dglbench.report.method_names import ACCURATE, BASELINES
from dglbench.sweep.request.space import Axis, default_ranges, read_axis
from dglbench.task import Dataset, Task
from dglbench.training.compatibility import check_fit
from dglbench.training.spec import RunSpec

__all__ = ["ACCURATE", "BASELINES", "Kind", "families", "kinds", "methods", "side"]

DECISION_FOCUSED = ("rdgl-newton", "rdgl-5", "spo", "qptl-dual")

_STARTS = ("fresh", "warm")
_MLP = "mlp"
_SIZES = ("mlp:hidden=16", "mlp:hidden=32", "mlp:hidden=64", "mlp:hidden=128")
"""Of the networks that later rounds draw from."""


def side(method: str) -> str:
    """Say what a method trains for: ``accurate`` or ``decision-focused``."""
    return "accurate" if method in ACCURATE else "decision-focused"


@dataclass(frozen=True)
class Kind:
    """Runs of one method with one family of predictors and one start."""

    spec: RunSpec
    """With the method's defaults: what the first round runs."""
    space: Mapping[str, Axis]
    """The options that later rounds draw."""
    predictors: tuple[str, ...] = ()
    """The predictors that later rounds draw; none if there is one."""
    seeded: bool = True
    """Whether another training seed makes another run."""

    @property
    def side(self) -> str:
        """What it trains for."""
        return side(self.spec.method)

    @property
    def own_epochs(self) -> bool:
        """Whether its epochs are its own: it is fitted at once, or trained for accuracy."""
        cls = find_method(self.spec.method).cls
        return cls.fits or cls.for_accuracy

    @property
    def varies(self) -> bool:
        """Whether there is more to try than its first run."""
        return self.seeded or bool(self.space) or bool(self.predictors)


def kinds(
    task: Task,
    dataset: Dataset,
    make_spec: Callable[[str, str], RunSpec],
    leave_out: Callable[[str, str], None],
) -> Iterator[Kind]:
    """Yield the kinds that fit the data.

    ``make_spec`` resolves a method with a predictor; ``leave_out`` is called with the name of what
    does not fit and the reason.
    """
    for method, predictor, start in _order(families(task, dataset)):
        spec = make_spec(method, predictor)
        if start is not None:
            spec = dataclasses.replace(spec, options=dataclasses.replace(spec.options, start=start))
        yield from _fitting(task, dataset, spec, leave_out)


def _order(predictors: Sequence[str]) -> Iterator[tuple[str, str, str | None]]:
    """Yield method, predictor and start, None where the method has no choice of start."""
    first = (DECISION_FOCUSED[0], _STARTS[0])
    for baseline, predictor in itertools.zip_longest(BASELINES, predictors):
        if baseline in methods():
            yield baseline, baseline, None  # its own predictor
        if predictor:
            yield first[0], predictor, first[1]
            yield "two-stage", predictor, None
    for start, method, predictor in itertools.product(_STARTS, DECISION_FOCUSED, predictors):
        if (method, start) != first:
            yield method, predictor, start


def methods() -> tuple[str, ...]:
    """Return the methods that are tried: the baselines where they are registered."""
    registered = {plugin.name for plugin in plugins(METHODS)}
    baselines = [method for method in BASELINES if method in registered]
    return (*baselines, "two-stage", *DECISION_FOCUSED)


def families(task: Task, dataset: Dataset) -> list[str]:
    """Return the task's own predictor, and a network with hidden layers where one can be built."""
    usual = default_predictor(task)
    network = find_predictor(_MLP)
    return [usual, *([] if usual == _MLP or network.refuses(task, dataset) else [_MLP])]


def _fitting(
    task: Task, dataset: Dataset, spec: RunSpec, leave_out: Callable[[str, str], None]
) -> Iterator[Kind]:
    try:
        check_fit(spec, dataset)
    except DglbenchError as error:
        leave_out(spec.method, str(error))
        return
    sizes = tuple(predictor_text(find_predictor(text)) for text in _SIZES)
    baseline = spec.method in BASELINES
    yield Kind(
        spec,
        _space(spec.method),
        sizes if spec.predictor == _MLP else (),
        seeded=not baseline,
    )


def _space(method: str) -> dict[str, Axis]:
    """Return the ranges of a method's options; the start is the kind's.

    Predictors act in units of the labels, so the ranges are the same for every task.
    """
    choice = find_method(method)
    options, fixed = choice.cls.Options, {"start", *choice.from_name}
    return {
        key: read_axis(options, method, key, written)
        for key, written in default_ranges(options, {}).items()
        if key not in fixed
    }
