"""The border to PyEPO: whether it is there, and a clear error where it is not as expected."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dglbench.errors import PluginError

__all__ = ["TESTED", "expected_interface", "installed_version", "misfit"]

TESTED = "2.2.7"
"""The version whose interface is known; others are checked before any work is done."""

_INSTALL = "pip install 'dglbench[pyepo]'"


def installed_version() -> str | None:
    """Return PyEPO's version without importing it, None if it is not installed."""
    if importlib.util.find_spec("pyepo") is None:
        return None
    try:
        return importlib.metadata.version("pyepo")
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def misfit(loss: str, keywords: Iterable[str]) -> str | None:
    """Say in one sentence why PyEPO's loss cannot be used here; None if it can.

    A version other than the tested one is imported and asked whether its loss still takes
    ``keywords``.
    """
    version = installed_version()
    if version is None:
        return f"PyEPO is not installed; {_INSTALL} brings it."
    if version == TESTED:
        return None
    import inspect

    try:
        with expected_interface():
            import pyepo.func
            from pyepo.data.dataset import optDataset  # noqa: F401 - only whether it is there
            from pyepo.model.mpax import optMpaxModel  # noqa: F401

            known = inspect.signature(getattr(pyepo.func, loss)).parameters
            missing = [word for word in keywords if word not in known]
            if missing:
                raise TypeError(f"its {loss} takes no {', '.join(missing)}")
    except PluginError as error:
        return str(error)
    return None


@contextmanager
def expected_interface() -> Iterator[None]:
    """Turn the errors of another interface into one sentence."""
    try:
        yield
    except (AttributeError, ImportError, TypeError) as error:
        raise PluginError(
            f"PyEPO {installed_version()} differs from PyEPO {TESTED} ({error}); {_INSTALL} "
            "brings the version that dglbench knows."
        ) from error
