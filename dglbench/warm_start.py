"""The shared starting point: one MSE-trained predictor per task, size and seed.

Every decision-focused run of a comparison starts from the same weights, so that
what differs is the loss. The warm start is trained until validation MSE stops
improving, cached beside the results, and its time kept apart from every run's.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench import atomic, options, provenance
from dglbench.runs import Protocol
from dglbench.streams import stream, torch_seed
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["WarmStart", "fresh_predictor", "load_or_train", "warm_start_id"]


@dataclass(frozen=True)
class WarmStart:
    """Trained weights and what they cost."""

    weights: bytes
    """A saved state dict, loadable with ``weights_only=True``."""
    info: Mapping[str, Any]
    """id, spec, seconds, epochs, val_mse."""

    def apply(self, predictor: nn.Module) -> None:
        """Set the predictor's weights."""
        import torch

        predictor.load_state_dict(torch.load(io.BytesIO(self.weights), weights_only=True))


def fresh_predictor(task: Task, dataset: Dataset) -> nn.Module:
    """Build the predictor with weights from the seed's ``init`` stream."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(dataset.spec.seed, "init"))
        return task.predictor(dataset)


def warm_start_id(task: Task, dataset_identity: Mapping[str, Any], protocol: Protocol) -> str:
    """Name a warm start by everything that decides its weights."""
    canonical = json.dumps(
        {
            "data": dataset_identity,
            "lr": protocol.warm_start_lr,
            "epochs": protocol.warm_start_epochs,
            "patience": protocol.warm_start_patience,
            "batch_size": protocol.batch_size,
            "source": provenance.source_hash(type(task)),
        },
        sort_keys=True,
    )
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def load_or_train(
    task: Task,
    dataset: Dataset,
    protocol: Protocol,
    cache: Path | None,
    data_digest: str | None = None,
) -> WarmStart:
    """Return the cached warm start, or train it and cache it with an atomic write."""
    import torch

    identity = {
        "task": dataset.spec.task,
        "settings": options.as_dict(dataset.spec.settings),
        "seed": dataset.spec.seed,
        "digest": data_digest,
    }
    name = warm_start_id(task, identity, protocol)
    file = cache / "warm-starts" / f"{name}.pt" if cache else None
    if file and file.is_file():
        try:
            saved = torch.load(file, weights_only=True)
            return WarmStart(saved["weights"], saved["info"])
        except Exception:  # a damaged cache entry is replaced, whatever the damage
            file.unlink(missing_ok=True)
    started = time.perf_counter()
    predictor, epochs, val_mse = _train(task, dataset, protocol)
    seconds = time.perf_counter() - started
    info = {"id": name, **identity, "seconds": seconds, "epochs": epochs, "val_mse": val_mse}
    warm_start = WarmStart(_saved(predictor.state_dict()), info)
    if file:
        with atomic.atomic_path(file) as temporary:
            torch.save({"weights": warm_start.weights, "info": dict(info)}, temporary)
    return warm_start


def _train(task: Task, dataset: Dataset, protocol: Protocol) -> tuple[nn.Module, int, float]:
    """Train with MSE until validation MSE has not improved for the patience."""
    import torch

    predictor = fresh_predictor(task, dataset)
    predicted = torch.tensor(dataset.problem.predicted)
    scale = task.label_scale(dataset)
    data = {
        split: (
            torch.from_numpy(dataset.features[rows]),
            torch.from_numpy(dataset.labels[rows])[:, predicted],
        )
        for split in ("train", "val")
        for rows in [dataset.rows(split)]
    }
    optimiser = torch.optim.Adam(predictor.parameters(), lr=protocol.warm_start_lr, fused=True)
    draws = stream(dataset.spec.seed, "warm start", "batches")
    features, labels = data["train"]
    best, best_epoch, best_state = np.inf, 0, copy.deepcopy(predictor.state_dict())
    for epoch in range(1, protocol.warm_start_epochs + 1):
        for rows in torch.from_numpy(draws.permutation(len(features))).split(protocol.batch_size):
            error = predictor(features[rows])[:, predicted] - labels[rows]
            loss = (error / scale).square().mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            val = float((predictor(data["val"][0])[:, predicted] - data["val"][1]).square().mean())
        if val < best:
            best, best_epoch, best_state = val, epoch, copy.deepcopy(predictor.state_dict())
        elif epoch - best_epoch >= protocol.warm_start_patience:
            break
    predictor.load_state_dict(best_state)
    return predictor, epoch, best


def _saved(state: dict[str, torch.Tensor]) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()
