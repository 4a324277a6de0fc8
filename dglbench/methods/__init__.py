"""Training methods, one file each; found through the entry-point group ``dglbench.methods``."""

from dglbench.losses.batch import Batch, Constraints
from dglbench.methods.base import LearningRate, Method, Snapshot, Start, Training

__all__ = ["Batch", "Constraints", "LearningRate", "Method", "Snapshot", "Start", "Training"]
