"""PyEPO's way of drawing features and costs, draw by draw.

Its generators use numpy's old `RandomState`, with one seed and a fixed order of draws, so
the numbers here are PyEPO's to the last bit and regrets can be compared with anyone's PyEPO
runs. That is why these draws, alone in dglbench, do not come from named streams.

Reference: Tang and Khalil (2024), PyEPO: a PyTorch-based end-to-end predict-then-optimize
library; after Elmachtoub and Grigas (2022), Smart "Predict, then Optimize".
"""

import numpy as np

from dglbench.errors import OptionError
from dglbench.problem import Array

__all__ = ["draws_of", "features_and_costs", "rounded_to_single"]

LARGEST_SEED = 2**32 - 1


def draws_of(task: str, seed: int) -> np.random.RandomState:
    """Return the generator PyEPO would make of this seed."""
    if seed > LARGEST_SEED:
        raise OptionError(
            f"task {task} draws its data as PyEPO does, whose seeds end at {LARGEST_SEED}, got "
            f"{seed}; use a smaller seed."
        )
    return np.random.RandomState(seed)


def features_and_costs(
    draws: np.random.RandomState,
    instances: int,
    features: int,
    costs: int,
    degree: int,
    noise: float,
    scale: float = 1.0,
) -> tuple[Array, Array]:
    """Draw x (K, p) and c (K, d), in this order: B, x, noise.

    c = scale ((x Bᵀ/√p + 3)^degree + 1) / 3.5^degree · ε,   B ~ Bernoulli(½),  x ~ N(0, 1),
    ε ~ U(1 - noise, 1 + noise)
    """
    incidence = draws.binomial(1, 0.5, (costs, features))
    x = draws.normal(0, 1, (instances, features))
    # The order of operations decides the last bit.
    c = (x @ incidence.T / np.sqrt(features) + 3) ** degree + 1
    if scale != 1.0:
        c *= scale
    c /= 3.5**degree
    c *= draws.uniform(1 - noise, 1 + noise, (instances, costs))
    return x, c


def rounded_to_single(costs: Array) -> Array:
    """Round to single precision, as PyEPO returns costs, and keep them in double."""
    return costs.astype(np.float32).astype(np.float64)
