"""Each method's place in each setting: regret, distance to the best, time and speed-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dglbench.report.loading import Report, Run
from dglbench.report.statistics.paired import Difference, Pairs
from dglbench.report.statistics.time_to_regret import NEAR, Reach, Speedup, best_run

__all__ = ["BASELINES", "Standing", "standings"]

BASELINES = ("qptl", "spo")
"""What speed-ups are measured against, where they were run."""


@dataclass(frozen=True)
class Standing:
    """One method's place in one setting."""

    run: Run
    interval: tuple[float, float] | None
    behind: Difference | None
    """This method minus the best; None for the best, or if instances differ."""
    is_best: bool
    reach_s: float
    """Training seconds to the selected epoch."""
    near_s: float | None
    """Training seconds until within `NEAR` of the best method's regret."""
    solves: int
    speedups: Mapping[str, Speedup]
    """By baseline; those that were not run are absent."""

    @property
    def ties_best(self) -> bool:
        """The interval of the difference to the best method holds 0."""
        return self.behind is not None and self.behind.verdict == "open"


def standings(
    report: Report, reach: Reach | None = None, pairs: Pairs | None = None
) -> dict[str, list[Standing]]:
    """Return each unit's methods by its label, lowest test regret first."""
    reach, pairs = reach or Reach(report), pairs or Pairs(report)
    runs: dict[str, list[Run]] = {}
    for run in report.chosen_runs():
        runs.setdefault(run.unit.label, []).append(run)
    return {label: _of_unit(found, reach, pairs) for label, found in runs.items()}


def _of_unit(runs: Sequence[Run], reach: Reach, pairs: Pairs) -> list[Standing]:
    best = best_run(runs)
    baselines = {run.method: run for run in runs if run.method in BASELINES}
    behind = pairs.differences([(run, best) for run in runs])
    found = []
    for run, difference in zip(runs, behind, strict=True):
        reach_s, solves = reach.selected(run)
        found.append(
            Standing(
                run=run,
                interval=pairs.interval(run),
                behind=None if run is best else difference,
                is_best=run is best,
                reach_s=reach_s,
                near_s=reach.time_to(run, (1 + NEAR) * best.test_regret),
                solves=solves,
                speedups={name: reach.speedup(run, other) for name, other in baselines.items()},
            )
        )
    return sorted(found, key=lambda standing: standing.run.test_regret)
