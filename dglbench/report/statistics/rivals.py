"""Does training for decisions pay? The best trained for accuracy against the best for decisions.

Both are chosen by validation: of the methods that train for accuracy (two-stage, least squares,
boosted trees) the one with the lowest mean validation regret, and likewise of all others. What is
compared is the test regret of one run, its mean over repeats and data seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.method_names import ACCURATE
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.paired import Difference, Pairs

__all__ = ["ANY", "SMALL", "Rivalry", "capacity", "of_predictor", "rivalries", "short", "verdict"]

ANY = "any"
"""Where the rivals may have different predictors."""

SMALL = 0.001
"""Training for decisions does not pay if it gains at most this much regret: 0.1 points."""

_AS_LINEAR = "least-squares"
"""A linear model, though fitted otherwise."""


@dataclass(frozen=True)
class Rivalry:
    """The two sides of one setting."""

    comparison: Comparison
    accurate: Result
    focused: Result
    gain: Difference | None
    """Test regret of the first minus that of the second; None if instances differ."""

    @property
    def gain_mean(self) -> float:
        """How much regret training for decisions saves; below 0 if it costs some."""
        return self.accurate.regret() - self.focused.regret()

    @property
    def is_clear(self) -> bool:
        """Whether the interval of the gain excludes 0."""
        return self.gain is not None and self.gain.verdict != "open"


def rivalries(report: Report, pairs: Pairs, predictor: str = ANY) -> list[Rivalry]:
    """Return the two sides of every setting that has both, with one predictor or with any."""
    found = []
    for comparison in by_setting(report):
        results = [each for each in comparison.results if of_predictor(each, predictor)]
        accurate = _best(each for each in results if _for_accuracy(each))
        focused = _best(each for each in results if not _for_accuracy(each))
        if accurate is None or focused is None:
            continue
        gain = pairs.difference(accurate, focused)
        found.append(Rivalry(comparison, accurate, focused, gain))
    return found


def verdict(rivalry: Rivalry) -> str:
    """Say in words whether training for decisions pays in a setting."""
    if rivalry.gain is not None and rivalry.gain.high <= SMALL:
        return "does not pay"
    return "pays" if rivalry.is_clear else "cannot tell with these repeats"


def of_predictor(result: Result, predictor: str) -> bool:
    """Say whether a result is of this predictor; least squares is of the linear one."""
    identity = result.first.identity
    own = "linear" if identity.method == _AS_LINEAR else identity.predictor
    return predictor in (ANY, own)


def capacity(predictor: str) -> tuple[int, int, str]:
    """Sort predictors from the simplest on: linear, then networks by hidden units, then others."""
    name, _, options = predictor.partition(":")
    chosen = dict(word.partition("=")[::2] for word in options.split(",") if word)
    units = int(chosen.get("hidden", "64")) * int(chosen.get("layers", "1"))
    rank = {"linear": 0, "task": 0, "mlp": 1}.get(name, 2)
    return rank, units if name == "mlp" else 0, predictor


def short(predictor: str) -> str:
    """Return a predictor's name for an axis: ``mlp 16`` for ``mlp:hidden=16``."""
    return predictor.replace(":hidden=", " ").replace(":", " ")


def _for_accuracy(result: Result) -> bool:
    return result.first.identity.method in ACCURATE


def _best(results: Iterable[Result]) -> Result | None:
    return min(results, key=lambda result: result.val_regret, default=None)
