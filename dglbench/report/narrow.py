"""A report on some methods, tasks or seeds only (``--methods``, ``--tasks``, ``--seeds``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TypeVar

from dglbench import options
from dglbench.errors import ReportError
from dglbench.plugins import WITH
from dglbench.report.loading import Report
from dglbench.report.units import Unit
from dglbench.task import setting_name

__all__ = ["narrow", "with_best_of"]

T = TypeVar("T")


def narrow(
    report: Report,
    *,
    methods: str | None = None,
    tasks: str | None = None,
    seeds: str | None = None,
) -> Report:
    """Keep what each list names, given as a user writes it: ``spo,dgl-5``, ``1-3``.

    A task may be named with its size or without: ``matching-50`` or ``matching``.
    """
    units: Iterable[Unit] = report.units
    if tasks is not None:
        units = _keep(units, _words(tasks), _task_names, "task")
    if seeds is not None:
        units = _of_seeds(list(units), seeds)
    kept = None
    if methods is not None:
        kept = _keep(
            report.methods,
            _words(methods),
            lambda name: [name, name.partition(WITH)[0]],
            "method",
        )
    if tasks is None and seeds is None and methods is None:
        return report
    narrowed = report.only(units=units, methods=kept)
    if not narrowed.runs:
        raise ReportError(
            f"no run in {report.folder} is all that --methods, --tasks and --seeds name; leave one "
            "of them out."
        )
    return narrowed


def with_best_of(report: Report, r: int) -> Report:
    """Read the report as best of r, which takes twice as many repeats."""
    repeats = max((cell.repeats for cell in report.chosen.values()), default=0)
    most = max(1, repeats // 2)
    if not 1 <= r <= most:
        raise ReportError(
            f"--best-of {r} needs {2 * max(r, 1)} repeats, because a best of more than half of "
            f"them is no estimate; these results have {repeats}: give a number from 1 to {most}."
        )
    return dataclasses.replace(report, asked_best_of=r)


def _keep(
    things: Iterable[T], words: Iterable[str], names: Callable[[T], list[str]], kind: str
) -> list[T]:
    """Keep the things that a word names, in any case; refuse a word that names none."""
    wanted = [word.lower() for word in words]
    known = {name.lower() for thing in things for name in names(thing)}
    unknown = [word for word in wanted if word not in known]
    if unknown or not wanted:
        there = dict.fromkeys(names(thing)[0] for thing in things)
        what = f"{kind} '{unknown[0]}'" if unknown else f"{kind} named"
        raise ReportError(f"there is no {what} in this report; it has {', '.join(there)}.")
    return [thing for thing in things if {name.lower() for name in names(thing)} & {*wanted}]


def _method_names(name: str) -> list[str]:
    return [name, name.partition(WITH)[0]]


def _task_names(unit: Unit) -> list[str]:
    return [setting_name(unit.task, unit.settings), unit.task]


def _of_seeds(units: list[Unit], seeds: str) -> list[Unit]:
    """Keep units of these seeds; of a range not every one need be there."""
    wanted = set(options.spell_out_ranges(seeds))
    kept = [unit for unit in units if str(unit.seed) in wanted]
    if not kept:
        there = sorted({unit.seed for unit in units})
        raise ReportError(
            f"no seed of '{seeds}' is in this report; it has {', '.join(map(str, there))}."
        )
    return kept


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
