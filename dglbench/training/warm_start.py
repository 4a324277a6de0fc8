"""The shared starting point: one MSE-trained predictor per dataset and kind of network.

Every warm run of a comparison starts from the same weights, so that only the loss differs; its
repeats too, which then differ by their batches alone. (Measured on matching-50, eight repeats of
rdgl-newton and spo on two data seeds: a start per repeat spread the results no further.)
The warm start is trained until validation MSE stops improving and cached beside the results; its
time is recorded separately from that of every run.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dglbench import atomic, options
from dglbench.predictors.choice import find_predictor
from dglbench.runs.code_hash import source_hash
from dglbench.streams import stream, torch_seed
from dglbench.task import Dataset, Task, TaskSpec
from dglbench.training.patience import Patience
from dglbench.training.predictor import (
    Step,
    fresh_predictor,
    predict,
    restore,
    saved_state,
    train_epoch,
)
from dglbench.training.process_state import training_state
from dglbench.training.spec import Protocol

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "WarmStart",
    "fresh_predictor",
    "load",
    "load_or_train",
    "mse_gradient",
    "save",
    "train_warm_start",
    "warm_start_id",
]

_EPOCHS = 500  # for a protocol that leaves the number open
_CACHED_NUMBERS = 1 << 15
"""How many numbers are worked on at once: 256 KB stay in a core's cache."""


@dataclass(frozen=True)
class WarmStart:
    """Trained weights and what training them cost."""

    weights: bytes
    """A saved state dict, loadable with ``weights_only=True``."""
    info: Mapping[str, Any]
    """id, spec, seconds, epochs, val_mse."""

    def apply(self, predictor: nn.Module) -> None:
        """Set the predictor's weights and buffers."""
        restore(predictor, self.weights)


def warm_start_id(
    predictor: str,
    task: Task,
    data: TaskSpec,
    protocol: Protocol,
    data_digest: str | None = None,
) -> str:
    """Name a warm start by a hash of everything that decides its weights."""
    canonical = json.dumps(
        {
            "data": _identity(data, data_digest),
            "lr": protocol.warm_start_lr,
            "epochs": protocol.warm_start_epochs or _EPOCHS,
            "patience": protocol.warm_start_patience,
            "batch_size": protocol.batch_size,
            "predictor": predictor,
            "source": source_hash(__name__, type(task), type(find_predictor(predictor))),
        },
        sort_keys=True,
    )
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def load_or_train(
    predictor: str,
    task: Task,
    dataset: Dataset,
    protocol: Protocol,
    cache: Path | None,
    data_digest: str | None = None,
) -> WarmStart:
    """Return the cached warm start, or train it and cache it with an atomic write."""
    name = warm_start_id(predictor, task, dataset.spec, protocol, data_digest)
    cached = load(name, cache) if cache else None
    if cached:
        return cached
    warm_start = train_warm_start(predictor, task, dataset, protocol, data_digest)
    if cache:
        save(warm_start, cache)
    return warm_start


def load(name: str, cache: Path) -> WarmStart | None:
    """Return the cached warm start with this id, if there is one that can be read."""
    import torch

    file = cache / "warm-starts" / f"{name}.pt"
    if not file.is_file():
        return None
    try:
        saved = torch.load(file, weights_only=True)
        return WarmStart(saved["weights"], saved["info"])
    except Exception:  # a damaged cache entry is replaced, whatever the damage
        file.unlink(missing_ok=True)
        return None


def save(warm_start: WarmStart, cache: Path) -> None:
    """Cache a warm start, whole or not at all."""
    import torch

    with atomic.atomic_path(cache / "warm-starts" / f"{warm_start.info['id']}.pt") as temporary:
        torch.save({"weights": warm_start.weights, "info": dict(warm_start.info)}, temporary)


def train_warm_start(
    predictor: str,
    task: Task,
    dataset: Dataset,
    protocol: Protocol,
    data_digest: str | None = None,
) -> WarmStart:
    """Train a warm start on one thread, whatever the runs use: its id has no thread count."""
    started = time.perf_counter()
    with training_state(threads=1, seed=torch_seed(dataset.spec.seed, "warm start", "torch")):
        network, epochs, val_mse = _train(predictor, task, dataset, protocol)
    info = {
        "id": warm_start_id(predictor, task, dataset.spec, protocol, data_digest),
        **_identity(dataset.spec, data_digest),
        "predictor": predictor,
        "seconds": time.perf_counter() - started,
        "epochs": epochs,
        "val_mse": val_mse,
    }
    return WarmStart(saved_state(network), info)


