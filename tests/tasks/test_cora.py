"""Diverse matching: the partition, the rows of each instance, and what the released file holds."""

import itertools
import os

import numpy as np
import pytest

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.solvers import evaluation_solver
from dglbench.streams import stream
from dglbench_tasks import cora_papers
from dglbench_tasks.cora_partition import partition

FEW = {"source": "made", "train": 6, "val": 2, "test": 2}

needs_release = pytest.mark.skipif(
    not os.environ.get("DGLBENCH_CORA_FILE"),
    reason="DGLBENCH_CORA_FILE does not name a copy of Cora",
)


def dataset(seed=1, **settings):
    task = find_task("cora")
    return task.generate(task.parse_settings({**FEW, **settings}), seed)


def test_a_network_of_clear_parts_is_cut_between_them():
    """Complete bipartite parts of 2 × 4 and one citation between neighbours."""
    shuffled = stream(2, "papers").permutation(48)
    cites = [
        (shuffled[8 * part + i], shuffled[8 * part + 4 + j])
        for part in range(6)
        for i, j in itertools.product(range(4), repeat=2)
    ]
    cites += [(shuffled[8 * part], shuffled[8 * part + 8]) for part in range(5)]
    cut = partition(np.sort(np.array(cites), axis=1), 48, 6, 4, stream(0, "cut"))
    assert sorted(cut.sides.ravel()) == list(range(48))
    assert cut.inside == pytest.approx(96 / 101)
    assert cut.across == pytest.approx(96 / 101)


def test_the_partition_is_better_than_chance_and_every_paper_is_in_one_instance():
    papers = cora_papers.made(320, 3)
    cut = partition(papers.citations, 320, 15, 10, stream(0, "cut"))
    assert cut.sides.shape == (15, 2, 10)
    assert len(np.unique(cut.sides)) == 300
    draws = stream(1, "chance").permutation(320)[:300].reshape(15, 20)
    place = np.full(320, -1)
    for number, members in enumerate(draws):
        place[members] = number
    one, other = papers.citations.T
    assert cut.inside > 3 * ((place[one] == place[other]) & (place[one] >= 0)).mean()
    assert 0.5 * cut.inside < cut.across <= cut.inside
    again = partition(papers.citations, 320, 15, 10, stream(0, "cut"))
    assert np.array_equal(cut.sides, again.sides)


@pytest.mark.parametrize(("p", "q"), [(0.25, 0.25), (0.5, 0.5), (0.0, 0.9)])
def test_matchings_are_as_diverse_as_asked_and_the_best_there_are(p, q):
    data = dataset(n=4, p=p, q=q)
    values, fields = data.problem.values(data.labels), np.array(data.constants["fields"])
    every = [
        pairs
        for size in range(5)
        for left in itertools.combinations(range(4), size)
        for right in itertools.permutations(range(4), size)
        for pairs in [list(zip(left, right, strict=True))]
    ]
    solver = evaluation_solver(find_task("cora"), data.problem)
    chosen = solver.decide(values, np.arange(10))
    found = data.problem.objective(values, chosen)
    for instance in range(10):
        side = fields[instance]
        best = 0.0
        for pairs in every:
            alike = sum(side[0, i] == side[1, j] for i, j in pairs)
            if alike >= p * len(pairs) - 1e-9 and len(pairs) - alike >= q * len(pairs) - 1e-9:
                best = max(best, sum(data.labels[instance, i, j] for i, j in pairs))
        assert found[instance] == pytest.approx(best)


def test_a_matching_needs_no_more_than_both_shares():
    with pytest.raises(OptionError, match=r"p \+ q must be at most 1, got 0\.7 \+ 0\.5"):
        dataset(n=4, p=0.7, q=0.5)
    with pytest.raises(OptionError, match="enough for 27 instances of 2 × 50, and train"):
        dataset(source="cora", n=50, train=30)


def test_predictors_see_pairs_without_making_them():
    import torch

    from dglbench.predictors.choice import find_predictor

    data = dataset(n=5)
    features = torch.from_numpy(data.features)
    for text in ("linear", "mlp:hidden=7,layers=2"):
        torch.manual_seed(1)
        network = find_predictor(text).build(find_task("cora"), data)
        inner = network.network.whole
        answer = network(features)
        assert answer.shape == data.labels.shape
        assert not answer[:, :, 5].any()
        pair = torch.cat([features[3, 2], features[3, 5 + 4]])
        level = network.outputs.level
        assert torch.allclose(answer[3, 2, 4], torch.sigmoid(level + inner(pair)[0]))


@needs_release
def test_the_released_file_is_what_the_docstring_says():
    papers = cora_papers.released()
    assert papers.words.shape == (2708, 1433)
    assert set(np.unique(papers.words)) == {0.0, 1.0}
    assert (len(papers.citations), papers.fields.max() + 1) == (5278, 7)


@needs_release
def test_instances_of_cora_share_no_paper():
    task = find_task("cora")
    data = task.generate(task.parse_settings({}), 25)
    assert data.features.shape == (27, 100, 1433)
    assert [len(data.rows(split)) for split in ("train", "val", "test")] == [17, 4, 6]
    assert 0.72 < data.constants["citations_inside_instances"] < 0.78
    assert 0.57 < data.constants["citations_between_sides"] < 0.62
    assert data.labels.sum() == pytest.approx(5278 * data.constants["citations_between_sides"])
