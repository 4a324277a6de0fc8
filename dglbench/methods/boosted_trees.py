"""Boosted trees: scikit-learn's histogram gradient boosting, one model for each output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.layout import Table
from dglbench.methods.base import Fitting
from dglbench.methods.fitted import FittedMethod

if TYPE_CHECKING:
    import torch

__all__ = ["BoostedTrees", "BoostedTreesOptions", "fit_models", "tree_arrays"]

_SEED = 0
"""Only binning of more than 200,000 rows draws: on a sample."""


@dataclass(frozen=True)
class BoostedTreesOptions:
    """Options of `BoostedTrees`."""

    rounds: Annotated[int, Ge(1), Doc("trees of each output, at most")] = 200
    leaves: Annotated[int, Ge(2), Doc("leaves of a tree, at most")] = 31
    shrinkage: Annotated[float, Gt(0), Doc("what each tree's values are multiplied by")] = 0.1


class BoostedTrees(FittedMethod):
    """Squared error by gradient boosting (`HistGradientBoostingRegressor`), then optimise.

    One model for each output of a row, on all features of the row. With validation instances a
    model ends when ten trees in a row have not improved its validation error. The labels
    themselves are fitted, without the link of networks.

    Solver calls: none. Reference: Ke et al. (2017), LightGBM.
    """

    summary: ClassVar[str] = "gradient-boosted trees of scikit-learn; no solver, no epochs"
    Options: ClassVar[type[Any]] = BoostedTreesOptions

    def __init__(self, options: BoostedTreesOptions) -> None:
        # Imported now, because `prepare` is timed.
        from sklearn.ensemble import HistGradientBoostingRegressor

        super().__init__(options)
        self._regressor = HistGradientBoostingRegressor

    def fit(self, fitting: Fitting) -> None:
        """Fit the models and hand their trees over as arrays."""
        train, val = fitting.table("train"), fitting.table("val")
        models = fit_models(self._regressor, train, val, self.options)
        fitting.network.load_state_dict(tree_arrays(models))


def fit_models(regressor: Any, train: Table, val: Table, chosen: BoostedTreesOptions) -> list[Any]:
    """Fit a model for each output to the labels that count."""
    models = []
    for j in range(train.targets.shape[1]):
        known, watched = train.counted[:, j], val.counted[:, j]
        judged = {"X_val": val.inputs[watched], "y_val": val.targets[watched, j]}
        model = regressor(
            max_iter=chosen.rounds,
            max_leaf_nodes=chosen.leaves,
            learning_rate=chosen.shrinkage,
            early_stopping=bool(watched.any()),
            random_state=_SEED,
        )
        inputs, targets = train.inputs[known], train.targets[known, j]
        models.append(model.fit(inputs, targets, **(judged if watched.any() else {})))
    return models


def tree_arrays(models: list[Any]) -> dict[str, torch.Tensor]:
    """Return the nodes of all models as `dglbench.predictors.trees.Trees` holds them."""
    import torch

    parts: dict[str, list[Any]] = {name: [] for name in ("feature", "threshold", "value")}
    children, roots, output, first, depth = [], [], [], 0, 0
    for j, model in enumerate(models):
        for (tree,) in model._predictors:  # a list for each round, of one tree for each output
            nodes = tree.nodes
            leaf = nodes["is_leaf"].astype(bool)
            itself = np.arange(len(nodes))
            ways = [np.where(leaf, itself, nodes[side]) for side in ("left", "right")]
            children.append(first + np.stack(ways, axis=1).ravel())
            parts["feature"].append(np.where(leaf, 0, nodes["feature_idx"]))
            parts["threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]))
            parts["value"].append(np.where(leaf, nodes["value"], 0.0))
            roots.append(first)
            output.append(j)
            first, depth = first + len(nodes), max(depth, int(nodes["depth"].max()))
    baseline = np.array([float(np.ravel(model._baseline_prediction)[0]) for model in models])
    arrays = {name: np.concatenate(found) for name, found in parts.items()}
    whole = {
        "feature": arrays.pop("feature"),
        "child": np.concatenate(children),
        "roots": np.array(roots),
        "output": np.array(output),
        "depth": np.array(depth),
    }
    return {
        **{name: torch.from_numpy(found.astype(np.int64)) for name, found in whole.items()},
        **{name: torch.from_numpy(found.astype(np.float64)) for name, found in arrays.items()},
        "baseline": torch.from_numpy(baseline),
    }
