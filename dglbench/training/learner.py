"""What is timed: a predictor and a method that train epoch after epoch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dglbench.clock import Clock, Ledger, Meter
from dglbench.errors import PluginError
from dglbench.layers import MeteredLayer
from dglbench.losses.batch import Batch, Constraints, goes_with
from dglbench.methods.base import Fitting, Method, Training
from dglbench.plugins import find_layer, find_method, find_task
from dglbench.solvers import make_solver
from dglbench.solvers.metered import MeteredSolver
from dglbench.streams import repetition, stream
from dglbench.task import Dataset
from dglbench.training.optimiser import make_optimiser
from dglbench.training.predictor import Step, fresh_predictor, predict, train_epoch
from dglbench.training.spec import RunSpec
from dglbench.training.warm_start import WarmStart

if TYPE_CHECKING:
    import numpy as np
    import torch

__all__ = ["Diverged", "Learner"]


class Diverged(ArithmeticError):  # noqa: N818 - a way for a run to end
    """The loss is no longer a finite number."""


class Learner:
    """A predictor, a method and their data, with the clock and ledger that measure them."""

    def __init__(
        self,
        spec: RunSpec,
        dataset: Dataset,
        warm_start: WarmStart | None,
        *,
        clock: Clock | None = None,
    ) -> None:
        import torch

        self.spec, self.dataset = spec, dataset
        self.clock, self.ledger = clock or Clock(), Ledger()
        self.meter = Meter(self.clock, self.ledger)
        task = find_task(spec.data.task)
        self.scale = task.label_scale(dataset)
        self.integral = True if dataset.problem.is_integral else task.integral
        rows = dataset.rows("train")
        self.problem = dataset.problem.take(rows)
        self.constraints = Constraints(self.problem)
        self._dtype = getattr(torch, spec.protocol.dtype)
        self.features = torch.from_numpy(dataset.part(dataset.features, "train")).to(self._dtype)
        labels = self._rounded(torch.from_numpy(dataset.part(dataset.labels, "train")))
        self.parameter_labels = labels / self.scale
        self.labels = self._to_values(labels)
        # Labels that are option values to maximise already need no second copy.
        self._plain = self.labels.shape == self.parameter_labels.shape and bool(
            (self.labels == self.parameter_labels).all()
        )
        if self._plain:
            self.parameter_labels = self.labels
        self.predictor = fresh_predictor(spec.predictor, task, dataset, spec.train_seed)
        if warm_start:
            warm_start.apply(self.predictor)
        self.predictor.to(self._dtype)
        self._own: Method = find_method(spec.method).cls(spec.options)
        self.method = self._own
        """The method in use: the lead-in's until `move_on`."""
        if spec.lead_in is not None:
            self.method = find_method(spec.lead_in.method).cls(spec.lead_in.options)
        self._solver = MeteredSolver(make_solver(spec.solver, task, self.problem), self.meter)
        self._draws = self._stream("batches" if spec.lead_in is None else "lead-in batches")
        self._epochs = 0

    def set_up(self) -> float:
        """Prepare the method, once before training, and return the seconds it took."""
        import torch

        if self.method.fits:
            return self._fit()
        # Torch's own first-call costs are not the method's: paid before the clock starts, in
        # evaluation mode so that no buffer of the predictor learns from it.
        torch.autograd.backward(self.predictor.eval()(self.features[:1]).sum())
        self.predictor.zero_grad(set_to_none=True)
        protocol, lead_in = self.spec.protocol, self.spec.lead_in
        leading = lead_in is not None and self.method is not self._own
        epochs = lead_in.epochs if lead_in is not None and leading else protocol.epochs
        self._optimiser = make_optimiser(
            self.predictor.parameters(), protocol, self.method.options.lr, epochs
        )
        return self._prepare()

    def _fit(self) -> float:
        """Have the method fit the predictor, and return the seconds it took."""
        from dglbench.predictors.fitted import table
        from dglbench.predictors.frame import Frame

        task, frame = find_task(self.spec.data.task), self.predictor
        layout = task.layout(self.dataset)
        if layout is None or not isinstance(frame, Frame):
            raise PluginError(f"predictor {self.spec.predictor} has no frame to be fitted in.")
        rows = functools.partial(table, frame, layout, self.dataset)
        return self._prepare(Fitting(frame.network, rows, layout.shared))

    def _prepare(self, fitting: Fitting | None = None) -> float:
        self.clock.start()
        self.method.prepare(
            Training(
                constraints=self.constraints,
                labels=self.labels,
                solver=self._solver,
                predict=self._timed,
                meter=self.meter,
                layer=self._layer,
                parameter_labels=self.parameter_labels,
                draws=self._stream,
                fitting=fitting,
            )
        )
        return self.clock.stop()

    def move_on(self) -> None:
        """Go from the lead-in to the run's own method, with the batches of a run without one."""
        self.method, self._draws, self._epochs = self._own, self._stream("batches"), 0

    def epoch(self, after_batch: Callable[[], None] | None = None) -> tuple[float, float]:
        """Train one epoch; return its mean loss and its seconds on the clock.

        ``after_batch`` may raise to end the run.
        """
        import torch

        order = torch.from_numpy(self._draws.permutation(len(self.labels)))
        by_hand = goes_with(type(self.method), "loss", "loss_and_gradient")
        phase, total = self.clock.phase, 0.0

        def step(rows: torch.Tensor, predicted: torch.Tensor) -> Step:
            nonlocal total
            with phase("predict"):
                # What is decided by is float64, whatever the predictor computes in.
                predicted = predicted.to(torch.float64)
                predictions = self._to_values(predicted)
                parameters = predictions if self._plain else predicted / self.scale
            labels = self.labels.index_select(0, rows)
            truth = labels if self._plain else self.parameter_labels.index_select(0, rows)
            batch = Batch(rows, predictions, labels, parameters, truth)
            known = self.method.loss_and_gradient(batch) if by_hand else None
            if known is None:
                loss = self.method.loss(batch)
                value, found = float(loss.detach()), Step(loss)
            else:
                value, found = known[0], Step(predictions, known[1])
            if not math.isfinite(value):
                raise Diverged(f"the loss became {value} in epoch {self._epochs + 1}")
            total += value * len(rows)
            return found

        def batches() -> Iterator[torch.Tensor]:
            for rows in torch.split(order, self.spec.protocol.batch_size):
                yield rows
                if after_batch is not None:
                    after_batch()

        self.clock.start()
        self.method.start_epoch(self._epochs)
        optimiser = self._optimiser.torch
        train_epoch(self.predictor, optimiser, self.features, batches(), step, phase)
        self._optimiser.end_epoch()
        seconds = self.clock.stop()
        self._epochs += 1
        return total / len(order), seconds

    def judged(self, regret: float | None) -> None:
        """Take the validation regret of the last epoch, if any: a schedule may watch it."""
        if regret is not None:
            self._optimiser.judged(regret)

    def predict(self) -> torch.Tensor:
        """Return ŷ of every training instance in scaled units, in evaluation mode."""
        return self._to_values(predict(self.predictor, self.features))

    def _rounded(self, labels: torch.Tensor) -> torch.Tensor:
        """Round labels to the predictor's precision; they stay float64 for solvers and duals."""
        import torch

        return labels.to(self._dtype).to(torch.float64)

    def _to_values(self, parameters: torch.Tensor) -> torch.Tensor:
        """Return scaled option values to maximise."""
        values: torch.Tensor = self.problem.values(parameters, self.scale)
        return values

    def _timed(self) -> torch.Tensor:
        with self.clock.phase("predict"):
            return self.predict()

    def _stream(self, name: str) -> np.random.Generator:
        return stream(self.spec.data.seed, name, *repetition(self.spec.train_seed))

    def _layer(self, name: str, **options: Any) -> MeteredLayer:
        if name not in self.method.layers:  # its code would not be part of the run's identity
            raise PluginError(
                f"method {self.spec.method} uses the layer '{name}' without declaring it; add it "
                f"to `layers` of {type(self.method).__name__}."
            )
        layer = find_layer(name)(self.problem, threads=self.spec.threads, **options)
        return MeteredLayer(layer, self.meter)
