"""Answers that every run of a dataset needs for its evaluation, kept beside the results.

True optima, duals of validation labels and the regret of the shared warm start are the same
whatever a run trains. They are solved once, kept in ``evaluation/`` of the results folder under
a name made from the data, the evaluation solver and the code of both, and checked by a hash of
their content when read. Several processes may write them: each file appears whole. Answers that
are quick to solve again are not kept.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dglbench import options
from dglbench.atomic import atomic_path
from dglbench.runs import provenance
from dglbench.runs.code_hash import source_hash
from dglbench.solvers import Solver
from dglbench.task import Task, TaskSpec

__all__ = ["FOLDER", "SharedAnswers"]

FOLDER = "evaluation"
_WORTH_KEEPING_S = 0.2


class SharedAnswers:
    """Arrays kept for one dataset and one evaluation solver."""

    def __init__(
        self, folder: Path, task: Task, data: TaskSpec, digest: str | None, solver: Solver
    ) -> None:
        document = {
            "task": data.task,
            "settings": options.as_dict(data.settings),
            "seed": data.seed,
            "digest": digest,
            "solver": type(solver).__qualname__,
            "source": source_hash("dglbench.training.evaluation", type(task), type(solver)),
            "versions": provenance.libraries(provenance.environment_here()),
        }
        canonical = json.dumps(document, sort_keys=True)
        self._key = hashlib.sha256(canonical.encode()).hexdigest()[:16]
        self._folder = folder / FOLDER

    def get(self, name: str, estimated_s: float, solve: Callable[[], Any]) -> Any:
        """Return the array kept under ``name``, or solve it, and keep it if that takes long."""
        if estimated_s < _WORTH_KEEPING_S:
            return solve()
        path = self._folder / f"{self._key}-{name}"
        kept = _read(path)
        if kept is not None:
            return kept
        answer = solve()
        _write(path, answer)
        return answer


def _read(path: Path) -> Any:
    """Return what was written, None if there is nothing or it is not what was written."""
    try:
        seal, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != seal:
        return None
    return np.load(io.BytesIO(content), allow_pickle=False)


def _write(path: Path, answer: Any) -> None:
    """Keep an answer; on a full disk or without access it is simply not shared."""
    buffer = io.BytesIO()
    np.save(buffer, answer, allow_pickle=False)
    content = buffer.getvalue()
    try:
        with atomic_path(path) as temporary:
            temporary.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    except OSError:
        return
