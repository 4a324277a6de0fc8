"""What a run is asked to do: its data, its method and options, its protocol."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench import options
from dglbench.runs.record import Identity
from dglbench.task import TaskSpec
from dglbench.training.lead_in import LeadIn

__all__ = ["Protocol", "RunSpec"]


@dataclass(frozen=True)
class Protocol:
    """How a run is trained and watched, the same for every method of a comparison."""

    epochs: Annotated[int, Ge(1), Doc("passes over the training instances")] = 40
    batch_size: Annotated[int, Ge(1), Doc("training instances per step")] = 32
    patience: Annotated[
        int | None, Ge(1), Doc("evaluations without a better validation regret before stopping")
    ] = None
    evaluate_every: Annotated[
        int | None, Ge(1), Doc("epochs between evaluations; by default from what one costs")
    ] = None
    """None until the sizes are known (`dglbench.training.cost_model`); a run's identity has it."""
    dtype: Annotated[
        Literal["float64", "float32"], Doc("numbers of the predictor, its inputs and its labels")
    ] = "float64"
    warm_start: Annotated[bool, Doc("start from the shared MSE-trained predictor")] = True
    warm_start_lr: Annotated[float, Gt(0), Doc("learning rate of the warm start")] = 0.01
    warm_start_epochs: Annotated[
        int | None, Ge(1), Doc("most epochs of the warm start; by default 500, fewer if long")
    ] = None
    """As `evaluate_every`, None until the sizes are known."""
    warm_start_patience: Annotated[
        int, Ge(1), Doc("epochs without a better validation MSE before the warm start ends")
    ] = 20

    @property
    def is_open(self) -> bool:
        """Whether something is left to be reckoned from the sizes."""
        return self.evaluate_every is None or self.warm_start_epochs is None


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides what a run computes, and nothing else."""

    data: TaskSpec
    method: str
    options: Any
    solver: str
    dual_rule: str
    protocol: Protocol
    source: str
    """Hash of the code that computes the run."""
    data_digest: str | None = None
    """Content hash of the data, where settings and seed do not decide it."""
    threads: int = 1
    train_seed: int = 0
    """Which initial weights and batches; the data have a seed of their own."""
    lead_in: LeadIn | None = None
    """What is trained before the method itself, as its name says."""

    @cached_property
    def identity(self) -> Identity:
        """The spec as the typed document that the run's record keeps."""
        return Identity(
            task=self.data.task,
            settings=options.as_dict(self.data.settings),
            seed=self.data.seed,
            data_digest=self.data_digest,
            method=self.method,
            options=options.as_dict(self.options),
            solver=self.solver,
            dual_rule=self.dual_rule,
            protocol=_protocol_document(self.protocol),
            threads=self.threads,
            source=self.source,
            train_seed=self.train_seed,
            lead_in=None if self.lead_in is None else self.lead_in.document(),
        )

    @property
    def setting(self) -> str:
        """The comparison this run belongs to, such as ``matching-50``."""
        return self.data.setting_name

    @property
    def run_id(self) -> str:
        """A readable name that ends in a hash of the identity."""
        return self.identity.run_id


def _protocol_document(protocol: Protocol) -> dict[str, Any]:
    """Leave out the usual dtype, so that runs from before it could be chosen ask the same."""
    document = asdict(protocol)
    if protocol.dtype == "float64":
        del document["dtype"]
    return document
