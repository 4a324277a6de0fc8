"""Training methods, one file each; found through the entry-point group ``dglbench.methods``."""

from dglbench.losses.batch import Batch, Constraints
from dglbench.methods.base import Claims, LearningRate, Method, Snapshot, Start, Training

__all__ = [
    "Batch",
    "Claims",
    "Constraints",
    "LearningRate",
    "Method",
    "Snapshot",
    "Start",
    "Training",
]
