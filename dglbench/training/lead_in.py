"""A lead-in: a few epochs with one method before the run's own.

A run of ``qptl`` with the lead-in ``dgl-none:5`` is the method ``qptl-after-dgl-none-5``:
five epochs of ``dgl-none`` with its own options and optimiser, then ``qptl`` with a
fresh optimiser. Both set-ups and all epochs are on the clock. Epochs of the lead-in
are logged as −5 … −1 (its set-up as −6) and, like the predictor they end with
(epoch 0), are never selected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dglbench import options
from dglbench.errors import OptionError
from dglbench.plugins import AFTER, MethodChoice, find_method

__all__ = ["LeadIn", "parse_lead_in", "with_lead_in"]

_EXAMPLE = "write for example dgl-none:5, or dgl-none:5,tau=0.5 to give it options"


@dataclass(frozen=True)
class LeadIn:
    """The method of a lead-in, its epochs and its options."""

    method: str
    epochs: int
    options: Any

    def document(self) -> dict[str, Any]:
        """Return the lead-in as JSON-ready values, for the run's identity."""
        return {
            "method": self.method,
            "epochs": self.epochs,
            "options": options.as_dict(self.options),
        }

    def given(self) -> dict[str, Any]:
        """Return the options without those that the method's name fixes."""
        fixed = find_method(self.method).from_name
        return {k: v for k, v in options.as_dict(self.options).items() if k not in fixed}


def with_lead_in(method: str, text: str) -> str:
    """Return the name of ``method`` after the lead-in that ``text`` asks for."""
    first, epochs, _ = _split(text)
    choice = find_method(method)
    if choice.lead_in is not None:
        raise OptionError(f"{choice.name} has a lead-in already; leave out the lead-in {text}.")
    return find_method(f"{choice.name}{AFTER}{first.name}-{epochs}").name


def parse_lead_in(text: str | None) -> dict[str, Any]:
    """Return the options that ``dgl-none:5,tau=0.5`` gives, none for None."""
    return {} if text is None else _split(text)[2]


def _split(text: str) -> tuple[MethodChoice, int, dict[str, Any]]:
    name, words = options.split_spec(text)
    epochs, *assignments = words or [""]
    if not (epochs.isascii() and epochs.isdigit() and len(epochs) <= 9 and int(epochs) > 0):
        raise OptionError(f"a lead-in is a method and its epochs, got '{text}'; {_EXAMPLE}.")
    choice = find_method(name)
    if choice.lead_in is not None:
        raise OptionError(f"a lead-in has no lead-in of its own, got '{text}'; {_EXAMPLE}.")
    return choice, int(epochs), dict(options.parse_assignments(assignments))
