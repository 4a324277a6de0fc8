"""The lowest regret that anyone has found on a dataset, as MIPLIB has best known solutions.

Of all finished runs on one dataset with one predictor, whatever their method, options, start,
repeat and solvers, validation chooses one; its test regret is the best known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dglbench.report.cells import Result
from dglbench.report.loading import Report, Run
from dglbench.runs.record import Identity, digest
from dglbench.runs.selection import best_record

__all__ = ["BestKnown", "BestKnowns"]


@dataclass(frozen=True)
class BestKnown:
    """The run that is best known on one dataset with one predictor."""

    run: Run
    """Its unit names the setting and the data seed."""
    among: tuple[Run, ...]
    """The finished runs that validation chose from."""

    @property
    def regret(self) -> float:
        """Its test regret."""
        return self.run.test_regret


class BestKnowns:
    """The best known runs of a report."""

    def __init__(self, report: Report) -> None:
        self._report = report

    @cached_property
    def all(self) -> list[BestKnown]:
        """One for each dataset and predictor, in the order of settings."""
        rank = {unit.key: place for place, unit in enumerate(self._report.units)}
        return sorted(self._by_key.values(), key=lambda found: rank[found.run.unit.key])

    def gap(self, result: Result) -> float | None:
        """Return a method's expected regret less the best known, mean over its data seeds."""
        gaps = []
        for cell in result.cells:
            found = self._by_key.get(_key(cell.first.identity))
            if found is None or found.run.measure != cell.first.measure:
                return None
            gaps.append(cell.regret() - found.regret)
        return sum(gaps) / len(gaps)

    @cached_property
    def _by_key(self) -> dict[str, BestKnown]:
        groups: dict[str, list[Run]] = {}
        for run in self._report.done:
            groups.setdefault(_key(run.identity), []).append(run)
        chosen = {key: _chosen(runs) for key, runs in groups.items()}
        return {key: found for key, found in chosen.items() if found is not None}


def _chosen(runs: Iterable[Run]) -> BestKnown | None:
    among = tuple(runs)
    best = best_record(run.record for run in among)
    if best is None:
        return None
    return BestKnown(next(run for run in among if run.record is best), among)


def _key(identity: Identity) -> str:
    """Name a dataset and a predictor, whatever solver the runs used."""
    data = (identity.task, identity.settings, identity.seed, identity.data_digest)
    return digest([*data, identity.predictor])
