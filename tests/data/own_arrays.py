"""Arrays such as people have: items to take or leave, and options to pick in groups."""

import numpy as np

from dglbench.streams import stream

K = 20


def some(*shape):
    return stream(3, "import tests").normal(size=shape)


ITEMS = {"features": some(K, 6, 4), "labels": some(K, 6), "A": np.ones((2, 6)), "b": [3.0, 9.0]}
PICKS = {
    "features": some(K, 5, 4),
    "labels": some(K, 5, 3),
    "A": np.stack([np.tile(row, (5, 1)) for row in np.eye(3)]),
    "b": [2.0, 2.0, 1.0],
}
