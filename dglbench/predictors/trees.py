"""Regression trees as arrays: evaluated for all rows and trees at once, saved without pickle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Trees"]

_AT_ONCE = 1 << 15
"""How many walks, a row down a tree, are under way at once: their state stays in the cache."""


class Trees(nn.Module):
    """baseline_j + Σ over the trees t of output j of the value at the leaf that a row ends in.

    The nodes of all trees stand in one array. ``child[2n]`` follows node n where
    x[feature[n]] ≤ threshold[n], ``child[2n + 1]`` elsewhere; those of a leaf are itself, so
    that walks of different length end together.
    """

    feature: Tensor
    threshold: Tensor
    child: Tensor
    value: Tensor
    roots: Tensor
    """(T,): the first node of each tree."""
    output: Tensor
    """(T,): the output that each tree adds to, in rising order."""
    depth: Tensor
    """(): the longest way from a root to a leaf."""
    baseline: Tensor
    """(outputs,)."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        for name in ("feature", "child", "roots", "output"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.int64))
        self.register_buffer("depth", torch.zeros((), dtype=torch.int64))
        self.register_buffer("threshold", torch.zeros(0, dtype=torch.float64))
        self.register_buffer("value", torch.zeros(0, dtype=torch.float64))
        self.register_buffer("baseline", torch.zeros(outputs, dtype=torch.float64))
        self._steps = 0

    def forward(self, inputs: Tensor) -> Tensor:
        """Map rows (…, F) to (…, outputs)."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        if torch.compiler.is_exporting():
            answer = self._walk(rows)
        else:
            count = max(_AT_ONCE // max(len(self.roots), 1), 1)
            answer = torch.cat([self._walk(part) for part in torch.split(rows, count)])
        return answer.reshape(*inputs.shape[:-1], len(self.baseline))

    def _walk(self, rows: Tensor) -> Tensor:
        node = self.roots.expand(rows.shape[0], -1)
        for _ in range(self._steps):
            right = rows.gather(1, self.feature.take(node)) > self.threshold.take(node)
            node = self.child.take(2 * node + right)
        sums = self.baseline.expand(rows.shape[0], -1)
        return sums.index_add(1, self.output, self.value.take(node))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take as many nodes and trees as there are, in the precision of the module."""
        for name, own in list(self.named_buffers(recurse=False)):
            saved = state.get(prefix + name)
            if saved is not None and saved.shape != own.shape and name != "baseline":
                setattr(self, name, own.new_empty(saved.shape))
        super()._load_from_state_dict(state, prefix, *rest)
        self._steps = int(self.depth)
