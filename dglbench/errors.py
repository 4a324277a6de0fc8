"""Every error that a user can see, in one tree.

DglbenchError               shown as one sentence, exit code 2
├── OptionError             a setting or option that does not exist or is out of range
├── PluginError             a task, method, solver or layer that is unknown or does not import
├── ProblemError            constraints that cannot be met, or malformed A, b, groups
├── DatasetError            a dataset file that is damaged, foreign or would be overwritten
├── DownloadError           public data that could not be fetched
├── SolverError             a solve that did not end optimal, or coefficients that are not finite
├── RunError                a run folder that cannot be read or written
│   └── NewerFormatError    a run that a later version of dglbench wrote
├── SweepError              a sweep that cannot be planned
└── ReportError             logs from which the report cannot be drawn

A message says what was wrong, the value got, what is allowed and what to do next.
"""

__all__ = [
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
]


class DglbenchError(Exception):
    """Base of every error that is shown as one clear sentence instead of a traceback."""


class OptionError(DglbenchError):
    """A setting or option does not exist or its value is not allowed."""


class PluginError(DglbenchError):
    """A task, method, solver or layer is unknown or its plugin does not import."""


class ProblemError(DglbenchError):
    """The constraints are malformed or cannot be met."""


class DatasetError(DglbenchError):
    """A dataset file cannot be used as it is."""


class DownloadError(DglbenchError):
    """Public data could not be fetched."""


class SolverError(DglbenchError):
    """A solve did not end optimal, or its coefficients were not finite."""


class RunError(DglbenchError):
    """A run folder cannot be read or written."""


class NewerFormatError(RunError):
    """A run was written in a format that this version does not know."""


class SweepError(DglbenchError):
    """A sweep cannot be planned as asked."""


class ReportError(DglbenchError):
    """The logs do not allow what the report was asked to draw."""
