"""A unit, the smallest thing that methods are compared on: a setting with one of its data seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench.runs.record import Identity

__all__ = ["Unit", "label_units", "one_seed_each"]


@dataclass(frozen=True)
class Unit:
    """What may be compared: one task, settings, data seed, solver family, dataset.

    Repeats are within a unit. Units that differ by nothing but their data seed make a setting.
    """

    key: str
    label: str
    """``matching-50``, with whatever distinguishes it from its neighbours in the folder."""
    base: str
    """``matching-50`` alone."""
    task: str
    n: int
    seed: int
    solver: str
    family: str
    """What the data seeds of one setting share."""
    settings: Mapping[str, Any] = field(repr=False)

    @staticmethod
    def key_of(identity: Identity) -> str:
        """Return the text that runs of one unit share."""
        names = ("task", "settings", "seed", "solver", "data_digest")
        return json.dumps({name: getattr(identity, name) for name in names}, sort_keys=True)

    @property
    def order(self) -> tuple[str, int, str, int]:
        """Sort by task, size, variant, data seed."""
        return self.task, self.n, self.family, self.seed


def label_units(identities: Iterable[Identity]) -> dict[str, Unit]:
    """Name every unit by its task and size, and by what else distinguishes it from the others."""
    first = {Unit.key_of(identity): identity for identity in identities}
    versions = _data_versions(first.values())
    bases: dict[str, list[str]] = {}
    for key, identity in first.items():
        bases.setdefault(identity.setting, []).append(key)
    units = {}
    for base, keys in bases.items():
        facts = {key: _facts(first[key]) | versions[key] for key in keys}
        names = {name: None for fact in facts.values() for name in fact}
        differing = [
            name for name in names if len({_text(fact.get(name)) for fact in facts.values()}) > 1
        ]
        for key in keys:
            identity = first[key]
            extra = [
                _phrase(name, facts[key].get(name))
                for name in differing
                if name != "data" or name in facts[key]
            ]
            units[key] = Unit(
                key=key,
                label=", ".join([base, *extra]),
                base=base,
                task=identity.task,
                n=int(identity.settings.get("n", 0)),
                seed=identity.seed,
                solver=identity.solver,
                family=json.dumps([_repeated(identity), versions[key]], sort_keys=True),
                settings=identity.settings,
            )
    return units


def one_seed_each(units: Sequence[Unit]) -> list[Unit]:
    """Keep one of the units that differ by their seed alone: the folder's commonest seed."""
    counts = {seed: sum(unit.seed == seed for unit in units) for seed in {u.seed for u in units}}
    kept: dict[str, Unit] = {}
    for unit in units:
        best = kept.setdefault(unit.family, unit)
        if (-counts[unit.seed], unit.seed) < (-counts[best.seed], best.seed):
            kept[unit.family] = unit
    return [unit for unit in units if kept[unit.family] is unit]


def _facts(identity: Identity) -> dict[str, Any]:
    named = {"n", "name"}  # what the short name says already
    settings = {name: value for name, value in identity.settings.items() if name not in named}
    return {
        "seed": identity.seed,
        **settings,
        "solver": identity.solver,
    }


def _repeated(identity: Identity) -> dict[str, Any]:
    """Return what runs on different seeds of one setting share."""
    return {
        "task": identity.task,
        "settings": dict(identity.settings),
        "solver": identity.solver,
    }


def _data_versions(identities: Iterable[Identity]) -> dict[str, dict[str, Any]]:
    """Return unit key to the content of its data, for settings that have several versions of it.

    Outside the bundled tasks, data are identified by their content, which differs with every
    seed. That alone makes no setting: seeds stay repetitions of one as long as each of
    them has one content.
    """
    groups: dict[str, list[Identity]] = {}
    for identity in identities:
        groups.setdefault(json.dumps(_repeated(identity), sort_keys=True), []).append(identity)
    found: dict[str, dict[str, Any]] = {}
    for group in groups.values():
        contents = {(each.seed, each.data_digest) for each in group}
        sources = {digest is None for _, digest in contents}
        several = len(sources) > 1 or len(contents) > len({seed for seed, _ in contents})
        for each in group:
            found[Unit.key_of(each)] = {"data": each.data_digest} if several else {}
    return found


def _phrase(name: str, value: Any) -> str:
    if name == "data":
        return f"data {str(value)[:6]}" if value else "generated data"
    return f"{name} {_text(value)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
