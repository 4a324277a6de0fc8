"""dglbench: which way of training gives the best decisions for the time you have?

Every public name is in `PUBLIC`, with the module that defines it, and is imported when it is
first used: ``import dglbench`` alone loads no torch, numpy or polars.
"""

TYPE_CHECKING = False  # as in typing, whose import would be nearly all that this file costs
if TYPE_CHECKING:  # the same names once more, for type checkers and editors
    from dglbench.api.fit import fit as fit
    from dglbench.api.results import load as load
    from dglbench.api.run_many import run_many as run_many
    from dglbench.api.train import train as train
    from dglbench.errors import DatasetError as DatasetError
    from dglbench.errors import DglbenchError as DglbenchError
    from dglbench.errors import DownloadError as DownloadError
    from dglbench.errors import NewerFormatError as NewerFormatError
    from dglbench.errors import OptionError as OptionError
    from dglbench.errors import PluginError as PluginError
    from dglbench.errors import ProblemError as ProblemError
    from dglbench.errors import ReportError as ReportError
    from dglbench.errors import RunError as RunError
    from dglbench.errors import SolverError as SolverError
    from dglbench.errors import SweepError as SweepError
    from dglbench.layers.base import Layer as Layer
    from dglbench.losses.cave import CaVE as CaVE
    from dglbench.losses.dual_guided import DualGuidedLoss as DualGuidedLoss
    from dglbench.losses.fenchel_young import FenchelYoung as FenchelYoung
    from dglbench.losses.lava import LAVA as LAVA
    from dglbench.losses.lodl import LODL as LODL
    from dglbench.losses.mean_squared import MSE as MSE
    from dglbench.losses.qptl import QPTL as QPTL
    from dglbench.losses.spo_cached import CachedSPOPlus as CachedSPOPlus
    from dglbench.losses.spo_plus import SPOPlus as SPOPlus
    from dglbench.losses.spo_smoothed import SmoothedSPOPlus as SmoothedSPOPlus
    from dglbench.methods.base import Method as Method
    from dglbench.predictors.base import Predictor as Predictor
    from dglbench.problem import Problem as Problem
    from dglbench.solvers.answers import decide as decide
    from dglbench.solvers.answers import duals as duals
    from dglbench.solvers.base import Solver as Solver
    from dglbench.streams import stream as stream
    from dglbench.task import Dataset as Dataset
    from dglbench.task import Task as Task
    from dglbench.task import TaskSpec as TaskSpec

_ERRORS = (
    "DatasetError",
    "DglbenchError",
    "DownloadError",
    "NewerFormatError",
    "OptionError",
    "PluginError",
    "ProblemError",
    "ReportError",
    "RunError",
    "SolverError",
    "SweepError",
)

PUBLIC: dict[str, str] = {
    # what a problem is, and its exact answers
    "Problem": "dglbench.problem",
    "decide": "dglbench.solvers.answers",
    "duals": "dglbench.solvers.answers",
    # losses for any training loop
    "CaVE": "dglbench.losses.cave",
    "CachedSPOPlus": "dglbench.losses.spo_cached",
    "DualGuidedLoss": "dglbench.losses.dual_guided",
    "FenchelYoung": "dglbench.losses.fenchel_young",
    "LAVA": "dglbench.losses.lava",
    "LODL": "dglbench.losses.lodl",
    "MSE": "dglbench.losses.mean_squared",
    "QPTL": "dglbench.losses.qptl",
    "SPOPlus": "dglbench.losses.spo_plus",
    "SmoothedSPOPlus": "dglbench.losses.spo_smoothed",
    # runs, and what they left
    "fit": "dglbench.api.fit",
    "load": "dglbench.api.results",
    "run_many": "dglbench.api.run_many",
    "train": "dglbench.api.train",
    # what a plugin is made of
    "Dataset": "dglbench.task",
    "Layer": "dglbench.layers.base",
    "Method": "dglbench.methods.base",
    "Predictor": "dglbench.predictors.base",
    "Solver": "dglbench.solvers.base",
    "Task": "dglbench.task",
    "TaskSpec": "dglbench.task",
    "stream": "dglbench.streams",
    **dict.fromkeys(_ERRORS, "dglbench.errors"),
}
"""Public name to the module that defines it."""

__all__ = ["PUBLIC", "__version__", *PUBLIC]  # noqa: PLE0604 - all of them are text


def __getattr__(name: str) -> object:
    """Import a public name, or look the version up, when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dglbench")
    if name not in PUBLIC:
        raise AttributeError(f"module 'dglbench' has no attribute '{name}'")
    from importlib import import_module

    value: object = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value  # the next time it is an ordinary attribute
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
