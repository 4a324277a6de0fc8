"""Which runs the sweeps of a pack were to make, read from the files they left.

A file is read as it stands and resolved against nothing, so that a plan can be checked whatever
the defaults of this version are.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dglbench.runs.record import Identity

__all__ = ["Cell", "Search", "changed_plans", "planned", "searches"]


@dataclass(frozen=True)
class Cell:
    """One run that was planned; of a search, the runs of one method on one dataset."""

    sweep: str
    setting: str
    """The setting's name, or the dataset file."""
    settings: Mapping[str, Any]
    data_digest: str | None
    """The content of a dataset file, which decides the data alone; else None."""
    seed: int | None
    repeat: int | None
    """None for a search, whose trials may have training seeds of their own."""
    method: str
    predictor: str
    solver: str
    options: Mapping[str, Any]
    """Those that were fixed."""

    @property
    def words(self) -> str:
        """Name the cell."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        repeat = "" if self.repeat is None else f", repeat {self.repeat}"
        return f"{self.method} ({self.predictor}) on {self.setting}{seed}{repeat}"

    def holds(self, identity: Identity) -> bool:
        """Say whether a run is one of the cell's."""
        # A method that fits at once has no predictor but its own, and one run for all repeats.
        at_once = identity.predictor == self.method
        return (
            identity.method == self.method
            and (at_once or self.repeat in (None, identity.train_seed))
            and (at_once or identity.predictor == self.predictor)
            and identity.solver == self.solver
            and self._on_data_of(identity)
            and _within(self.options, identity.options)
        )

    def _on_data_of(self, identity: Identity) -> bool:
        if self.data_digest is not None:
            return identity.data_digest == self.data_digest
        return (
            identity.seed == self.seed
            and identity.setting == self.setting
            and _within(self.settings, identity.settings)
        )


@dataclass(frozen=True)
class Search:
    """What a sweep says of one group: a method on one dataset."""

    sweep: str
    kind: str
    """How the space was searched; ``none`` where nothing was."""
    group: Mapping[str, Any]
    elsewhere: Mapping[str, Any]
    """The search that chose the options, if that was made in another sweep."""

    @property
    def run_id(self) -> str | None:
        """The run that stands for the group."""
        found = self.group.get("run_id")
        return found if isinstance(found, str) else None

    @property
    def where(self) -> str:
        """The dataset: the methods of one are compared."""
        group = self.group
        return f"{group.get('setting')}, seed {group.get('seed')}"


def planned(documents: Mapping[str, str]) -> Iterator[Cell]:
    """Yield every cell that a ``sweep-….toml`` plans."""
    for name, text in documents.items():
        if not (name.startswith("sweep-") and name.endswith(".toml")):
            continue
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        for entry in document.get("setting", []):
            yield from _cells(name, document, entry)


def _cells(sweep: str, document: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Cell]:
    searched = document.get("search", "none") != "none"
    content = entry.get("data_digest")
    seeds = (entry.get("tune_seeds") if searched else None) or entry.get("seeds", [])
    for method in document.get("methods", []):
        for seed in seeds if content is None else [None]:
            for repeat in [None] if searched else entry.get("train_seeds", [0]):
                yield Cell(
                    sweep=sweep,
                    setting=str(entry.get("task") or entry.get("data")),
                    settings=entry.get("set", {}),
                    data_digest=content,
                    seed=seed,
                    repeat=repeat,
                    method=method,
                    predictor=str(entry.get("predictor", "linear")),
                    solver=str(document.get("solver", "")),
                    options=entry.get("option", {}).get(method, {}),
                )


def changed_plans(documents: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each sweep whose two files differ or are not what their name hashes."""
    for name, text in documents.items():
        if not (name.startswith("sweep-") and name.endswith(".json")):
            continue
        try:
            document = json.loads(text)["sweep"]
        except (ValueError, KeyError, TypeError):
            yield f"{name} is not as a sweep writes it"
            continue
        canonical = json.dumps(document, sort_keys=True, ensure_ascii=False)
        made = hashlib.sha256(canonical.encode()).hexdigest()[:10]
        if name != f"sweep-{made}.json":
            yield f"{name} was changed: its plan has the hash {made}"
        beside = documents.get(name.removesuffix("json") + "toml")
        if beside is None or _plain(tomllib.loads(beside)) != _plain(document):
            yield f"{name} and the .toml beside it have different plans"


def searches(documents: Mapping[str, str]) -> Iterator[Search]:
    """Yield every group of every ``sweep-….json``."""
    for name, text in documents.items():
        if not (name.startswith("sweep-") and name.endswith(".json")):
            continue
        try:
            document = json.loads(text)
        except ValueError:
            continue
        for group in document.get("groups", []) if isinstance(document, dict) else []:
            if isinstance(group, Mapping):
                tuned = group.get("tuned")
                elsewhere = tuned if isinstance(tuned, Mapping) else {}
                yield Search(name, str(document.get("search", "none")), group, elsewhere)


def _within(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Say whether every value is there; options of a lead-in or a later version do not count."""
    return all(_plain(found.get(key)) == _plain(value) for key, value in wanted.items())


def _plain(value: Any) -> Any:
    """Return what TOML keeps of a value."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return "none" if value is None else value
