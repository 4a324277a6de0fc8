"""What losses keep for each row of the data."""

import numpy as np

from dglbench.losses.row_store import ByRow


def test_one_number_is_kept_for_every_row() -> None:
    import torch

    kept = ByRow()
    kept.put(torch.tensor([4, 2]), {"age": 7, "price": torch.tensor([1.0, 2.0])})
    kept.put(torch.tensor([2, 9]), {"age": 8, "price": np.array([3.0, 4.0])})
    assert kept["age"].tolist() == [7, 8, 8]
    assert kept["price"].tolist() == [1.0, 3.0, 4.0]