def _identity(data: TaskSpec, data_digest: str | None) -> dict[str, Any]:
    return {
        "task": data.task,
        "settings": options.as_dict(data.settings),
        "seed": data.seed,
        "digest": data_digest,
    }


def _train(
    name: str, task: Task, dataset: Dataset, protocol: Protocol
) -> tuple[nn.Module, int, float]:
    """Train with MSE until validation MSE has not improved for the patience.

    Without validation instances, training MSE decides.
    """
    import torch

    predictor = fresh_predictor(name, task, dataset)
    scale = task.label_scale(dataset)
    data = {
        split: (
            torch.from_numpy(dataset.part(dataset.features, split)),
            torch.from_numpy(dataset.part(dataset.labels, split)),
            torch.tensor(dataset.problem.take(rows).counted),
        )
        for split in ("train", "val")
        for rows in [dataset.rows(split)]
    }
    optimiser = torch.optim.Adam(predictor.parameters(), lr=protocol.warm_start_lr, fused=True)
    draws = stream(dataset.spec.seed, "warm start", "batches")
    features, labels, counted = data["train"]
    watched = data["val"] if len(data["val"][0]) else data["train"]
    patience = Patience(protocol.warm_start_patience)
    best_state = copy.deepcopy(predictor.state_dict())

    def step(rows: torch.Tensor, predictions: torch.Tensor) -> Step:
        gradient = mse_gradient(predictions.detach(), labels, counted, rows, scale)
        return Step(predictions, gradient)

    epoch, most = 0, protocol.warm_start_epochs or _EPOCHS
    while epoch < most:
        epoch += 1
        order = torch.from_numpy(draws.permutation(len(features)))
        batches = torch.split(order, protocol.batch_size)
        train_epoch(predictor, optimiser, features, batches, step, _untimed)
        error = _counted_error(predict(predictor, watched[0]), *watched[1:])
        if patience.improves(float(error.square().mean())):
            best_state = copy.deepcopy(predictor.state_dict())
        elif patience.ends:
            break
    predictor.load_state_dict(best_state)
    return predictor, epoch, patience.lowest


def _untimed(phase: str) -> AbstractContextManager[None]:
    """Time nothing: a warm start's seconds are counted as a whole."""
    return nullcontext()


def mse_gradient(
    predictions: torch.Tensor,
    labels: torch.Tensor,
    counted: torch.Tensor,
    rows: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Return the gradient of mean(((ŷ − y)/scale)²) over labels that count, bit for bit autograd's.

    Autograd would pass over a batch of large instances a dozen times; this works on one part at a
    time that fits into the cache. ``labels`` are of all instances, the predictions of ``rows``.
    """
    import torch

    by_instance = counted.ndim == labels.ndim
    everything = not by_instance and bool(counted.all())
    number = int(counted[rows].sum() if by_instance else counted.sum() * len(rows))
    gradient = torch.empty_like(predictions, dtype=torch.result_type(predictions, labels))
    step = max(_CACHED_NUMBERS // max(predictions[0].numel(), 1), 1)
    for start in range(0, len(rows), step):
        part, here = slice(start, start + step), rows[start : start + step]
        error = torch.sub(predictions[part], labels[here], out=gradient[part])
        error.div_(scale).mul_(2.0 * (1.0 / number)).div_(scale)
        if not everything:
            error.masked_fill_(~(counted[here] if by_instance else counted), 0.0)
    return gradient.to(predictions.dtype)


def _counted_error(
    predictions: torch.Tensor, labels: torch.Tensor, counted: torch.Tensor
) -> torch.Tensor:
    """Return the errors of the labels that count."""
    if (
        counted.ndim < labels.ndim and counted.all()
    ):  # selecting all of them would take half the step
        return (predictions - labels).flatten(1)
    if counted.ndim < labels.ndim:
        return predictions[:, counted] - labels[:, counted]
    return predictions[counted] - labels[counted]
