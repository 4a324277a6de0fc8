"""dglbench: which way of training gives the best decisions for the time you have?"""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("dglbench")
