"""The structure of the global rows: A, by the operations it offers.

Nothing outside this folder holds A as an array of shape (rows, groups, options).
"""

from dglbench.structure.base import Structure
from dglbench.structure.by_instance import ByInstance, Pattern
from dglbench.structure.columns import ColumnSums
from dglbench.structure.paths import Paths
from dglbench.structure.recognise import recognise
from dglbench.structure.sparse import SparseRows
from dglbench.structure.take_leave import TakeLeave

__all__ = [
    "ByInstance",
    "ColumnSums",
    "Paths",
    "Pattern",
    "SparseRows",
    "Structure",
    "TakeLeave",
    "recognise",
]
