"""SPO+ with the gradient that PyEPO's code had when its published runs were made.

    python benchmarks/published_gradient.py FOLDER

PyEPO's first code (``spo/func/spoplus.py`` in its repository) averaged the subgradient over the
batch, 2 (w* − w(2ĉ − c)).mean(0), and gave every instance that mean: the gradient of a weight was
the product of two batch means in place of the mean of products. On average it has the right
direction, but it is noisier.

Trains with it on the data of the published runs on paths, into FOLDER (the same command resumes),
and prints for each setting how far the mean is from the published one, in points, with the 95 % t
interval over data seeds: what `report --table published` shows of SPO+ itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dglbench.methods.spo import SpoPlus

if TYPE_CHECKING:
    import torch

    from dglbench.losses.batch import Batch


class BatchMean(SpoPlus):
    """SPO+ whose gradient is that of the batch's mean, at every instance."""

    def loss_and_gradient(self, batch: Batch) -> tuple[float, torch.Tensor] | None:
        """Average over the batch."""
        known = super().loss_and_gradient(batch)
        if known is None:
            return None
        loss, gradient = known
        return loss, gradient.mean(dim=0, keepdim=True).expand_as(gradient).clone()


def main() -> int:
    """Train, then compare."""
    import dglbench
    from dglbench.report.loading import load
    from dglbench.report.published.figures import published
    from dglbench.report.statistics.intervals import t_interval

    out = Path(sys.argv[1])
    entries = [
        entry
        for entry in published()
        if (entry.source, entry.method) == ("published", "SPO+")
        and entry.setting == "shortest-path-5"
    ]
    for entry in entries:
        asked = {"source": "published", "train": entry.train, "degree": entry.degree}
        dglbench.run_many(
            tasks=[entry.setting],
            methods=["batch-mean"],
            plugins=[__file__],
            set=asked,
            option={"lr": 0.001, "start": "fresh"},
            predictor=["linear:units=raw"],
            seeds=list(entry.seeds),
            epochs=entry.epochs,
            evaluate_every=entry.epochs,
            batch_size=32,
            solver="batched",
            out=out,
        )
        found = {
            run.identity.seed: run.record.selected.test.pooled_regret
            for run in load(out).current
            if asked.items() <= run.identity.settings.items() and run.record.selected
        }
        ours = np.array([found[seed] for seed in entry.seeds])
        differences = 100 * (ours - entry.regrets)
        low, high = t_interval(differences)
        print(
            f"train {entry.train}, degree {entry.degree}: "
            f"{differences.mean():+.2f} ({low:+.2f} to {high:+.2f})",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
