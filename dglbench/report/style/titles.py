"""Settings in words: what a reader calls them, in figures, tables and claims alike.

``unit.label`` is exact and made of setting names (``knapsack-48, capacity_fraction
0.25``); files keep it. People read ``knapsack-48, SEMO, capacity 25 %``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dglbench.report.loading import Unit
from dglbench.words import percent

__all__ = ["listing", "plural", "title", "without_seed"]


def title(unit: Unit) -> str:
    """Return the unit's label in words, with the source of real data named."""
    base, *facts = unit.label.split(", ")
    words = [_in_words(fact) for fact in facts if not fact.startswith("source ")]
    return ", ".join([base, *_source(unit.settings), *words])


def without_seed(unit: Unit) -> str:
    """Return the title that units share which differ by nothing but their data seed."""
    return ", ".join(part for part in title(unit).split(", ") if part != f"seed {unit.seed}")


def plural(number: int, word: str) -> str:
    """Write a count and its noun."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def listing(words: list[str], most: int | None = None) -> str:
    """Join words as in a sentence; of more than ``most`` the rest are counted."""
    if most is not None and len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _source(settings: Mapping[str, Any]) -> list[str]:
    """Name where the data come from, unless they are made up, which is the usual case."""
    source = settings.get("source")
    if not isinstance(source, str) or source in ("synthetic", "generated", "made"):
        return []
    return ["published data" if source == "published" else source.upper()]


def _in_words(fact: str) -> str:
    """``capacity_fraction 0.25`` to ``capacity 25 %``; other names lose their underscores."""
    name, space, value = fact.partition(" ")
    if name.endswith("_fraction"):
        try:
            share = float(value)
        except ValueError:
            return fact
        whole = percent(share, 0 if round(100 * share, 6).is_integer() else 1)
        return f"{name.removesuffix('_fraction')} {whole}".replace("_", " ")
    return f"{name.replace('_', ' ')}{space}{value}"
