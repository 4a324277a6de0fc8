"""Check networks where they are built, so that errors name the plugin at fault."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from dglbench.data.checks import is_bundled, shape_words
from dglbench.errors import DglbenchError, PluginError
from dglbench.predictors.base import Predictor
from dglbench.predictors.task_model import TaskModel
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn

__all__ = ["build_predictor", "check_answer", "is_ours"]


def build_predictor(predictor: Predictor, task: Task, dataset: Dataset) -> nn.Module:
    """Build a network for a task's data."""
    from torch import nn

    owner, trusted = _owner(predictor, task)
    network = _asked(lambda: predictor.build(task, dataset), owner, "fails", trusted)
    inner = getattr(network, "network", network)
    if not isinstance(network, nn.Module) or not isinstance(inner, nn.Module):
        raise PluginError(f"{owner} must return a torch.nn.Module, got {_type_name(inner)}.")
    return network


def check_answer(predictor: Predictor, task: Task, dataset: Dataset, network: nn.Module) -> None:
    """Ask a copy of the network about two instances; refuse another type or shape."""
    import torch

    from dglbench.predictors.frame import Frame

    owner, trusted = _owner(predictor, task)
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    if not weights and not predictor.fitted:
        raise PluginError(f"{owner} returns a network without weights to train.")
    for weight in weights:
        if weight.dtype != torch.float64:
            raise PluginError(
                f"{owner} returns a network of {_dtype(weight)}; wanted float64: build it with "
                "dtype=torch.float64 or end with .double()."
            )
    asked = copy.deepcopy(network).eval()
    features = torch.from_numpy(dataset.features[:2])
    wanted, meant = (len(features), *dataset.labels.shape[1:]), "the shape of the labels"
    if isinstance(asked, Frame) and (layout := task.layout(dataset)) is not None:
        rows = (*(() if layout.kind == "image" else features.shape[1:-1]), layout.outputs)
        if layout.kind == "sides":
            left = dataset.problem.groups
            rows = (left, features.shape[1] - left)
        wanted, meant = (len(features), *rows), "all outputs of each row"
        features, asked = asked.inputs(features), asked.network
    said = f"features of shape {shape_words(features.shape)}"
    with torch.no_grad():
        answer = _asked(
            lambda: asked(features), f"{owner} returns a network that", f"fails on {said}", trusted
        )
    got = tuple(answer.shape) if isinstance(answer, torch.Tensor) else _type_name(answer)
    if got != wanted:
        raise PluginError(
            f"{owner} returns a network that answers {said} with "
            f"{got if isinstance(got, str) else f'shape {shape_words(got)}'}; wanted {meant}, "
            f"{shape_words(wanted)}."
        )
    if answer.dtype != torch.float64:
        raise PluginError(
            f"{owner} returns a network that answers {_dtype(answer)}; wanted float64."
        )


def is_ours(predictor: Predictor, task: Task) -> bool:
    """Say whether the network that a predictor builds for a task is part of dglbench."""
    if isinstance(predictor, TaskModel):
        return is_bundled(task)
    return type(predictor).__module__.startswith("dglbench.")


def _owner(predictor: Predictor, task: Task) -> tuple[str, bool]:
    """Return what errors name, and whether it is part of dglbench."""
    if isinstance(predictor, TaskModel):
        return f"task {task.name}: predictor()", is_ours(predictor, task)
    return f"predictor {predictor.name}: network()", is_ours(predictor, task)


def _asked(call: Callable[[], Any], owner: str, fails: str, trusted: bool) -> Any:
    try:
        return call()
    except (DglbenchError, MemoryError):
        raise
    except Exception as error:
        if trusted:
            raise
        text = " ".join(str(error).split())
        said = f"{_type_name(error)}: {text[:200]}" if text else _type_name(error)
        end = "; fix that method." if fails == "fails" else "."
        raise PluginError(f"{owner} {fails} with {said}{end}") from error


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _type_name(value: Any) -> str:
    return type(value).__name__
