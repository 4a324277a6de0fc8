"""What a fit takes, and what it says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dglbench import DatasetError, OptionError, Problem
from dglbench.data.dataset_file import stored_digest
from dglbench.fitting.intake import from_arrays, from_sources
from fitting.helpers import save, top_k


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sizes(given: Any) -> list[int]:
    return [len(given.dataset.rows(split)) for split in ("train", "val", "test")]


def test_arrays_are_split_70_15_15_at_random_or_in_order(tmp_path: Path) -> None:
    save(tmp_path, top_k(100, shock=0, noise=1))
    given = from_sources(["mine.npz"])
    assert sizes(given) == [70, 15, 15]
    assert "100 instances; 8 items to take or leave; 1 exact row" in given.words
    assert given.words.endswith("70 to train with, 15 to choose by, 15 to judge by")
    ordered = from_sources(["mine.npz"], split="time")
    assert ordered.dataset.split.tolist() == [0] * 70 + [1] * 15 + [2] * 15
    assert given.dataset.split.tolist() != ordered.dataset.split.tolist()


def test_a_split_of_ones_own_is_kept() -> None:
    arrays = top_k(40, shock=0, noise=1)
    split = np.repeat(["train", "val", "test"], [20, 10, 10])
    assert sizes(from_arrays({**arrays, "split": split})) == [20, 10, 10]


def test_a_dataset_file_and_a_bundled_setting_bring_their_own(tmp_path: Path) -> None:
    save(tmp_path, top_k(40, shock=0, noise=1))
    request = from_sources(["mine.npz"]).keep(tmp_path / "fitted")
    (file,) = request.data
    assert stored_digest(Path(file))
    assert from_sources([file]).content == from_sources(["mine.npz"]).content
    bundled = from_sources(["matching-10"], seed=3)
    assert bundled.words.startswith("matching-10, data seed 3; ")
    assert bundled.keep(tmp_path).tasks == ("matching-10",)
    with pytest.raises(OptionError, match=r"is a dataset file, .* so --split has no place"):
        from_sources([file], split="time")
    with pytest.raises(OptionError, match=r"matching-10 brings its own data .* --minimise"):
        from_sources(["matching-10"], minimise=True)
    with pytest.raises(OptionError, match="--seed draws the data of a bundled setting"):
        from_sources(["mine.npz"], seed=3)


def test_a_problem_takes_the_place_of_a_and_b() -> None:
    arrays = top_k(40, shock=0, noise=1)
    both = {name: arrays[name] for name in ("features", "labels")}
    given = from_arrays(both, Problem.top_k(8, 3))
    plain = from_arrays(arrays)
    assert (given.dataset.problem.flat_A == plain.dataset.problem.flat_A).all()
    assert given.dataset.problem.equality.tolist() == [True]
    labels = np.random.default_rng(0).normal(size=(40, 4, 3))
    features = np.random.default_rng(1).normal(size=(40, 4, 2))
    mask = np.ones((4, 3), dtype=bool)
    mask[0, 2] = False
    assigned = Problem.assignment(4, [2, 2, 2], mask=mask, sense="minimise")
    dataset = from_arrays({"features": features, "labels": labels}, assigned).dataset
    assert dataset.problem.sense == "minimise"
    assert (dataset.problem.mask == mask).all()
    paths = Problem.paths([(0, 1), (1, 2), (0, 2)], 0, 2)
    with pytest.raises(DatasetError, match="labels of this problem are not option values"):
        from_arrays({"features": features[:, 0], "labels": labels[:, 0]}, paths)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "there are 12 instances; a fit needs at least 20"),
        ({"split": ["train"] * 10 + ["test"] * 2}, "there are 12 instances"),
    ],
)
def test_too_few_instances_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        from_arrays({**top_k(12, shock=0, noise=1), **change})


def test_too_few_of_one_split_are_refused() -> None:
    split = ["train"] * 30 + ["val"] + ["test"] * 9
    with pytest.raises(DatasetError, match="1 val instances; a fit needs at least 3"):
        from_arrays({**top_k(40, shock=0, noise=1), "split": split})


def test_what_is_neither_a_file_nor_a_setting_is_refused() -> None:
    with pytest.raises(DatasetError, match=r"no file or folder mien\.npz, and no bundled setting"):
        from_sources(["mien.npz"])
    with pytest.raises(OptionError, match="--split must be random or time, got 'week'"):
        from_sources(["matching-10"], split="week")  # type: ignore[arg-type]
