"""From requests to a sweep with nothing left open.

The command line takes precedence over the file, the file over the preset; within a file a
``[[setting]]`` takes precedence over what stands at the top. Below all of them lie the tasks' own
TOML files. Every name and value is checked on the way, and every option is parsed once. One run
is resolved as a sweep of one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dglbench import options
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import SOLVERS, find_method, find_plugin
from dglbench.sweep.request.method_plan import MethodPlan
from dglbench.sweep.request.names import with_known_names
from dglbench.sweep.request.request import DEFAULT_TRIALS, Request, Search
from dglbench.sweep.request.settings import Setting, resolve_settings, spans_seeds, unique
from dglbench.sweep.request.tuned import check_duals, check_one_seed
from dglbench.training.lead_in import with_lead_in

__all__ = ["MethodPlan", "Setting", "Sweep", "resolve"]


@dataclass(frozen=True)
class Sweep:
    """All that decides which runs are made."""

    methods: tuple[str, ...]
    solver: str
    threads: int
    search: Search
    time_limit: float | None
    settings: tuple[Setting, ...]
    plugins: tuple[str, ...] = ()
    """Local files that tasks and methods were taken from."""
    diagnostics: bool = False
    """Whether methods report on themselves in the tables duals, bound and theorem2."""
    trials: int | None = None
    """How many configurations ``random`` or ``optuna`` tries of each method."""

    def document(self) -> dict[str, Any]:
        """Return the sweep in the format of ``--config``."""
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}
        return {
            "methods": list(self.methods),
            "solver": self.solver,
            "threads": self.threads,
            "search": self.search,
            **({"diagnostics": True} if self.diagnostics else {}),
            **({} if self.trials is None else {"trials": self.trials}),
            **({"plugins": list(self.plugins)} if self.plugins else {}),
            **limit,
            "setting": [setting.document(self.search != "none") for setting in self.settings],
        }

    @property
    def digest(self) -> str:
        """Name the sweep by its content."""
        canonical = json.dumps(self.document(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def resolve(requests: Sequence[Request]) -> Sweep:
    """Resolve requests given in rising order of precedence."""
    requests = [with_known_names(source) for source in requests]
    methods = unique(_last(requests, "methods") or (), "method", "--methods two-stage,dgl-1")
    _check_owners(requests, methods)
    _check_predictors(requests[-1], methods)
    if (lead_in := _last(requests, "lead_in")) is not None:
        methods = tuple(with_lead_in(name, lead_in) for name in methods)
    search: Search = _last(requests, "search") or "none"
    trials = _trials(requests, search)
    if search == "none" and requests[-1].tune_seeds is not None:
        raise SweepError(
            "--tune-seeds are the data seeds of a search, and there is none here; add --search "
            "random, or leave --tune-seeds out."
        )
    settings = tuple(resolve_settings(requests, methods, search))
    if search != "none" and not any(plan.space for s in settings for plan in s.methods):
        raise SweepError(
            f"--search {search} has nothing to search: every option is fixed, or the tasks have "
            "no [search] table; leave --search out."
        )
    solver = find_plugin(SOLVERS, _last(requests, "solver") or "ortools")
    for setting in settings:
        check_duals(setting.name, setting.tuned, solver)
    check_one_seed(settings)
    return Sweep(
        methods=methods,
        solver=solver.name,
        threads=_last(requests, "threads") or 1,
        search=search,
        time_limit=_last(requests, "time_limit"),
        diagnostics=bool(_last(requests, "diagnostics")),
        settings=settings,
        plugins=tuple(dict.fromkeys(name for source in requests for name in source.plugins or ())),
        trials=trials,
    )


def _trials(requests: Sequence[Request], search: Search) -> int | None:
    if spans_seeds(search):
        return _last(requests, "trials") or DEFAULT_TRIALS
    if requests[-1].trials is not None:
        raise SweepError(
            f"--trials is how many configurations --search random or optuna tries, and the search "
            f"here is {search}; add one of them, or leave --trials out."
        )
    return None


def _check_owners(requests: Sequence[Request], methods: Sequence[str]) -> None:
    """Refuse method options that no chosen method has, and owners that do not exist."""
    known = {
        name: {info.name for info in options.describe(find_method(name).cls.Options)}
        for name in methods
    }
    flags = requests[-1]
    for key, value in flags.option.items():
        if isinstance(value, Mapping):
            if key not in known:
                raise SweepError(
                    f"--option {key}.… speaks of '{key}', which is not in this sweep; "
                    f"it has {', '.join(methods)}."
                )
        elif not any(key in names for names in known.values()):
            there = sorted(set().union(*known.values()))
            raise OptionError(f"no method here has an option '{key}'; there are {there}.")


def _check_predictors(flags: Request, methods: Sequence[str]) -> None:
    """Refuse a predictor where every method fits one of its own."""
    if flags.predictor and all(find_method(name).cls.fits for name in methods):
        raise OptionError(
            f"{' and '.join(methods)} {'fits' if len(methods) == 1 else 'fit'} a predictor of "
            f"{'its' if len(methods) == 1 else 'their'} own, so --predictor "
            f"{flags.predictor[0]} acts on nothing; leave it out."
        )


def _last(requests: Sequence[Request], name: str) -> Any:
    given = (getattr(source, name) for source in reversed(requests))
    return next((value for value in given if value is not None), None)
