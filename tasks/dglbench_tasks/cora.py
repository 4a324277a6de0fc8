"""Diverse matching of papers that may cite each other (Cora)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.layout import Kind, Layout, Link
from dglbench.problem import Array, Problem
from dglbench.streams import stream
from dglbench.structure import ByInstance, Pattern
from dglbench.task import Dataset, Task, TaskSpec, split_sizes_to_rows
from dglbench_tasks.cora_papers import PAPERS, Papers, made, released
from dglbench_tasks.cora_partition import partition

__all__ = ["Cora", "CoraSettings"]


@dataclass(frozen=True)
class CoraSettings:
    """How large instances are, and how diverse a matching has to be."""

    n: Annotated[int, Ge(2), Doc("papers on either side of an instance")] = 50
    source: Annotated[
        Literal["cora", "made"], Doc("Cora (downloaded once), or a made network of papers")
    ] = "cora"
    p: Annotated[float, Ge(0), Le(1), Doc("least share of matched pairs of one field")] = 0.25
    q: Annotated[float, Ge(0), Le(1), Doc("least share of matched pairs of two fields")] = 0.25
    train: Annotated[int, Ge(1), Doc("instances to train on")] = 17
    val: Annotated[int, Ge(1), Doc("instances to validate on")] = 4
    test: Annotated[int, Ge(1), Doc("instances to test on")] = 6

    def __post_init__(self) -> None:
        """Refuse combinations that no single field can rule out."""
        if self.p + self.q > 1:
            raise ValueError(
                f"p + q must be at most 1, got {self.p:g} + {self.q:g}: a pair is of one field or "
                "of two."
            )
        most = PAPERS // (2 * self.n)
        if self.source == "cora" and sum(self.sizes) > most:
            raise ValueError(
                f"Cora has {PAPERS} papers, enough for {most} instances of 2 × {self.n}, and "
                f"train + val + test are {sum(self.sizes)}; set fewer, a smaller n, or source=made."
            )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Instances in train, val and test."""
        return self.train, self.val, self.test


class Cora(Task):
    """Match papers so that many matched pairs are linked by a citation, and pairs are diverse.

        maximise Σ_ij y_ij x_ij
        subject to   Σ_i x_ij ≤ 1                       for every paper j on the right
                     Σ_ij (p − m_ij) x_ij ≤ 0           a share p of the pairs of one field, or more
                     Σ_ij (q − 1 + m_ij) x_ij ≤ 0       a share q of two fields, or more

    A group is a paper on the left; its options are the papers on the right and *unmatched*, worth
    0. y_ij is 1 if one of the two cites the other, m_ij is 1 if both are of one field: fields
    differ by instance, and so does A. The relaxation is fractional.

    Features are the words of each paper, left ones first: (instances, 2n, words); predictors see
    both papers of a pair, which are never put side by side in memory. Predictions are in (0, 1).
    Instances are parts of the network (`cora_partition`: our own, by citations alone); no paper is
    in two of them. Of Cora's 5,278 citations about 73 % are inside instances of 2 × 50 and 59 %
    between the sides; the constants of a dataset have the exact shares.

    Reference: Ferber et al. (2020), MIPaaL; Mandi et al. (2024), Decision-Focused Learning:
    foundations, state of the art, benchmark and future opportunities.
    """

    name: ClassVar[str] = "cora"
    summary: ClassVar[str] = "match papers that cite each other, diverse in fields (Cora)"
    integral: ClassVar[bool | None] = False
    sizes: ClassVar[tuple[int, ...]] = (50,)
    Settings: ClassVar[type[Any]] = CoraSettings
    rows: ClassVar[Kind | None] = "sides"
    link: ClassVar[Link] = "sigmoid"

    def layout(self, dataset: Dataset) -> Layout | None:
        """Say that features are indicators of words."""
        layout = super().layout(dataset)
        return None if layout is None else dataclasses.replace(layout, indicators=True)

    def generate(self, settings: CoraSettings, seed: int) -> Dataset:
        """Cut the network into instances, and split them."""
        n, instances = settings.n, sum(settings.sizes)
        # As many parts as there is room for: which citations are kept does not depend on the split.
        parts = PAPERS // (2 * n) if settings.source == "cora" else instances
        papers = released() if settings.source == "cora" else made(2 * n * instances, seed)
        cut = partition(
            papers.citations, len(papers.words), parts, n, stream(seed, "cora", "partition")
        )
        order = stream(seed, "cora", "split").permutation(parts)[:instances]
        sides = cut.sides[order]
        constants = {
            "citations_inside_instances": cut.inside,
            "citations_between_sides": cut.across,
            "fields": papers.fields[sides].tolist(),
        }
        problem = self.problem(settings, constants)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=problem.vary(A=_rows(settings, papers.fields[sides])),
            constants=constants,
            features=papers.words[sides.reshape(instances, 2 * n)],
            labels=_links(papers, sides),
            split=split_sizes_to_rows(settings.sizes, np.arange(instances)),
        )

    def problem(self, settings: CoraSettings, constants: Mapping[str, Any]) -> Problem:
        """One row for every paper on the right, then the two of diversity (first instance)."""
        n = settings.n
        predicted = np.ones((n, n + 1), dtype=bool)
        predicted[:, n] = False
        fields = np.array(constants["fields"][:1])
        return Problem.build(
            [_rows(settings, fields).one(0)],
            np.append(np.ones(n), [0.0, 0.0]),
            predicted=predicted,
            groups=n,
        )


def _rows(settings: CoraSettings, fields: npt.NDArray[np.int64]) -> ByInstance:
    """Return A for fields (instances, 2, n)."""
    n, p, q = settings.n, settings.p, settings.q
    left, right = np.divmod(np.arange(n * n), n)
    option = left * (n + 1) + right
    size = n * (n + 1)
    rows = np.concatenate([right, np.full(n * n, n), np.full(n * n, n + 1)])
    at = rows * size + np.tile(option, 3)
    alike = (fields[:, 0, left] == fields[:, 1, right]).astype(np.float64)
    use = np.concatenate([np.ones_like(alike), p - alike, q - 1.0 + alike], axis=1)
    order = np.argsort(at)
    return ByInstance(Pattern(at[order], n + 2, n, n + 1), use[:, order])


def _links(papers: Papers, sides: npt.NDArray[np.intp]) -> Array:
    """Return y (instances, n, n + 1), 0 for *unmatched*."""
    from scipy.sparse import coo_array

    one, other = papers.citations.T
    count = len(papers.words)
    both = (np.concatenate([one, other]), np.concatenate([other, one]))
    linked = coo_array((np.ones(2 * len(one)), both), shape=(count, count)).tocsr()
    n = sides.shape[2]
    links = np.zeros((len(sides), n, n + 1))
    for instance, (left, right) in enumerate(sides):
        links[instance, :, :n] = linked[left][:, right].toarray()
    return links
