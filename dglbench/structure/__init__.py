"""What the global rows look like: A, known by what can be done with it.

Nothing outside this folder holds A as an array of shape (rows, groups, options).
"""

from dglbench.structure.base import Structure
from dglbench.structure.columns import ColumnSums
from dglbench.structure.paths import Paths
from dglbench.structure.recognise import recognise
from dglbench.structure.sparse import SparseRows
from dglbench.structure.take_leave import TakeLeave

__all__ = ["ColumnSums", "Paths", "SparseRows", "Structure", "TakeLeave", "recognise"]
