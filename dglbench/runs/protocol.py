"""How a run is trained and evaluated: the part of its identity that all methods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

__all__ = ["Protocol"]


@dataclass(frozen=True)
class Protocol:
    """How a run is trained and evaluated, the same for every method of a comparison.

    A field that is added later has a default: at its default it does not count as part of what
    a run was asked to do (`dglbench.runs.record.Identity.asked`).
    """

    epochs: Annotated[int, Ge(1), Doc("passes over the training instances")] = 40
    batch_size: Annotated[int, Ge(1), Doc("training instances per step")] = 32
    patience: Annotated[
        int | None, Ge(1), Doc("evaluations without a better validation regret before stopping")
    ] = None
    evaluate_every: Annotated[
        int | None, Ge(1), Doc("epochs between evaluations; by default from what one costs")
    ] = None
    """None until the sizes are known (`dglbench.training.cost_model`); a run's identity has it."""
    choose: Annotated[
        Literal["best", "last"],
        Doc("the epoch that counts: lowest validation regret, or the last of a fixed number"),
    ] = "best"
    """See `dglbench.runs.selection`."""
    dtype: Annotated[
        Literal["float64", "float32"], Doc("numbers of the predictor, its inputs and its labels")
    ] = "float64"
    optimizer: Annotated[Literal["adam", "adamw", "sgd"], Doc("torch's optimiser of this name")] = (
        "adam"
    )
    schedule: Annotated[
        Literal["constant", "cosine", "linear", "plateau"],
        Doc("how the learning rate changes; plateau watches validation regret"),
    ] = "constant"
    """See `dglbench.training.optimiser`."""
    weight_decay: Annotated[float, Ge(0), Doc("the optimiser's weight decay")] = 0.0
    warm_start_lr: Annotated[float, Gt(0), Doc("learning rate of the warm start")] = 0.01
    warm_start_epochs: Annotated[
        int | None, Ge(1), Doc("most epochs of the warm start; by default 500, fewer if long")
    ] = None
    """As `evaluate_every`, None until the sizes are known."""
    warm_start_patience: Annotated[
        int, Ge(1), Doc("epochs without a better validation MSE before the warm start ends")
    ] = 20

    def __post_init__(self) -> None:
        """Refuse combinations that no single field can rule out."""
        if self.choose == "last" and self.patience is not None:
            raise ValueError(
                f"choose=last trains a fixed number of epochs, so patience must be none, got "
                f"{self.patience}; leave one of the two out."
            )

    @property
    def is_open(self) -> bool:
        """Whether something is left to be estimated from the sizes."""
        return self.evaluate_every is None or self.warm_start_epochs is None
