"""Whether runs were compared by the rules: nothing left out, equal trials, choice on validation,
test seen once, timed alone, one machine a setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dglbench.runs.provenance import busy, extras, libraries
from dglbench.runs.record import RunRecord, digest
from dglbench.runs.selection import validation_regret
from dglbench.verify.plan import Cell, Search, changed_plans, planned, searches
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_fairness"]

_FEWER = 0.75
"""A search may come back to a configuration: three quarters of the trials count as equal."""


def check_fairness(subject: Subject) -> Verdict:
    """Hold the runs against the sweeps' plans and the rules of a comparison."""
    documents = subject.pack.documents
    cells, groups = list(planned(documents)), list(searches(documents))
    timed, problems = _against_plan(subject, cells)
    problems += [
        *changed_plans(documents),
        *_choices(subject, groups),
        *_trials(groups),
        *_once(subject),
    ]
    problems += [*_alone(timed), *_machines(timed)]
    loaded = [r for r in timed.values() if _disturbed(r)]
    notes = []
    if loaded:
        notes.append(
            f"{len(loaded)} runs were timed while the machine had more to do; their seconds may be "
            "longer than on an idle one"
        )
    good = (
        f"all {len(cells)} planned cells are there, with equal trials, chosen on validation, seen "
        "by test once, timed alone and on one machine a setting"
    )
    return judged("fairness", good, problems, notes)


def _against_plan(
    subject: Subject, cells: Sequence[Cell]
) -> tuple[dict[str, RunRecord], list[str]]:
    """Return the runs whose seconds are compared, and what is missing or was not planned."""
    problems = []
    timed: dict[str, RunRecord] = {}
    owned: set[str] = set()
    by_method: dict[str, list[tuple[str, RunRecord]]] = {}
    for name, record in subject.records.items():
        by_method.setdefault(record.identity.method, []).append((name, record))
    for cell in cells:
        found = {n: r for n, r in by_method.get(cell.method, ()) if cell.holds(r.identity)}
        owned |= set(found)
        if not found:
            problems.append(f"missing: {cell.words}, planned in {cell.sweep}")
        if cell.repeat is not None:
            timed |= {n: r for n, r in found.items() if r.state == "done"}
    stray = [name for name in subject.records if name not in owned]
    timed |= {name: subject.done[name] for name in stray if name in subject.done}
    if stray:
        problems.append(
            f"{len(stray)} runs are in no sweep's plan, so that others like them may have been "
            f"left out (the first is {stray[0]}); make them with `dglbench sweep`"
        )
    return timed, problems


def _choices(subject: Subject, groups: Sequence[Search]) -> Iterator[str]:
    """Check that the run of each group is there, with all its trials, and was chosen rightly."""
    for search in groups:
        name = search.run_id
        if name is None:
            continue
        chosen = subject.records.get(name)
        if chosen is None:
            yield f"missing: {name}, which stands for its method in {search.sweep}"
            continue
        if search.kind == "none":
            continue
        if trials := search.group.get("trials"):  # chosen by means over data seeds
            missing = [run for run in _runs_of(trials) if run not in subject.records]
            if missing:
                yield (
                    f"{len(missing)} runs of the trials of {chosen.identity.method} on "
                    f"{search.where} are missing ({search.sweep}), such as {missing[0]}"
                )
            continue
        mates = [r for r in subject.records.values() if _mate(r, chosen)]
        told = search.group.get("runs")
        if isinstance(told, int) and len(mates) < told:
            yield (
                f"{told - len(mates)} of the {told} trials of {chosen.identity.method} on "
                f"{search.where} are missing ({search.sweep})"
            )
        regrets = [validation_regret(r) for r in mates if r.state == "done"]
        if validation_regret(chosen) > min(regrets):
            yield (
                f"{name} was chosen in {search.sweep}, and another trial has a lower validation "
                "regret"
            )


def _runs_of(trials: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the runs of all trials of a search over data seeds, those made again too."""
    for trial in trials:
        yield from trial.get("runs", [])
        yield from (trial.get("again") or {}).get("runs", [])


def _mate(record: RunRecord, chosen: RunRecord) -> bool:
    one, two = record.identity, chosen.identity
    names = ("task", "settings", "seed", "method", "predictor", "solver", "train_seed", "lead_in")
    return all(getattr(one, name) == getattr(two, name) for name in names)


def _trials(groups: Sequence[Search]) -> Iterator[str]:
    """Check that the methods of a dataset were searched equally."""
    tried: dict[tuple[str, str], dict[str, int]] = {}
    for search in groups:
        source: Mapping[str, Any] = search.elsewhere
        if not source and search.kind != "none":
            source = search.group
        runs = source.get("runs")
        if isinstance(runs, int):
            compared = (search.where, str(search.group.get("predictor", "linear")))
            method = str(search.group.get("method"))
            before = tried.setdefault(compared, {})
            before[method] = max(runs, before.get(method, 0))
    for (where, _), numbers in tried.items():
        most, least = max(numbers.values()), min(numbers.values())
        if least < _FEWER * most:
            few = [method for method, number in numbers.items() if number == least]
            many = [method for method, number in numbers.items() if number == most]
            yield (
                f"{where}: {many[0]} was chosen from {most} trials, {', '.join(few)} from {least}"
            )


def _once(subject: Subject) -> Iterator[str]:
    """Check that no run was repeated with other code until its test result pleased."""
    answers = Counter(record.identity.asked for record in subject.done.values())
    for asked, count in answers.items():
        if count > 1:
            names = [n for n, r in subject.done.items() if r.identity.asked == asked]
            yield (
                f"one run was made {count} times, by different code ({', '.join(names)}): keep one "
                "of them"
            )


def _alone(timed: Mapping[str, RunRecord]) -> Iterator[str]:
    beside = [name for name, r in timed.items() if r.environment.concurrency not in (None, 1)]
    if beside:
        yield (
            f"{len(beside)} runs were timed while others ran beside them (the first is "
            f"{beside[0]}, {timed[beside[0]].environment.concurrency} at once); time them with "
            "--jobs 1"
        )


def _machines(timed: Mapping[str, RunRecord]) -> Iterator[str]:
    """Check that all runs of a setting were timed under the same conditions."""
    conditions: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for record in timed.values():
        identity, made = record.identity, record.environment
        key = digest([identity.task, identity.settings])
        names[key] = identity.setting
        own = {k: v for k, v in libraries(made).items() if k not in extras(record)}
        conditions.setdefault(key, set()).add(digest([made.machine, made.threads, own]))
    for key, found in conditions.items():
        if len(found) > 1:
            yield (
                f"the runs of {names[key]} were timed on {len(found)} different machines or with "
                "different threads or libraries"
            )


def _disturbed(record: RunRecord) -> bool:
    made = record.environment
    return busy(made.load_1min, (made.concurrency or 1) * (made.threads or 1)) is not None
