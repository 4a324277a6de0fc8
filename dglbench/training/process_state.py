"""What training changes in its process, set for the run and restored after it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["training_state", "warm_process"]


@contextmanager
def training_state(threads: int, seed: int) -> Iterator[None]:
    """Use so many threads and a torch generator of one's own; give back the caller's afterwards."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def warm_process() -> None:
    """Pay for what torch imports at its first step (seconds), before any clock or time limit."""
    import torch

    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.Adam([weight], fused=True)
    weight.sum().backward()  # type: ignore[no-untyped-call]
    optimiser.step()
