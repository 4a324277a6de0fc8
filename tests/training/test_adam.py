"""Our way into torch's Adam is torch's Adam, to the last bit."""

from __future__ import annotations

import torch

from dglbench.training.adam import Adam


def test_steps_as_torch_does_also_where_a_weight_has_no_gradient() -> None:
    start = [torch.linspace(-1, 1, 5, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
    ours, theirs = ([weight.clone().requires_grad_() for weight in start] for _ in range(2))
    one, other = Adam(ours, 0.05), torch.optim.Adam(theirs, lr=0.05, fused=True)
    for step in range(6):
        for weights, optimiser in ((ours, one), (theirs, other)):
            optimiser.zero_grad()
            loss = weights[0].sin().sum()
            if step % 2:
                loss = loss + weights[1].pow(3).sum()
            torch.autograd.backward(loss)
            optimiser.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(ours, start, strict=True))
