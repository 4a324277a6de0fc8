"""Adam for small predictors: torch's own arithmetic, without what surrounds it."""

from __future__ import annotations

from collections.abc import Iterable

import torch

__all__ = ["Adam"]


class Adam:
    """`torch.optim.Adam` with ``fused=True`` and its defaults, to the last bit.

    A step of that class looks for hooks, profilers and graph captures and sorts through its
    settings anew, which takes longer than the update of a small predictor; this one goes
    straight to the kernel that it ends in.
    """

    def __init__(self, weights: Iterable[torch.Tensor], lr: float) -> None:
        self.lr = lr
        self._weights = list(weights)
        self._mean = [torch.zeros_like(weight) for weight in self._weights]
        self._square = [torch.zeros_like(weight) for weight in self._weights]
        self._steps = [torch.zeros(()) for _ in self._weights]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for weight in self._weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every weight that has a gradient."""
        gradients = [weight.grad for weight in self._weights]
        known = [gradient for gradient in gradients if gradient is not None]
        state = (self._weights, self._mean, self._square, self._steps)
        if len(known) < len(gradients):
            used = [k for k, gradient in enumerate(gradients) if gradient is not None]
            state = tuple([kept[k] for k in used] for kept in state)  # type: ignore[assignment]
        weights, mean, square, steps = state
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            weights,
            known,
            mean,
            square,
            [],
            steps,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.lr,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )
