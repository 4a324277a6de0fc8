"""dglbench: which way of training gives the best decisions for the time you have?"""

from typing import Any

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    """Look the version up when it is asked for: that import is a fifth of ``--help``."""
    if name != "__version__":
        raise AttributeError(f"module 'dglbench' has no attribute '{name}'")
    from importlib.metadata import version

    return version("dglbench")
