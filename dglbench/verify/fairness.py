"""Whether runs were compared by the rules: nothing left out, equal trials, choice on validation,
test seen once, timed alone, one machine a setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dglbench.runs.provenance import busy, extras, libraries
from dglbench.runs.record import RunRecord, digest
from dglbench.verify.plan import Cell, changed_plans, planned, searches
from dglbench.verify.tuning import check_searches, choices_elsewhere
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_fairness"]


def check_fairness(subject: Subject) -> Verdict:
    """Hold the runs against the sweeps' plans and the rules of a comparison."""
    documents = subject.pack.documents
    cells, groups = list(planned(documents)), list(searches(documents))
    timed, problems = _against_plan(subject, cells)
    problems += [
        *changed_plans(documents),
        *check_searches(subject, groups),
        *_once(subject),
    ]
    problems += [*_alone(timed), *_machines(timed)]
    loaded = [r for r in timed.values() if _disturbed(r)]
    notes = []
    if elsewhere := choices_elsewhere(groups):
        notes.append(elsewhere)
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
