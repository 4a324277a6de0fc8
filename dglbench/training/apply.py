"""Use a trained run: its predictor with the selected weights, and exact decisions.

::

    trained = load_predictor(Path("results/mine-s0-dgl-1-0123456789ab"))
    predictions = trained.predict(features)     # in the labels' shape and unit
    decisions = trained.decide(predictions)     # (K, G, S), 0 or 1
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dglbench.data.checks import shape_words
from dglbench.data.dataset_file import stored_digest
from dglbench.data.loading import load_dataset, read_file
from dglbench.errors import DatasetError, RunError
from dglbench.packs.pack_files import is_pack
from dglbench.plugins import find_task
from dglbench.predictors.checks import build_predictor
from dglbench.predictors.choice import find_predictor
from dglbench.problem import Array, Problem
from dglbench.runs.record import Identity, RunRecord, digest
from dglbench.runs.selection import best_record
from dglbench.runs.store import WEIGHTS, damage, is_run, read_record, run_folder, run_folders
from dglbench.solvers import evaluation_solver
from dglbench.task import Dataset, Task, TaskSpec
from dglbench.training.calibration import Calibration, calibrate

if TYPE_CHECKING:
    from torch import nn

__all__ = ["VERDICT", "TrainedPredictor", "best_run", "fitted_run", "load_predictor"]

VERDICT = "verdict.json"
"""What `dglbench fit` leaves beside its runs."""

_PLACES = ("data", ".")
"""Folders searched for a run's dataset file, from here and from the results; content decides."""


@dataclass(frozen=True)
class TrainedPredictor:
    """A run's predictor, with the problem it was trained for."""

    identity: Identity
    task: Task = field(repr=False)
    dataset: Dataset = field(repr=False)
    """What the run was trained on."""
    network: nn.Module
    folder: Path
    """The run's folder; of several runs, the one that validation chose."""

    def predict(self, features: npt.ArrayLike) -> Array:
        """Predict in the labels' shape and unit, from features of the training shape."""
        import torch

        from dglbench.training.predictor import predict
        from dglbench.training.process_state import training_state

        given = np.array(features, dtype=np.float64)
        wanted = self.dataset.features.shape[1:]
        if wanted[-1] == 1 and given.shape[1:] == wanted[:-1]:
            given = given[..., None]  # a single feature, given without its axis
        if given.shape[1:] != wanted or not len(given):
            raise DatasetError(
                f"features have shape {shape_words(given.shape)}; this run was trained on "
                f"(instances, {', '.join(map(str, wanted))})."
            )
        if not np.isfinite(given).all():
            where = ", ".join(map(str, np.argwhere(~np.isfinite(given))[0]))
            raise DatasetError(
                f"features are NaN or infinite, first at features[{where}]; give finite numbers."
            )
        # As the run was evaluated, so that the bits are the same.
        with training_state(self.identity.threads, seed=0):
            return np.asarray(predict(self.network, torch.from_numpy(given)).numpy())

    def export(self, path: str | Path, *, force: bool = False) -> None:
        """Write the predictor to a ``.pt2`` file that runs with torch alone."""
        import torch

        from dglbench.training.export import export_network

        example = torch.from_numpy(self.dataset.features[:1])
        export_network(self.network, example, Path(path), force=force)

    def decide(self, predictions: npt.ArrayLike, problem: Problem | None = None) -> Array:
        """Return the exact decisions for predictions, (K, G, S), as 0 and 1.

        ``problem`` is that of the new instances, if it differs from the training's: see `vary`.
        """
        given = np.array(predictions, dtype=np.float64)
        at = problem or self.dataset.problem
        if at.instances not in (None, len(given)) or (at.varies and problem is None):
            parts = {"A": at.rows_vary, "b": at.b.ndim == 2, "mask": at.mask.ndim == 3}
            names = [name for name, differs in parts.items() if differs]
            got = f"{at.instances} entries" if problem is not None else "none"
            raise DatasetError(
                f"give {' and '.join(names)} by instance: one entry for each of the {len(given)} "
                f"new instances; there are {got}."
            )
        return evaluation_solver(self.task, at).decide(at.values(given), np.arange(len(given)))

    def promised(self, predictions: npt.ArrayLike, decisions: Array) -> Array:
        """(K,): what the predictions say that decisions are worth; see `calibration`."""
        problem = self.dataset.problem
        return problem.objective(problem.values(np.asarray(predictions, np.float64)), decisions)

    @cached_property
    def calibration(self) -> Calibration | None:
        """What plans turn out to be worth, given what they promise; learnt on validation."""
        data, rows = self.dataset, self.dataset.rows("val")
        if not len(rows):
            return None
        predictions = self.predict(data.features[rows])
        solver = evaluation_solver(self.task, data.problem)
        decisions = solver.decide(data.problem.values(predictions), rows)
        realised = data.problem.objective(data.problem.values(data.labels[rows]), decisions)
        return calibrate(self.promised(predictions, decisions), realised)

    def vary(
        self,
        b: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
        *,
        A: Any = None,
    ) -> Problem:
        """Return the problem with A (K, M, G, S), b (K, M) and mask (K, G, S) of new instances."""
        base = self.task.problem(self.dataset.spec.settings, self.dataset.constants)
        given = not (A is None and b is None and mask is None)
        return base.vary(A=A, b=b, mask=mask) if given else base


