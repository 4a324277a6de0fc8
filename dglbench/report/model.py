"""What the report knows of a run, of the comparison it belongs to, and of its clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Comparability", "Conditions", "Run", "Unit", "Unreadable", "label_units"]


class Unreadable(NamedTuple):
    """A folder that is a run by its look but could not be read."""

    run_id: str
    reason: str


@dataclass(frozen=True)
class Unit:
    """What may be compared: one task, settings, seed, solver family and dataset."""

    key: str
    label: str
    """``matching-50``, with whatever tells it apart from its neighbours in the folder."""
    base: str
    """``matching-50`` alone."""
    task: str
    n: int
    seed: int
    solver: str
    data_digest: str | None
    settings: Mapping[str, Any] = field(repr=False)

    @staticmethod
    def key_of(identity: Mapping[str, Any]) -> str:
        """Return the text that runs of one unit share."""
        names = ("task", "settings", "seed", "solver", "data_digest")
        dict(identity["settings"])
        return json.dumps({name: identity[name] for name in names}, sort_keys=True)

    @property
    def family(self) -> str:
        """What units that differ by nothing but their seed share."""
        document = {"task": self.task, "settings": dict(self.settings), "solver": self.solver}
        return json.dumps(document | {"data_digest": self.data_digest}, sort_keys=True)

    @property
    def order(self) -> tuple[str, int, str, int]:
        """Sort by task, size, variant, seed."""
        return self.task, self.n, self.family, self.seed


@dataclass(frozen=True)
class Run:
    """One run's two JSON documents, with names for what the report asks of them."""

    run_id: str
    folder: Path
    unit: Unit
    identity: Mapping[str, Any] = field(repr=False)
    environment: Mapping[str, Any] = field(repr=False)
    status: Mapping[str, Any] = field(repr=False)

    @property
    def method(self) -> str:
        """The method's name, such as ``dgl-5``."""
        return str(self.identity["method"])

    @property
    def options(self) -> Mapping[str, Any]:
        """The method's hyperparameters, learning rate included."""
        options: Mapping[str, Any] = self.identity["options"]
        return options

    @property
    def state(self) -> str:
        """One of `dglbench.runs.store.FINAL_STATES`."""
        return str(self.status["status"])

    @property
    def message(self) -> str | None:
        """Why the run did not finish, in a sentence."""
        message = self.status.get("message")
        return None if message is None else str(message)

    @property
    def selected_epoch(self) -> int | None:
        """The epoch with the lowest validation regret; None if the run did not get that far."""
        selected = self.status.get("selected")
        return int(selected["epoch"]) if selected else None

    @property
    def val_regret(self) -> float:
        """Validation relative regret at the selected epoch: what a run is chosen by."""
        return self._selected("val")

    @property
    def test_regret(self) -> float:
        """Test relative regret at the selected epoch."""
        return self._selected("test")

    @property
    def warm_start_regret(self) -> float | None:
        """Test relative regret of the shared predictor the run started from."""
        warm = self.status.get("warm_start")
        value = warm.get("test_relative_regret") if isinstance(warm, Mapping) else None
        return None if value is None else float(value)

    @property
    def train_instances(self) -> int | None:
        """K, the instances an epoch goes through."""
        counts = self.status.get("instances")
        return int(counts["train"]) if isinstance(counts, Mapping) and "train" in counts else None

    @property
    def conditions(self) -> Conditions:
        """What the run's seconds depend on besides its own work."""
        seen = self.environment
        return Conditions(
            str(seen.get("machine")), _whole(seen.get("threads")), _whole(seen.get("concurrency"))
        )

    def _selected(self, split: str) -> float:
        selected = self.status.get("selected")
        return float(selected[split]["relative_regret"]) if selected else float("nan")


class Conditions(NamedTuple):
    """Runs with equal conditions have seconds that may be ranked against each other."""

    machine: str
    threads: int | None
    concurrency: int | None


@dataclass(frozen=True)
class Comparability:
    """Whether the seconds of a unit's chosen runs may be ranked, and which were made how."""

    comparable: bool
    reason: str
    """Empty, or a sentence that says what differs and who was made under what."""
    groups: Mapping[Conditions, tuple[Run, ...]]

    @classmethod
    def of(cls, unit: Unit, runs: Iterable[Run]) -> Comparability:
        """Group the runs by their conditions."""
        groups: dict[Conditions, tuple[Run, ...]] = {}
        for run in runs:
            groups[run.conditions] = (*groups.get(run.conditions, ()), run)
        if len(groups) <= 1:
            return cls(True, "", groups)
        differing = [
            name for name in Conditions._fields if len({getattr(c, name) for c in groups}) > 1
        ]
        made = "; ".join(
            f"{_describe(conditions, differing)}: {', '.join(run.method for run in runs)}"
            for conditions, runs in groups.items()
        )
        what = " and ".join(differing)
        return cls(False, f"the seconds of {unit.label} were made under different {what} ({made}), "
                   "so they are not ranked; regrets and solver calls are.", groups)  # fmt: skip


def label_units(identities: Iterable[Mapping[str, Any]]) -> dict[str, Unit]:
    """Name every unit by its task and size, and by what else tells it from the others."""
    first = {Unit.key_of(identity): identity for identity in identities}
    bases: dict[str, list[str]] = {}
    for key, identity in first.items():
        bases.setdefault(_base(identity), []).append(key)
    units = {}
    for base, keys in bases.items():
        facts = {key: _facts(first[key]) for key in keys}
        names = {name: None for fact in facts.values() for name in fact}
        differing = [
            name for name in names if len({_text(fact.get(name)) for fact in facts.values()}) > 1
        ]
        for key in keys:
            identity = first[key]
            extra = [_phrase(name, facts[key].get(name)) for name in differing]
            units[key] = Unit(
                key=key,
                label=", ".join([base, *extra]),
                base=base,
                task=str(identity["task"]),
                n=int(identity["settings"].get("n", 0)),
                seed=int(identity["seed"]),
                solver=str(identity["solver"]),
                data_digest=identity["data_digest"],
                settings=identity["settings"],
            )
    return units


def _base(identity: Mapping[str, Any]) -> str:
    n = identity["settings"].get("n")
    return str(identity["task"]) if n is None else f"{identity['task']}-{n}"


def _facts(identity: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: value for name, value in identity["settings"].items() if name != "n"}
    return {
        "seed": identity["seed"],
        **settings,
        "solver": identity["solver"],
        "data": identity["data_digest"],
    }


def _phrase(name: str, value: Any) -> str:
    if name == "data":
        return f"data {str(value)[:6]}" if value else "generated data"
    return f"{name} {_text(value)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _describe(conditions: Conditions, names: Iterable[str]) -> str:
    return ", ".join(f"{name} {getattr(conditions, name)}" for name in names)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) else None
