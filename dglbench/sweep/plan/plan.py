"""What a sweep would do, found out before anything is spent.

Every name, option and dataset is checked here; a mistake is one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from dglbench.data.loading import load_dataset
from dglbench.errors import SweepError
from dglbench.packs.pack_files import is_pack
from dglbench.plugin_files import load_plugins, located
from dglbench.plugins import find_task
from dglbench.predictors.checks import is_ours
from dglbench.predictors.choice import find_predictor
from dglbench.runs import provenance
from dglbench.runs.out_folder import check_folder
from dglbench.sweep import outputs
from dglbench.sweep.plan.reference_pace import reference_seconds
from dglbench.sweep.plan.survey import Survey, needs_run
from dglbench.sweep.request.request import Request, from_file, from_preset
from dglbench.sweep.request.resolve import Sweep, resolve
from dglbench.sweep.request.specs import Group, make_groups
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.training.compatibility import check_fit
from dglbench.training.spec import RunSpec
from dglbench.training.warm_start import fresh_predictor

__all__ = ["Plan", "PlanRow", "make_plan", "plan_sweep"]


class PlanRow(NamedTuple):
    """One line of the plan: a method on one dataset."""

    group: Group
    total: int
    counts: Counter[str]
    """Runs by state; ``stale`` counts those that only other code has answered."""
    to_run: int
    seconds: float | None
    """Estimated time of what is to run, None if no finished run tells."""
    from_reference: bool
    """Whether the estimate is from the project's reference runs, for lack of runs here."""
    damaged: Mapping[str, str]
    """Run to what is wrong with its files."""
    upgrades: Counter[str]
    """Kept runs by which libraries they were made with, where those have changed."""
    run_ids: tuple[str, ...]
    """The runs that are known by name: all but those of later rounds."""


@dataclass(frozen=True)
class Plan:
    """A resolved sweep, its runs, and what is there of them already."""

    sweep: Sweep
    out: Path
    units: Sequence[Sequence[Group]]
    survey: Survey

    def searches(self) -> list[list[GroupSearch]]:
        """Return a fresh search for every group."""
        return [[GroupSearch(group, self.sweep.search) for group in unit] for unit in self.units]

    def begin(self) -> None:
        """Save the resolved sweep beside its runs."""
        outputs.write_config(self.sweep, self.out)

    def keep(self, searches: Sequence[GroupSearch]) -> None:
        """Save what is chosen so far."""
        outputs.write_choices(self.sweep, self.out, searches)

    def rows(self, retry_failed: bool) -> list[PlanRow]:
        """Count what exists and what would run; rounds that are not known yet count as to run."""
        return [self._row(search, retry_failed) for unit in self.searches() for search in unit]

    def _row(self, search: GroupSearch, retry_failed: bool) -> PlanRow:
        counts: Counter[str] = Counter()
        unknown, seconds, to_run, from_reference = False, 0.0, 0, False
        damaged: dict[str, str] = {}
        upgrades: Counter[str] = Counter()
        looked: list[str] = []
        while fresh := {k: v for k, v in search.pending.items() if k not in looked}:
            looked += fresh
            for run_id, spec in fresh.items():
                known = self.survey.state(run_id)
                stale = known.state == "absent" and self.survey.stale(spec)
                counts["stale" if stale else known.state] += 1
                if known.problem:
                    damaged[run_id] = known.problem
                elif known.record and (changes := provenance.upgrades(known.record)):
                    upgrades[", ".join(changes)] += 1
                if known.record is None or needs_run(known, retry_failed, spec):
                    to_run += 1
                    estimate, elsewhere = self._estimate(spec)
                    unknown = unknown or estimate is None
                    from_reference = from_reference or elsewhere
                    seconds += estimate or 0.0
                else:
                    search.settle(run_id, known.record)  # that may open the next round
        spec = search.group.specs[0]
        if search.upcoming:
            to_run += search.upcoming
            estimate, elsewhere = self._estimate(spec)
            unknown, from_reference = unknown or estimate is None, from_reference or elsewhere
            seconds += (estimate or 0.0) * search.upcoming
        left = None if unknown else seconds
        seen = tuple(looked)
        return PlanRow(
            search.group,
            search.total,
            counts,
            to_run,
            left,
            from_reference,
            damaged,
            upgrades,
            seen,
        )

    def _estimate(self, spec: RunSpec) -> tuple[float | None, bool]:
        """Estimate a run's seconds, and say whether the reference runs had to answer."""
        here = self.survey.seconds(spec)
        if here is not None:
            return here, False
        known = reference_seconds(spec)
        if known is None:
            known = reference_seconds(spec, load_dataset(spec.data, spec.data_digest))
        return known, True

    def remarks(self) -> list[str]:
        """Collect what the tasks want a reader to know of their data, each once."""
        said = (find_task(s.task).remark(s.settings) for s in self.sweep.settings)
        return list(dict.fromkeys(remark for remark in said if remark))


def plan_sweep(
    flags: Request,
    *,
    preset: str | None,
    config: Path | None,
    out: Path,
    tell: Callable[[str], None] | None = None,
) -> Plan:
    """Resolve and check a sweep; what the flags leave open comes from the file, then the preset.

    ``tell`` is called with a sentence about code that the file runs.
    """
    file = from_file(config) if config else None
    if config and file and file.plugins:
        named = located(file.plugins, config.parent)
        if tell:
            tell(f"{config} names plugins, whose code runs now: {', '.join(map(str, named))}.")
        load_plugins(named)
    load_plugins(map(Path, flags.plugins or ()))
    start_from = preset or (file.preset if file else None)
    base = from_preset(start_from or "paper")
    own = [source for source in (file, flags) if source is not None]
    if start_from is None and any(map(_names_runs, own)):
        base = replace(base, diagnostics=None)  # the paper's figures are not what is asked for
    return make_plan(resolve([base, *own]), out)


def _names_runs(request: Request) -> bool:
    """Say whether a request names methods or data of its own."""
    return bool(request.methods or request.tasks or request.data or request.setting)


def make_plan(sweep: Sweep, out: Path) -> Plan:
    """Spell out the runs, check that their data can be made, and look at the folder."""
    if not is_pack(out):  # a plan may look at a pack; `run_sweep` writes to none
        check_folder(out)
    units = make_groups(sweep)
    for unit in units:
        _check_data([group.specs[0] for group in unit], searched=sweep.search != "none")
        for data, digest in unit[0].tuning_data[1:]:
            load_dataset(data, digest)
    return Plan(sweep, out, units, Survey.of(out))


def _check_data(specs: Sequence[RunSpec], *, searched: bool) -> None:
    """Make the data that the runs share, and ask method, solver and predictor whether they fit."""
    dataset = load_dataset(specs[0].data, specs[0].data_digest)
    if searched and not len(dataset.rows("val")):
        raise SweepError(
            f"{specs[0].data.setting_name} has no validation instances, and a search chooses by "
            "them; leave --search out, or give the data validation instances."
        )
    for spec in specs:
        check_fit(spec, dataset)
    task = find_task(specs[0].data.task)
    for text in dict.fromkeys(spec.predictor for spec in specs):
        if not is_ours(find_predictor(text), task):  # bundled ones need no torch to be known
            fresh_predictor(text, task, dataset)
