"""Data on which the right verdict is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def top_k(days: int, *, shock: float, noise: float, seed: int = 0) -> dict[str, Any]:
    """Take exactly 3 of 8 items, whose values are linear in 4 features, plus a shock and noise.

    The shock is the same for all items of a day and nothing predicts it. It does not change which
    items are best, but it hides from squared errors what does.
    """
    draws = np.random.default_rng(seed)
    items, weights = 8, np.array([3.0, -2.0, 1.5, 1.0])
    features = draws.normal(size=(days, items, 4))
    level = 60 + draws.normal(scale=shock, size=(days, 1)) if shock else 60.0
    labels = level + features @ weights + draws.normal(scale=noise, size=(days, items))
    return {
        "features": features,
        "labels": labels,
        "A": np.ones((1, items)),
        "b": np.array([3.0]),
        "equality": np.array([True]),
    }


def save(folder: Path, arrays: dict[str, Any], name: str = "mine.npz") -> str:
    """Write the arrays as a user has them."""
    np.savez(folder / name, **arrays)
    return name
