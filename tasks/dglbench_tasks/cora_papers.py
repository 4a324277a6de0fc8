"""Papers, their words and their citations: Cora, or a made network of the same form.

Cora is not part of dglbench: it is taken from ``DGLBENCH_CORA_FILE``, or downloaded once
(`dglbench_tasks.released`), and its sha256 is checked either way.

References: McCallum et al. (2000), Automating the construction of internet portals with machine
learning; Sen et al. (2008), Collective classification in network data; the file is that of Shchur
et al. (2018), Pitfalls of graph neural network evaluation.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array
from dglbench.streams import stream
from dglbench_tasks.released import Released, located

__all__ = ["FILE", "PAPERS", "Papers", "made", "released"]

FILE = Released(
    title="Cora",
    variable="DGLBENCH_CORA_FILE",
    file_name="cora.npz",
    sha256="068e22d90c3849b4057dfb05851741428992af058efcd4e7ebb4186f3d581de2",
    # First as of a commit of that repository, then wherever it stands.
    urls=tuple(
        f"https://raw.githubusercontent.com/shchur/gnn-benchmark/{revision}/data/npz/cora.npz"
        for revision in ("99356931fd6158a05de41632669d5ab69e6e105e", "HEAD")
    ),
    instead="use source=made, which needs no download",
)
PAPERS = 2708
FIELDS = 7

TOPIC_SIZE = 6
TOPIC_WORDS, PAPER_WORDS, OF_THE_TOPIC = 3, 4, 0.9
MADE_WORDS = 12
CITATIONS, WITHIN_TOPIC = 3, 0.9


class Papers(NamedTuple):
    """A network of papers."""

    words: Array
    """(papers, words): 1 where a paper has a word, else 0."""
    fields: npt.NDArray[np.int64]
    """(papers,): the field of each, from 0."""
    citations: npt.NDArray[np.intp]
    """(citations, 2): two papers of which one cites the other, each pair once."""


def released() -> Papers:
    """Read Cora: 2,708 papers of 7 fields, 1,433 words, 5,278 pairs with a citation."""
    from scipy.sparse import csr_array

    with np.load(located(FILE), allow_pickle=False) as file:
        parts = [
            csr_array(
                (file[f"{name}_data"], file[f"{name}_indices"], file[f"{name}_indptr"]),
                shape=tuple(file[f"{name}_shape"]),
            )
            for name in ("adj", "attr")
        ]
        fields = file["labels"].astype(np.int64)
    cites, words = parts
    return Papers(
        (words.toarray() > 0).astype(np.float64), fields, _pairs(np.stack(cites.nonzero(), axis=1))
    )


def made(papers: int, seed: int) -> Papers:
    """Draw a network in Cora's manner.

    Six papers share a topic, and topics belong to one of seven fields. Of a paper's four words
    nine in ten are among the three of its topic, the others any of 12: two topics share words, so
    that something can be learnt about topics that no training instance has. A paper cites three
    papers, nine in ten within its topic.
    """
    draws = stream(seed, "cora", "network")
    topics = -(-papers // TOPIC_SIZE)
    field_of = np.arange(topics) % FIELDS
    topic = draws.permutation(np.arange(papers) % topics)
    of_topic = np.stack([draws.choice(MADE_WORDS, TOPIC_WORDS, False) for _ in range(topics)])
    words = np.zeros((papers, MADE_WORDS))
    for paper in range(papers):
        own = of_topic[topic[paper], draws.integers(TOPIC_WORDS, size=PAPER_WORDS)]
        other = draws.integers(MADE_WORDS, size=PAPER_WORDS)
        words[paper, np.where(draws.random(PAPER_WORDS) < OF_THE_TOPIC, own, other)] = 1.0
    cited = []
    for paper in range(papers):
        near = np.flatnonzero(topic == topic[paper])
        for _ in range(CITATIONS):
            within = draws.random() < WITHIN_TOPIC
            cited.append((paper, int(draws.choice(near) if within else draws.integers(papers))))
    return Papers(words, field_of[topic], _pairs(np.array(cited, dtype=np.intp)))


def _pairs(cited: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return each pair once, the smaller number first, without papers that cite themselves."""
    ordered = np.sort(cited.astype(np.intp), axis=1)
    distinct: npt.NDArray[np.intp] = np.unique(ordered[ordered[:, 0] != ordered[:, 1]], axis=0)
    return distinct
