"""Whole runs on a problem and on its image: mirrored, or in another unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dglbench.conformance.probes import Probe
from dglbench.data.importing import import_arrays
from dglbench.options import describe
from dglbench.plugins import MethodChoice
from dglbench.problem import Array
from dglbench.streams import stream
from dglbench.sweep.request.specs import single_run
from dglbench.training.learner import Learner

__all__ = ["Trace", "image_difference"]

_SIZES = {"train": 24, "val": 4, "test": 4}
_EPOCHS = 3


class Trace(NamedTuple):
    """What came of a run: its losses by epoch, and its predictions at the end.

    Both are in units of the labels and of what is maximised.
    """

    losses: Array
    predictions: Array


def image_difference(
    choice: MethodChoice, given: Mapping[str, Any], probe: Probe, factor: float
) -> float:
    """Return how far a run on labels times ``factor`` is from being the image of the run itself.

    Below 0 the sense is swapped too, and initial weights are mirrored.
    """
    one = _trained(choice, given, probe, 1.0)
    image = _trained(choice, given, probe, factor)
    shares = [
        float(np.abs(there - here).max(initial=0.0))
        / max(float(np.abs(here).max(initial=0.0)), 1e-9)
        for here, there in zip(one, image, strict=True)
    ]
    return max(shares)


def _trained(choice: MethodChoice, given: Mapping[str, Any], probe: Probe, factor: float) -> Trace:
    import torch

    count = sum(_SIZES.values())
    draws = stream(0, "conformance", probe.name, "features")
    features = draws.normal(size=(count, 4))
    shape = (count, *probe.problem.label_shape)
    slope = draws.normal(size=(4, int(np.prod(shape[1:]))))
    labels = (features @ slope + draws.normal(size=(count, slope.shape[1]))).reshape(shape)
    dataset = import_arrays(
        {
            **probe.arrays,
            "features": features,
            "labels": factor * labels,
            "split": np.repeat(list(_SIZES), list(_SIZES.values())),
            "sense": "maximise" if factor > 0 else "minimise",
        },
        name="conformance",
    )
    known = {info.name for info in describe(choice.cls.Options)}
    fresh = {"start": "fresh"} if "start" in known else {}
    spec = single_run(
        dataset,
        choice.name,
        options={**fresh, **given},
        predictor=None if choice.cls.fits else "linear",
        batch_size=8,
        epochs=_EPOCHS,
    )
    learner = Learner(spec, dataset, None)
    with torch.no_grad():
        for weight in learner.predictor.parameters():
            weight.mul_(float(np.sign(factor)))
    learner.set_up()
    epochs = 0 if choice.cls.fits else _EPOCHS
    losses = np.array([learner.epoch()[0] for _ in range(epochs)])
    return Trace(losses, learner.predict().numpy())
