"""Whether runs can be repeated: some drawn at random, trained again, compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dglbench.errors import DglbenchError
from dglbench.runs.provenance import environment_here, libraries, upgrades
from dglbench.runs.record import RunOutput, RunRecord, Selected
from dglbench.streams import stream
from dglbench.sweep.request.specs import one_spec, request_like
from dglbench.training.evaluation import load_data
from dglbench.training.run import run_to_memory
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["TOLERANCE", "check_reruns"]

TOLERANCE = 0.005
"""Half a percentage point: how far regrets may be apart where versions or processors differ."""
_SLOWER = 3.0


def check_reruns(
    subject: Subject, count: int, seed: int, watch: Callable[[str], None] | None = None
) -> Verdict:
    """Train runs drawn at random again.

    Where code, versions and processor are those of the run, the same bits are wanted; else regrets
    within `TOLERANCE`. Seconds beyond a factor of three are noted: a busy machine does that too.
    """
    names = sorted(subject.done)
    drawn = stream(seed, "verify", "rerun").choice(len(names), min(count, len(names)), False)
    problems: list[str] = []
    notes: list[str] = []
    same = 0
    for number in drawn:
        name = names[int(number)]
        if watch:
            watch(name)
        record = subject.done[name]
        try:
            spec = one_spec([request_like(record.identity)])
            output = run_to_memory(spec, load_data(spec.data, spec.data_digest))
        except DglbenchError as error:
            problems.append(f"{name}: it cannot be made again: {error}")
            continue
        found, said = _compare(subject, name, record, output, exactly=_alike(record, output.record))
        problems += [f"{name}: {problem}" for problem in found]
        notes += [f"{name}: {note}" for note in said]
        same += not found
    good = f"{same} of {len(drawn)} runs drawn with seed {seed} were trained again with the results"
    return judged("reruns", f"{good} that the pack has", problems, notes)


def _alike(then: RunRecord, now: RunRecord) -> bool:
    """Say whether the same bits can be asked for: same code, libraries and processor."""
    return (
        then.identity.source == now.identity.source
        and not upgrades(then)
        and libraries(then.environment) == libraries(environment_here())
        and then.environment.cpu == now.environment.cpu
    )


def _compare(
    subject: Subject, name: str, then: RunRecord, output: RunOutput, *, exactly: bool
) -> tuple[list[str], list[str]]:
    now = output.record
    if now.selected is None or then.selected is None:
        return [f"it ended as {now.state} now ({now.status.message})"], []
    problems: list[str] = []
    notes: list[str] = []
    before, after = _figures(then.selected), _figures(now.selected)
    differ = [key for key in before if not _equal(before[key], after[key])]
    said = "; ".join(f"{key} {before[key]:.10g}, now {after[key]:.10g}" for key in differ)
    decisions = _other_decisions(subject, name, output)
    if exactly and (differ or decisions):
        what = said or f"{decisions} decisions differ"
        problems.append(f"not the same bits, with the same code, libraries and processor: {what}")
    elif differ:
        far = max(abs(before[k] - after[k]) for k in before if "regret" in k)
        words = f"other code, versions or processor: {said}"
        (notes if far <= TOLERANCE else problems).append(words)
    one, two = (r.summary.train_s if r.summary else 0.0 for r in (then, now))
    if min(one, two) > 0 and not 1 / _SLOWER <= one / two <= _SLOWER:
        here = then.environment.machine == now.environment.machine
        where = "on the same machine" if here else "on another machine"
        notes.append(f"{one:.3g} s of training in the pack, {two:.3g} s here, {where}")
    return problems, notes


def _figures(selected: Selected) -> dict[str, float]:
    found: dict[str, float] = {"epoch": selected.epoch}
    for split, regrets in (("validation", selected.val), ("test", selected.test)):
        if regrets is not None:
            found[f"{split} regret"] = regrets.relative_regret
            found[f"{split} pooled regret"] = regrets.pooled_regret
    return found


def _equal(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


def _other_decisions(subject: Subject, name: str, output: RunOutput) -> int:
    """Count the test instances that are decided otherwise."""
    before: Mapping[str, Any] = dict(subject.by_run("decisions", [name]))
    if name not in before or "decisions" not in output.tables:
        return 0
    then = np.array(before[name]["options"].to_list())
    now = np.array(output.tables["decisions"]["options"].to_pylist())
    return int((then != now).any(axis=1).sum()) if then.shape == now.shape else len(now)
