"""What a run is to do: its data, its method and options, its protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dglbench import options
from dglbench.methods import Method
from dglbench.plugins import find_method
from dglbench.runs.protocol import Protocol
from dglbench.runs.record import Identity, RunRecord
from dglbench.task import TaskSpec
from dglbench.training.lead_in import LeadIn

__all__ = ["Protocol", "RunSpec", "protocol_of"]


def protocol_of(method: type[Method], asked: Protocol) -> Protocol:
    """Return what a comparison's protocol is to a method.

    Nothing but the precision acts on a model that is fitted at once; the one evaluation of it
    counts. A method that trains for accuracy has as many epochs as the warm start may have and
    ends by the same rule, so it is the same run whatever epochs the others have; it is evaluated
    twice within the patience of that rule. A fixed number of epochs (``choose=last``) it shares
    with them.
    """
    if method.fits:
        return Protocol(
            epochs=1, evaluate_every=1, choose="last", warm_start_epochs=1, dtype=asked.dtype
        )
    most = asked.warm_start_epochs
    if not method.for_accuracy or asked.choose == "last" or most is None:
        return asked
    every = max(asked.warm_start_patience // 2, 1)
    return replace(asked, epochs=most, evaluate_every=every, patience=None)


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides what a run computes, and what it logs beside."""

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
    """Decides initial weights and batches; the data have their own seed."""
    lead_in: LeadIn | None = None
    """What is trained before the method itself, as the method's name says."""
    predictor: str = "linear"
    """What is trained, as canonical text (`dglbench.predictors.choice`)."""
    diagnostics: bool = False
    """Whether methods report on themselves; no part of the identity, as it changes no regret."""

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
            protocol=self.protocol,
            threads=self.threads,
            source=self.source,
            train_seed=self.train_seed,
            lead_in=None if self.lead_in is None else self.lead_in.document(),
            predictor=self.predictor,
        )

    @property
    def starts_warm(self) -> bool:
        """Whether training begins at the shared MSE-trained predictor."""
        first = self if self.lead_in is None else self.lead_in
        return find_method(first.method).cls.starts_warm(first.options)

    def lacks_diagnostics(self, record: RunRecord) -> bool:
        """Say whether the run's record is whole but without the diagnostics that are asked for."""
        made = record.summary is not None and record.summary.diagnostics
        return self.diagnostics and record.state == "done" and not made

    @property
    def setting(self) -> str:
        """The comparison this run belongs to, such as ``matching-50``."""
        return self.data.setting_name

    @property
    def run_id(self) -> str:
        """A readable name that ends in a hash of the identity."""
        return self.identity.run_id
