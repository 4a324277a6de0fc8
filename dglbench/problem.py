"""The one problem that every task is written as (the paper's Problem 1, generalised).

    maximise  y·x   subject to   A x ≤ b on some global rows, A x = b on the others
                                 Σ_{i∈g} x_i = 1    (pick one option in every group g)
                                 x binary

Values, decisions and scores are arrays of shape (K, G, S): K instances, G
groups, S options per group. Ragged groups are padded to S options and masked.
Instances share the groups; A, b and the mask may differ by instance.

What is predicted are parameters p, in the task's own sense and unit, of the
shape of the labels. `Problem.values` alone turns them into what is
maximised: y = ±(y₀ + B p), minus where the task minimises.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.feasible_set import Array, FeasibleSet, Mask
from dglbench.problem_checks import check_feasible, check_mask, check_parts
from dglbench.structure import ColumnSums, Paths, Structure, TakeLeave, recognise
from dglbench.structure.matrices import (
    in_some_instance,
    instance_rows,
    mask_or_all,
    picks,
    rows_vary,
    sparse_rows,
)
from dglbench.value_map import ValueMap

__all__ = ["Array", "Mask", "Problem", "Sense", "read_sense"]

Sense = Literal["maximise", "minimise"]
_SENSES: dict[str, Sense] = {
    "maximise": "maximise",
    "maximize": "maximise",
    "minimise": "minimise",
    "minimize": "minimise",
}


def read_sense(word: str) -> Sense:
    """Read either spelling of a sense, or refuse."""
    if word not in _SENSES:
        raise ProblemError(f"sense must be maximise or minimise, got {word!r}.")
    return _SENSES[word]


@dataclass(frozen=True, eq=False)
class Problem(FeasibleSet):
    """What all instances of a dataset have in common; all that solvers and methods see.

    Make one with `build`, `assignment`, `knapsack`, `top_k` or `paths`.
    """

    predicted: Mask
    """(G, S): options whose value is predicted; the others, such as *leave*, are known."""
    value_map: ValueMap
    """From parameters to option values, before the sign of the sense."""
    sense: Sense = "maximise"
    search_limit: float | None = None
    """How much an exact decision may search, in CP-SAT's deterministic seconds; None: to the end.
    Beyond it the best choice found is taken, and `Solver.decide_bounded` says how far it may be
    from the best."""

    @classmethod
    def build(
        cls,
        A: Any,
        b: npt.ArrayLike,
        mask: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
        *,
        equality: npt.ArrayLike | bool = False,
        sense: Sense = "maximise",
        groups: int | None = None,
        parameters: Any = None,
        known: npt.ArrayLike | None = None,
    ) -> Problem:
        """Check the parts and put them together; options exist and are predicted by default.

        A is an array (rows, groups, options), or a matrix (rows, groups · options), dense or
        scipy sparse, with ``groups`` or ``mask`` to give the shape. Where it differs by
        instance, it is (instances, rows, groups, options) or a list of sparse matrices.
        ``equality`` says which rows are exact (true or false for all, or per row).
        ``parameters`` is B, a matrix of groups · options rows and one column per parameter;
        without it labels are option values. ``known`` is y₀, (groups, options).
        """
        structure: Structure
        if rows_vary(A):
            structure = by_instance = instance_rows(A, groups, mask)
            shape = (structure.groups, structure.options)
            exists = mask_or_all(mask, shape)
            check_mask(exists, shape)
            _check_padding(by_instance.pattern.at % (shape[0] * shape[1]), exists)
        else:
            matrix, shape = sparse_rows(A, groups, mask)
            exists = mask_or_all(mask, shape)
            check_mask(exists, shape)
            _check_padding(matrix.indices, exists)
            structure = recognise(matrix, *shape, in_some_instance(exists))
        return cls._of(
            structure, b, exists, predicted, equality, sense, ValueMap(shape, parameters, known)
        )

    @classmethod
    def assignment(
        cls,
        groups: int,
        capacities: npt.ArrayLike,
        *,
        exactly: npt.ArrayLike | bool = False,
        absent: bool = False,
        mask: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
        sense: Sense = "maximise",
        parameters: Any = None,
        known: npt.ArrayLike | None = None,
    ) -> Problem:
        """Send each of ``groups`` individuals to one location; heads there ≤ its capacity.

        ``exactly`` makes capacities demands that must be met. ``absent`` adds a last option
        that uses nothing and is worth 0, for individuals who are missing from some instances:
        give those, by `vary`, a mask with that option alone.
        """
        locations = int(np.asarray(capacities).shape[-1])
        shape = (groups, locations + absent)
        exists = mask_or_all(mask, shape)
        if predicted is None and parameters is None and absent:
            predicted = np.broadcast_to(np.arange(shape[1]) < locations, shape)
        return cls._of(
            ColumnSums(locations, *shape),
            capacities,
            exists,
            predicted,
            exactly,
            sense,
            ValueMap(shape, parameters, known),
        )

    @classmethod
    def knapsack(
        cls,
        weights: npt.ArrayLike,
        capacity: npt.ArrayLike,
        *,
        exactly: bool = False,
        mask: npt.ArrayLike | None = None,
        sense: Sense = "maximise",
    ) -> Problem:
        """Take items within one or several capacities; labels are item values, (items,).

        ``weights`` are (items,) or (rows, items). The options are *take* and *leave*, which is
        worth 0 and uses nothing.
        """
        table = np.atleast_2d(np.array(weights, dtype=np.float64))
        if table.ndim != 2:
            raise ProblemError(f"weights must be (items,) or (rows, items), got {table.shape}.")
        shape = (table.shape[1], 2)
        return cls._of(
            TakeLeave(table),
            np.atleast_1d(np.array(capacity, dtype=np.float64)),
            mask_or_all(mask, shape),
            None,
            exactly,
            sense,
            ValueMap(shape, picks(2 * np.arange(shape[0]), 2 * shape[0])),
        )

    @classmethod
    def top_k(
        cls, items: int, k: int, *, exactly: bool = True, sense: Sense = "maximise"
    ) -> Problem:
        """Take k of the items (at most k unless ``exactly``); labels are item values, (items,)."""
        return cls.knapsack(np.ones(items), k, exactly=exactly, sense=sense)

    @classmethod
    def paths(
        cls,
        edges: npt.ArrayLike,
        source: int,
        sink: int,
        *,
        nodes: int | None = None,
        sense: Sense = "minimise",
        parameters: Any = None,
    ) -> Problem:
        """Go from source to sink along edges (from node, to node); labels are edge costs, (E,).

        With ``parameters``, a matrix (E, P), dense or sparse, labels are P numbers, and edges cost
        what it makes of them: the cost of a node, for example, for every edge that enters it.

        Every node but the sink picks an outgoing edge or *not visited* (the last option, worth
        0; the source has none), and what flows into a node flows out of it. On a graph with
        cycles an optimum may also go round cycles that pay, apart from the path.
        """
        pairs = np.array(edges, dtype=np.intp)
        if nodes is None:
            nodes = max(int(pairs.max(initial=0)), source, sink) + 1
        structure = Paths(pairs, source, sink, nodes)
        shape = (structure.groups, structure.options)
        of_edges = picks(structure.option_of, structure.groups * structure.options)
        return cls._of(
            structure,
            np.zeros(structure.rows),
            structure.mask.copy(),
            None,
            True,
            sense,
            ValueMap(shape, of_edges if parameters is None else of_edges @ parameters),
        )

    @classmethod
    def _of(
        cls,
        structure: Structure,
        b: npt.ArrayLike,
        mask: Mask,
        predicted: npt.ArrayLike | None,
        equality: npt.ArrayLike | bool,
        sense: Sense,
        value_map: ValueMap,
    ) -> Problem:
        shared = in_some_instance(mask)
        if predicted is None:
            uncertain = shared & value_map.touched
        elif value_map.matrix is not None:
            raise ProblemError("give either predicted or parameters: parameters say it already.")
        else:
            uncertain = np.array(predicted, dtype=bool)
        exact = np.array(equality, dtype=bool)
        if exact.ndim == 0:
            exact = np.full(structure.rows, bool(exact))
        problem = cls(
            structure,
            np.array(b, dtype=np.float64),
            exact,
            mask,
            uncertain,
            value_map,
            read_sense(sense),
        )
        problem._check()
        return problem

    @property
    def label_shape(self) -> tuple[int, ...]:
        """The shape of one instance's labels and predictions: (G, S) or (P,)."""
        return self.value_map.label_shape

    @overload
    def values(self, parameters: Array, scale: float = 1.0) -> Array: ...
    @overload
    def values(self, parameters: Any, scale: float = 1.0) -> Any: ...
    def values(self, parameters: Any, scale: float = 1.0) -> Any:
        """Return what is maximised, (K, G, S): ±(y₀ + B p) / scale for labels or predictions p.

        This is the only place where a task's sense turns into a sign. Numpy or torch; the
        gradient flows through.
        """
        values = self.value_map.values(parameters)
        divisor = scale if self.sense == "maximise" else -scale
        return values if divisor == 1.0 else values / divisor

    def objective(self, values: Array, x: Array) -> Array:
        """Return what decisions are worth, (K,), in the task's own sense, for maximised values."""
        worth: Array = (values * x).sum(axis=(1, 2))
        return worth if self.sense == "maximise" else -worth

    @cached_property
    def counted(self) -> Mask:
        """Which labels count for the mean squared error: (G, S), (K, G, S) or (P,).

        Parameters always do; option values do where they are predicted and exist.
        """
        if self.value_map.matrix is not None:
            return np.ones(self.label_shape, dtype=bool)
        return self.predicted & self.mask

    @cached_property
    def all_counted(self) -> bool:
        """Whether every label counts for the mean squared error."""
        return bool(self.counted.all())

    def pack(self, labels: Array) -> Array:
        """Keep only what is predicted: (K, G, S) or (K, P) to (K, P)."""
        if self.value_map.matrix is not None:
            return labels
        packed: Array = labels[:, self.predicted]
        return packed

    def unpack(self, packed: Array) -> Array:
        """Put what is predicted back in its place, 0 elsewhere: (K, P) to the labels' shape."""
        if self.value_map.matrix is not None:
            return packed
        labels = np.zeros((len(packed), *self.shape))
        labels[:, self.predicted] = packed
        return labels

    def limited(self, search_limit: float | None) -> Problem:
        """Return this problem with a limit to the search for an exact decision."""
        return dataclasses.replace(self, search_limit=search_limit)

    def vary(
        self,
        *,
        A: Any = None,
        b: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
    ) -> Problem:
        """Return this problem with an A, b (K, M) or mask (K, G, S) of each instance's own.

        A is (K, M, G, S), or a list of K sparse matrices (M, G·S).
        """
        structure = self.structure
        if A is not None:
            structure = _instance_rows_of(self, A, self.mask if mask is None else np.asarray(mask))
        problem = dataclasses.replace(
            self,
            structure=structure,
            b=self.b if b is None else np.array(b, dtype=np.float64),
            mask=self.mask if mask is None else np.array(mask, dtype=bool),
        )
        problem._check()
        return problem

    def _check(self) -> None:
        check_parts(self)
        check_feasible(self)
        for array in (self.b, self.equality, self.mask, self.predicted, self.structure.numbers):
            array.setflags(write=False)


def _instance_rows_of(problem: Problem, A: Any, mask: Mask) -> Structure:
    """Return the rows of each instance, for the rows, groups and options of a problem."""
    wanted = (problem.rows, *problem.shape)
    if not rows_vary(A):
        raise ProblemError(
            f"A must be (instances, rows, groups, options) = (instances, "
            f"{', '.join(map(str, wanted))}) or a list of sparse matrices, got shape {np.shape(A)}."
        )
    structure = instance_rows(A, problem.groups, None)
    if (structure.rows, structure.groups, structure.options) != wanted:
        raise ProblemError(
            f"A must have shape (instances, {', '.join(map(str, wanted))}), got "
            f"(instances, {structure.rows}, {structure.groups}, {structure.options})."
        )
    _check_padding(structure.pattern.at % problem.size, mask)
    return structure


def _check_padding(used: npt.NDArray[np.intp], mask: Mask) -> None:
    """Refuse entries of A on options that exist in no instance."""
    if (~in_some_instance(mask).ravel())[used].any():
        raise ProblemError("A must be 0 on options that do not exist (padding).")
