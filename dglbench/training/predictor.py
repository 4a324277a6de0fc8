"""A run's predictor: how it is built, stepped, asked without gradient, saved and restored.

A predictor is in training mode inside `train_epoch` and nowhere else, so dropout acts on
training steps alone and batch norm learns from training instances alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dglbench.predictors.checks import build_predictor, check_answer
from dglbench.predictors.choice import find_predictor
from dglbench.streams import repetition, torch_seed
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "Step",
    "evaluating",
    "fresh_predictor",
    "predict",
    "restore",
    "saved_state",
    "train_epoch",
]


_CHUNK_INSTANCES, _CHUNK_NUMBERS = 128, 1 << 18
"""At most how many instances, and how many numbers of features, are predicted at once."""


class Step(NamedTuple):
    """Where the backward pass of one batch begins."""

    root: torch.Tensor
    """A scalar loss, or anything with the gradient below."""
    gradient: torch.Tensor | None = None
    """Of the loss in ``root``, where it is known; None if ``root`` is the loss."""


def fresh_predictor(predictor: str, task: Task, dataset: Dataset, train_seed: int = 0) -> nn.Module:
    """Build a predictor with weights from the seed's ``init`` stream, and check its answer."""
    import torch

    chosen = find_predictor(predictor)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(dataset.spec.seed, "init", *repetition(train_seed)))
        network = build_predictor(chosen, task, dataset)
        check_answer(chosen, task, dataset, network)
    return network


def train_epoch(
    predictor: nn.Module,
    optimiser: torch.optim.Optimizer,
    features: torch.Tensor,
    batches: Iterable[torch.Tensor],
    step: Callable[[torch.Tensor, torch.Tensor], Step],
    phase: Callable[[str], AbstractContextManager[None]],
) -> None:
    """Take one optimiser step per batch of rows.

    ``step`` gets the rows and the predictions for them; ``phase`` times the forward pass as
    ``predict`` and everything after ``step`` as ``backward``.
    """
    import torch

    predictor.train()
    weights = list(predictor.parameters())
    for rows in batches:
        inputs = features.index_select(0, rows)
        with phase("predict"):
            predictions = predictor(inputs)
        root, gradient = step(rows, predictions)
        with phase("backward"):
            for weight in weights:  # `Optimizer.zero_grad` takes as long as a small backward pass
                weight.grad = None
            torch.autograd.backward(root, gradient)
            optimiser.step()


@contextmanager
def evaluating(predictor: nn.Module) -> Iterator[None]:
    """Ask a predictor in evaluation mode and without gradient, then restore its mode."""
    import torch

    was_training = predictor.training
    predictor.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        predictor.train(was_training)


def predict(predictor: nn.Module, features: torch.Tensor) -> torch.Tensor:
    """Predict for any number of instances, in evaluation mode and float64, chunk by chunk.

    Memory stays that of a chunk, beside the answer. Every chunk has the same number of
    instances, the last one repeated where there are too few: torch chooses its kernels by shape,
    and so an instance's prediction is the same to the last bit in whatever company it is asked.
    """
    import torch

    kind = next((weight.dtype for weight in predictor.parameters()), features.dtype)
    size = min(max(_CHUNK_NUMBERS // max(features[0].numel(), 1), 1), _CHUNK_INSTANCES)
    answers: torch.Tensor | None = None
    with evaluating(predictor):
        for first in range(0, len(features), size):
            part = features[first : first + size]
            missing = size - len(part)
            filled = part
            if missing:
                filled = torch.cat([part, part[-1:].expand(missing, *part.shape[1:])])
            answer = predictor(filled.to(kind))
            if answers is None:  # once and whole: many small ones would tear the heap to pieces
                answers = answer.new_empty((len(features), *answer.shape[1:]), dtype=torch.float64)
            answers[first : first + len(part)] = answer[: len(part)]
    assert answers is not None, "there is always an instance"
    return answers


def saved_state(predictor: nn.Module) -> bytes:
    """Save weights and buffers as bytes, loadable with ``weights_only=True``."""
    import torch

    buffer = io.BytesIO()
    torch.save(predictor.state_dict(), buffer)
    return buffer.getvalue()


def restore(predictor: nn.Module, state: bytes) -> None:
    """Set weights and buffers to what `saved_state` saved."""
    import torch

    predictor.load_state_dict(torch.load(io.BytesIO(state), weights_only=True))