def load_predictor(folder: Path, dataset: Path | None = None) -> TrainedPredictor:
    """Load the selected weights of a run, or of the best run of a sweep's folder.

    ``dataset`` is the file it was trained on. Data of bundled tasks are generated again, and a
    file in ``data/`` is found by its content.
    """
    import torch

    if is_pack(folder) or is_pack(folder.parent):
        again = folder if is_pack(folder.parent) else folder / "RUN"
        raise RunError(
            f"{folder} has no weights: packs hold none; train the run again with `dglbench train "
            f"--like {again} --out results`, and give its folder."
        )
    folder = folder if is_run(folder) else fitted_run(folder) or best_run(folder)
    record = _finished(folder)
    identity = record.identity
    task = find_task(identity.task)
    trained_on = _dataset(identity, task, folder, dataset)
    network = build_predictor(find_predictor(identity.predictor), task, trained_on)
    try:
        network.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True))
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        raise RunError(
            f"the weights of {folder} do not fit predictor {identity.predictor} of task "
            f"{identity.task} as it is now; train the run again with dglbench train --like."
        ) from error
    network.to(getattr(torch, identity.protocol.dtype))
    return TrainedPredictor(identity, task, trained_on, network.eval(), folder)


def fitted_run(folder: Path) -> Path | None:
    """Return the run that the verdict of `dglbench fit` in this folder names, if there is one."""
    try:
        chosen = json.loads((folder / VERDICT).read_text("utf-8"))["chosen"]["run"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(
            f"{folder / VERDICT} cannot be read; run dglbench fit again with --out {folder}."
        ) from error
    return run_folder(folder, str(chosen))


def best_run(folder: Path) -> Path:
    """Return the run of a folder with the lowest validation regret, all being of the same data."""
    records: dict[str, RunRecord] = {}
    for each in run_folders(folder):
        with contextlib.suppress(RunError):  # another run of the folder may be whole
            records[each.name] = read_record(each)
    data = {
        (record.identity.task, digest(record.identity.settings), record.identity.seed,
         record.identity.data_digest): f"{record.identity.setting}, seed {record.identity.seed}"
        for record in records.values()
    }  # fmt: skip
    if len(data) > 1:
        names = sorted(set(data.values()))
        few = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise RunError(
            f"{folder} holds runs on different data ({few}), and regrets of different data do not "
            "compare; give the folder of one run."
        )
    best = best_record(records.values())
    if best is None:
        raise RunError(
            f"{folder} holds no finished run; give the folder of a run, such as "
            "results/mine-s0-dgl-1-0123456789ab, or of a sweep."
        )
    return folder / best.run_id


def _finished(folder: Path) -> RunRecord:
    try:
        record = read_record(folder)
        problem = damage(folder, record, weights=False)
    except (RunError, OSError) as error:
        raise RunError(
            f"{folder} holds no run that can be read ({error}); give the folder of a run, such as "
            "results/mine-s0-dgl-1-0123456789ab."
        ) from error
    if problem:
        raise RunError(f"{folder} cannot be used: {problem}; train it again.")
    if not (folder / WEIGHTS).is_file():
        raise RunError(
            f"{folder} has no weights: the run ended as {record.state}, or they were not kept; "
            "train it again with dglbench train --like."
        )
    return record


def _dataset(identity: Identity, task: Task, folder: Path, path: Path | None) -> Dataset:
    settings = task.parse_settings(identity.settings)
    spec = TaskSpec(task.name, settings, identity.seed)
    if path is None and identity.data_digest is not None:
        path = next(_with_content(identity.data_digest, folder), None)
    if path is None:
        if identity.task == "own":
            raise RunError(
                f"{folder} was trained on a dataset file that is not in data/ (content "
                f"{str(identity.data_digest)[:12]}); give it with --trained-on."
            )
        return load_dataset(spec, identity.data_digest)
    found = read_file(path)
    by_content = identity.data_digest is not None
    same = found.digest == identity.data_digest if by_content else found.dataset.spec == spec
    if not same:
        raise RunError(
            f"{path} is not what {folder} was trained on (it holds {found.dataset.spec.full_name}, "
            f"content {found.digest[:12]})."
        )
    return found.dataset


def _with_content(digest: str, folder: Path) -> Iterator[Path]:
    """Yield the dataset files nearby whose footer has this digest."""
    roots = dict.fromkeys((Path(), folder.parent, folder.parent.parent))
    for root in roots:
        for place in _PLACES:
            for path in sorted((root / place).glob("*.parquet")):
                if stored_digest(path) == digest:
                    yield path
