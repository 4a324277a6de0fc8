"""What a method's name says of it: its family, its period, its place in legends and tables."""

from __future__ import annotations

import math

from dglbench.plugins import AFTER, WITH

__all__ = [
    "ACCURATE",
    "BASELINES",
    "family",
    "is_dgl",
    "method_order",
    "plain",
    "qualifier",
    "refresh_period",
    "variant_period",
]

BASELINES = ("least-squares", "boosted-trees")
"""Methods that need no gradients."""
ACCURATE = (*BASELINES, "two-stage")
"""Methods that train for accuracy."""
_ORDER = ("two-stage", *BASELINES, "spo", "qptl", "dgl", "rdgl")
"""Families in the order of legends and tables; others follow by name."""


def plain(method: str) -> str:
    """Return a method's name without predictor and start: ``spo`` of ``spo · mlp``."""
    return method.partition(WITH)[0]


def qualifier(method: str) -> str:
    """Return what a name says beside the method: ``mlp`` of ``spo · mlp``, empty of ``spo``."""
    return method.partition(WITH)[2]


def family(method: str) -> str:
    """Return what variants of one method share: ``dgl`` of ``dgl-5``, ``qptl`` of ``qptl-dual``.

    Whatever its predictor and start.
    """
    name = plain(method)
    return name if name in ACCURATE else name.partition("-")[0]


def is_dgl(method: str) -> bool:
    """Say whether a method is one of the Dual-Guided Loss family."""
    return plain(method) == "dgl-auto" or refresh_period(method) is not None


def refresh_period(method: str) -> float | None:
    """Return U of ``dgl-U``, infinity for ``dgl-none``, None where there is no fixed period."""
    kin, _, variant = plain(method).partition("-")
    return variant_period(variant) if kin == "dgl" else None


def method_order(method: str) -> tuple[float, float, str]:
    """Sort baselines first, then DGL from no refresh to every epoch, then others by name.

    Families stay together, each led by the method that bears its name.
    """
    if WITH in method:
        return (*method_order(method.partition(WITH)[0])[:2], method)
    if AFTER in method:  # right behind the method itself
        return (*method_order(method.partition(AFTER)[0])[:2], method)
    kin = family(method)
    if kin not in _ORDER:
        return len(_ORDER), 0.0, method
    period = variant_period(method.partition("-")[2])
    return _ORDER.index(kin), 0.0 if method == kin else 1.0 if period is None else -period, method


def variant_period(variant: str) -> float | None:
    """Return the number of epochs in a variant's name, infinity for ``none``, None without one."""
    if variant == "none":
        return math.inf
    return float(variant) if variant.isdecimal() and int(variant) > 0 else None
