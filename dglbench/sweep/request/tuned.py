"""What a search says of itself beside its choices, so that they can be timed elsewhere.

``chosen-….toml`` holds a table ``tuned`` for every method of a setting: which search found its
options, on which data seeds, with how many configurations and at what cost. A sweep of that file on
other seeds hands it on to the report. What a command changes of a method's options is not tuned any
more; duals of another kind than those it was tuned with are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dglbench.errors import SweepError
from dglbench.methods import Method
from dglbench.plugins import Plugin, find_method

if TYPE_CHECKING:
    from dglbench.runs.record import RunRecord
    from dglbench.sweep.request.method_plan import MethodPlan
    from dglbench.sweep.request.resolve import Setting, Sweep

__all__ = ["check_duals", "check_one_seed", "still_tuned", "tuned_entry"]

_KEPT = ("seed", "train_seed", "configurations", "runs", "failed", "seconds", "solver_calls")


def tuned_entry(sweep: Sweep, group: Mapping[str, Any], chosen: RunRecord) -> dict[str, Any]:
    """Describe the search that chose a run."""
    return {
        "search": sweep.search,
        "sweep": sweep.digest,
        **{key: group[key] for key in _KEPT},
        **({"seeds": group["seeds"]} if "seeds" in group else {}),
        "concurrency": group["concurrency"] or 0,  # 0: at different ones
        "solver": group["solver"],
        "dual_rule": chosen.identity.dual_rule,
        "edges": group["edges"],
    }


def still_tuned(
    entry: Mapping[str, Any], plans: Sequence[MethodPlan]
) -> dict[str, Mapping[str, Any]]:
    """Return what was said of the methods whose options are still those that were chosen."""
    said: Mapping[str, Mapping[str, Any]] = entry.get("tuned", {})
    given = entry.get("option", {})
    return {
        plan.name: said[plan.name]
        for plan in plans
        if plan.name in said
        and not plan.space
        and all(
            _word(plan.fixed.get(key)) == _word(value)
            for key, value in given.get(plan.name, {}).items()
        )
    }


def check_duals(setting: str, tuned: Mapping[str, Mapping[str, Any]], solver: Plugin) -> None:
    """Refuse to time a method that is guided by duals with another kind than it was tuned with."""
    for name, said in tuned.items():
        cls = find_method(name).cls
        now = cls.dual_rule or solver.target.dual_rule
        guided = cls.current_duals is not Method.current_duals
        if guided and said.get("dual_rule", now) != now:
            raise SweepError(
                f"{name} on {setting} was tuned with the duals of {said.get('solver')} (rule "
                f"'{said['dual_rule']}'), and {solver.name} takes others (rule '{now}'); write "
                f"--solver {said.get('solver')}, tune it again with --solver {solver.name}, or "
                f"leave {name} out of --methods."
            )


def check_one_seed(settings: Sequence[Setting]) -> None:
    """Refuse two choices for the same method on the same data: which of them is timed?"""
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for setting in settings:
        for seed in setting.seeds:
            for train_seed in setting.train_seeds:
                for plan in setting.methods:
                    data = (setting.task, setting.settings, seed, train_seed)
                    key = (*data, setting.predictor, plan.name)
                    other = seen.setdefault(key, plan.fixed)
                    if plan.name in setting.tuned and dict(other) != dict(plan.fixed):
                        raise SweepError(
                            f"{plan.name} on {setting.name} was tuned on several seeds, with "
                            f"several results, and all would run on seed {seed}; keep the "
                            "[[setting]] of one of them in the file, or leave --seeds out."
                        )


def _word(value: Any) -> Any:
    """Make an option comparable with what TOML keeps of it."""
    if value is None:
        return "none"
    return list(value) if isinstance(value, tuple) else value
