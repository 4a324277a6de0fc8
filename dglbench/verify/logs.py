"""Whether a run's clock, curves and record agree with each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import polars as pl

from dglbench.clock import PHASES
from dglbench.runs.record import FIGURES, Regrets, RunRecord
from dglbench.runs.selection import improves, measure
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_logs"]

_SECONDS = 1e-6
"""How far sums of seconds may be apart, beside a millionth of their size."""
_STAMP_S = 2.0
"""When a run began and ended is logged in whole seconds."""


def check_logs(subject: Subject) -> Verdict:
    """Check that seconds add up, that time goes forward, and that the record repeats the curves."""
    timing = subject.table("timing", subject.records)
    problems = [*_clock(timing)]
    by_run = {name: rows for (name,), rows in timing.group_by("run_id", maintain_order=True)}
    regret = dict(subject.by_run("regret", subject.done))
    full = dict(subject.by_run("full_regret", subject.done))
    for name, record in subject.records.items():
        problems += [f"{name}: {problem}" for problem in _stamps(record)]
    for name, record in subject.done.items():
        if name in by_run and name in regret:
            found = _run(record, by_run[name], regret[name], full.get(name))
            problems += [f"{name}: {problem}" for problem in found]
    good = f"the seconds of {len(by_run)} runs add up, and their records say what their curves say"
    return judged("logs", good, problems)


def _clock(timing: pl.DataFrame) -> Iterator[str]:
    """Check the clock of all runs at once."""
    parts = [f"{phase}_s" for phase in PHASES]
    rows = timing.with_columns(
        phases=pl.sum_horizontal(parts),
        total=pl.col("epoch_s").cum_sum().over("run_id"),
        epochs=pl.col("epoch").diff().over("run_id"),
        fastest=pl.min_horizontal("epoch_s", *parts),
    )
    broken = {
        # In a thin pack a row has several epochs; those that were evaluated are looked up below.
        "epochs do not follow one another": pl.col("epochs").fill_null(1) < 1,
        "seconds below 0": pl.col("fastest") < -_SECONDS,
        "an epoch's phases do not add up to its seconds": _apart("phases", "epoch_s"),
        "elapsed_s is not the running sum of epoch_s: a clock was turned": _apart(
            "total", "elapsed_s"
        ),
    }
    for sentence, test in broken.items():
        for name, epoch in (
            rows.filter(test)
            .group_by("run_id", maintain_order=True)
            .agg(pl.col("epoch").first())
            .iter_rows()
        ):
            yield f"{name}: {sentence} (epoch {epoch})"


def _apart(one: str, two: str) -> pl.Expr:
    return (pl.col(one) - pl.col(two)).abs() > _SECONDS * (1 + pl.col(two).abs())


def _stamps(record: RunRecord) -> Iterator[str]:
    """Hold the wall clock against the training clock and the dates."""
    status, summary = record.status, record.summary
    if summary is not None and record.state == "done":
        inside = summary.train_s + (summary.outside_s or 0.0)
        if inside > status.wall_s * (1 + 1e-3) + 0.01:
            yield (
                f"{inside:.3f} s of training and evaluation in {status.wall_s:.3f} s of wall time"
            )
    if status.started and status.finished:
        try:
            took = datetime.fromisoformat(status.finished) - datetime.fromisoformat(status.started)
        except ValueError as error:
            yield f"its dates cannot be read ({error})"
            return
        if abs(took.total_seconds() - status.wall_s) > _STAMP_S + 0.01 * status.wall_s:
            yield (
                f"it began {status.started} and ended {status.finished}, {status.wall_s:.3f} s "
                "later by its own clock"
            )


def _run(
    record: RunRecord, timing: pl.DataFrame, regret: pl.DataFrame, full: pl.DataFrame | None
) -> Iterator[str]:
    summary, selected = record.summary, record.selected
    if summary is None or selected is None:
        return
    clock = dict(zip(timing["epoch"], timing["elapsed_s"], strict=True))
    for epoch, elapsed in regret.select("epoch", "elapsed_s").iter_rows():
        if not _close(clock.get(epoch), elapsed):
            yield f"evaluated {elapsed:.6f} s in, at epoch {epoch}, which its clock does not say"
            break
    if not _close(timing["elapsed_s"][-1], summary.train_s):
        yield f"train_s is {summary.train_s}, its clock ends at {timing['elapsed_s'][-1]}"
    if max(0, timing["epoch"][-1]) != summary.epochs_run:
        yield f"epochs_run is {summary.epochs_run}, its clock ends with epoch {timing['epoch'][-1]}"
    for purpose in ("label", "train", "refresh"):
        logged = int(timing[f"solves_{purpose}"].sum())
        if logged != summary.solves.get(purpose, 0):
            yield f"{summary.solves.get(purpose, 0)} {purpose} solves, its curves log {logged}"
    yield from _choice(record, timing, regret)
    at = full if full is not None and full.filter(epoch=selected.epoch).height else regret
    for split, said in (("val", selected.val), ("test", selected.test)):
        row = at.filter(epoch=selected.epoch, split=split)
        if said is not None and not (row.height and _same(row.row(0, named=True), said)):
            yield f"the {split} figures of its record are not those of its curves"


def _choice(record: RunRecord, timing: pl.DataFrame, regret: pl.DataFrame) -> Iterator[str]:
    """Check that validation chose the epoch, and what it took to reach it."""
    selected = record.selected
    if selected is None:
        return
    best: float | None = None
    epoch = None
    choose = record.identity.protocol.choose
    leading = record.identity.lead_in is not None
    val = regret.filter(split="val")
    figures = val[measure(record)] if val.height else [None] * regret["epoch"].n_unique()
    epochs = val["epoch"] if val.height else regret["epoch"].unique(maintain_order=True)
    for number, figure in zip(epochs, figures, strict=True):
        if not (leading and number <= 0) and improves(figure, best, choose):
            best, epoch = figure, number
    if epoch != selected.epoch:
        yield f"epoch {selected.epoch} is selected, by validation it is {epoch}"
    until = timing.filter(pl.col("epoch") <= selected.epoch)
    solves = until.select("solves_label", "solves_train", "solves_refresh").sum_horizontal().sum()
    if int(solves) != selected.solves:
        yield f"{selected.solves} solves to the selected epoch, its curves log {solves}"
    if not until.height or not _close(until["elapsed_s"][-1], selected.elapsed_s):
        yield f"the selected epoch was reached after {selected.elapsed_s} s, its clock says other"


def _close(one: float | None, two: float | None) -> bool:
    if one is None or two is None:
        return one is two
    return abs(one - two) <= _SECONDS * (1 + abs(two))


def _same(row: dict[str, Any], said: Regrets) -> bool:
    for name in FIGURES:
        logged, kept = row.get(name), getattr(said, name)
        if logged != kept and not (_missing(logged) and _missing(kept)):
            return False
    return True


def _missing(figure: float | None) -> bool:
    return figure is None or math.isnan(figure)
