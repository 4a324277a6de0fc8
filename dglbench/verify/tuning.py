"""Whether the searches of a pack are whole, equal, and chose on validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from dglbench.runs.record import RunRecord
from dglbench.runs.selection import validation_regret
from dglbench.verify.plan import Search
from dglbench.verify.verdict import Subject

__all__ = ["check_searches", "choices_elsewhere"]

_FEWER = 0.75
"""A search may come back to a configuration: three quarters of the others' count as equal."""


def check_searches(subject: Subject, searches: Sequence[Search]) -> Iterator[str]:
    """Yield what is wrong with what the sweeps say of their groups."""
    for search in searches:
        name = search.run_id
        if name is None:
            continue
        if name not in subject.records:
            yield f"missing: {name}, which stands for its method in {search.sweep}"
        elif search.group.get("trials"):
            yield from _over_seeds(subject, search)
        elif search.kind != "none":
            yield from _on_one_seed(subject, search, subject.records[name])
    yield from _unequal(searches)
    for search in searches:
        for tuning in _tuned_by(search, searches):
            if search.group.get("options") != tuning.group.get("options"):
                yield (
                    f"{search.run_id} has other options than {tuning.sweep} chose for "
                    f"{search.group.get('method')}"
                )


def choices_elsewhere(searches: Sequence[Search]) -> str | None:
    """Say which searches are not in the pack, though options were chosen by them; None if all are.

    Whether a run has the options that such a search chose cannot be checked.
    """
    absent = {
        str(search.elsewhere.get("sweep"))
        for search in searches
        if search.elsewhere and not any(_tuned_by(search, searches))
    }
    if not absent:
        return None
    return (
        f"options were chosen by searches that are not in the pack ({', '.join(sorted(absent))}): "
        "whether these runs have what was chosen is not checked; pack both together"
    )


def _tuned_by(search: Search, searches: Sequence[Search]) -> Iterator[Search]:
    """Yield the searches of the pack that a group of timed runs names as its tuning."""
    for other in searches:
        if other.sweep == f"sweep-{search.elsewhere.get('sweep')}.json" and all(
            other.group.get(key) == search.group.get(key)
            for key in ("setting", "settings", "method", "predictor")
        ):
            yield other


def _over_seeds(subject: Subject, search: Search) -> Iterator[str]:
    """Check a search over data seeds: its trials' runs, their mean regrets, and the choice."""
    where = f"{search.group.get('method')} on {search.where} ({search.sweep})"
    first: dict[int, float] = {}
    finals: dict[int, float] = {}
    for trial in search.group["trials"]:
        number = trial["trial"]
        for part, found in ((trial, first), (trial.get("again"), finals)):
            if not part:
                continue
            missing = [run for run in part["runs"] if run not in subject.records]
            if missing:
                yield f"missing: {len(missing)} runs of trial {number} of {where}"
                continue
            regrets = [validation_regret(subject.records[run]) for run in part["runs"]]
            found[number] = fmean(regrets) if regrets else math.inf
            said = math.inf if part["regret"] is None else part["regret"]
            if not math.isclose(found[number], said, rel_tol=1e-9):
                yield (
                    f"trial {number} of {where} has the mean validation regret {found[number]}, "
                    f"not {said}"
                )
    chosen, among = search.group.get("chosen_trial"), finals or first
    if chosen in among and among[chosen] > min(among.values()):
        yield f"trial {chosen} of {where} was chosen, and another has a lower validation regret"


def _on_one_seed(subject: Subject, search: Search, chosen: RunRecord) -> Iterator[str]:
    """Check a search on one dataset: its number of runs, and the choice."""
    mates = [record for record in subject.records.values() if _mate(record, chosen)]
    planned = search.group.get("runs")
    if isinstance(planned, int) and len(mates) < planned:
        yield (
            f"{planned - len(mates)} of the {planned} trials of {chosen.identity.method} on "
            f"{search.where} are missing ({search.sweep})"
        )
    if validation_regret(chosen) > min(map(validation_regret, mates)):
        yield (
            f"{chosen.run_id} was chosen in {search.sweep}, and another trial has a lower "
            "validation regret"
        )


def _mate(record: RunRecord, chosen: RunRecord) -> bool:
    one, two = record.identity, chosen.identity
    names = ("task", "settings", "seed", "method", "predictor", "solver", "train_seed", "lead_in")
    return all(getattr(one, name) == getattr(two, name) for name in names)


def _unequal(searches: Sequence[Search]) -> Iterator[str]:
    """Check that the methods of a dataset were searched equally."""
    tried: dict[tuple[str, str], dict[str, int]] = {}
    for search in searches:
        source: Mapping[str, Any] = search.elsewhere
        if not source and search.kind != "none":
            source = search.group
        number = source.get("configurations")
        # One configuration is none that was searched: a method without options has no more.
        if isinstance(number, int) and number > 1:
            compared = (search.where, str(search.group.get("predictor", "linear")))
            method = str(search.group.get("method"))
            before = tried.setdefault(compared, {})
            before[method] = max(number, before.get(method, 0))
    for (where, _), numbers in tried.items():
        most, least = max(numbers.values()), min(numbers.values())
        if least < _FEWER * most:
            few = [method for method, number in numbers.items() if number == least]
            many = [method for method, number in numbers.items() if number == most]
            yield (
                f"{where}: {many[0]} was chosen from {most} configurations, {', '.join(few)} "
                f"from {least}"
            )
