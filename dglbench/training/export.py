"""A trained predictor as one file that runs with torch alone.

::

    import torch
    predict = torch.export.load("model.pt2").module()
    predictions = predict(features)     # float64, (instances, …) as in training

Imports torch, so import it inside functions only.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from dglbench import atomic
from dglbench.errors import OptionError, RunError
from dglbench.runs.out_folder import check_file

__all__ = ["export_network"]


def export_network(network: nn.Module, example: Tensor, path: Path, *, force: bool = False) -> None:
    """Write a network in evaluation mode; ``example`` are features of at least one instance.

    The program takes float64 features of any number of instances and answers in float64,
    whatever the network computes in.
    """
    if path.suffix != ".pt2":
        raise OptionError(f"--export {path} must end in .pt2, torch's format for programs.")
    check_file(path)
    if path.exists() and not force:
        raise OptionError(f"{path} exists; overwrite it with --force or choose another --export.")
    # From a batch of one, torch would make a program that knows no other.
    features = torch.cat([example[:1], example[:1]]).to(torch.float64)
    instances = torch.export.Dim("instances", min=1)
    try:
        program = torch.export.export(
            _InDouble(network).eval(), (features,), dynamic_shapes=({0: instances},)
        )
    except Exception as error:  # a module of one's own may do anything in its forward pass
        said = (str(error).strip() or "no message").splitlines()[0][:200]
        raise RunError(
            f"the predictor cannot be exported ({type(error).__name__}: {said}); its forward "
            "pass must be one that torch.export can follow."
        ) from error
    try:
        with atomic.atomic_path(path) as temporary, temporary.open("wb") as file:
            torch.export.save(program, file)
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror or error}.") from error


class _InDouble(nn.Module):
    """A network that takes and gives float64."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        weights = (weight.dtype for weight in network.parameters())
        self.kind = next(weights, torch.float64)  # trees have none to train

    def forward(self, features: Tensor) -> Tensor:
        answer: Tensor = self.network(features.to(self.kind)).to(torch.float64)
        return answer
