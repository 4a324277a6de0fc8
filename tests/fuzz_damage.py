"""Damage at random to the files that commands read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from record_files import change_record

__all__ = [
    "pick",
    "spoil_arrays",
    "spoil_bytes",
    "spoil_dataset",
    "spoil_json",
    "spoil_toml",
]


def pick(rng: np.random.Generator, choices: Sequence[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def spoil_arrays(rng: np.random.Generator, path: Path) -> None:
    arrays = dict(np.load(path))
    name = pick(rng, sorted(arrays))
    array = arrays[name]
    changes: tuple[Callable[[], Any], ...] = (
        lambda: array[:-1],
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array.astype("float32"),
        lambda: array.astype(str),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full(array.shape, -1.0),
        lambda: np.full(array.shape, 1e308),
        lambda: np.zeros(array.shape),
        lambda: np.empty((0, *array.shape[1:])),
        lambda: array * 1j,
        lambda: np.array(3.0),
        lambda: np.array([{}], dtype=object),
    )
    if rng.random() < 0.1:
        del arrays[name]
    else:
        arrays[name] = pick(rng, changes)()
    if rng.random() < 0.2:
        extra = pick(rng, ("mask", "split", "sense", "groups", "equality", "other"))
        arrays[extra] = pick(rng, (np.zeros(3), np.array("x"), np.ones(2)))
    np.savez(path, **arrays)


def spoil_bytes(rng: np.random.Generator, path: Path) -> None:
    content = bytearray(path.read_bytes())
    how = int(rng.integers(5))
    if how == 0:
        del content[int(rng.integers(len(content) + 1)) :]
    elif how == 1:
        for _ in range(int(rng.integers(1, 9))):
            content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    elif how == 2:
        content = bytearray(rng.bytes(int(rng.integers(200))))
    elif how == 3:
        start = int(rng.integers(len(content)))
        content[start:start] = rng.bytes(4)
    else:
        path.unlink()
        if rng.random() < 0.5:
            path.mkdir()
        return
    path.write_bytes(content)


ODD = (None, -1, 0, 1.5, 1e300, "", "x", "nan", [], {}, [1, "a"], {"a": {}}, True, 10**30, "1,2")


def _mutate(rng: np.random.Generator, value: Any) -> Any:
    """Change one thing somewhere in a document: another type, one less, one more."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = pick(rng, sorted(value, key=str))
        how = rng.random()
        if how < 0.1:
            return {other: part for other, part in value.items() if other != key}
        if how < 0.15:
            return {**value, pick(rng, ("x", "", key.upper())): pick(rng, ODD)}
        return {**value, key: _mutate(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        return [*value[:place], _mutate(rng, value[place]), *value[place + 1 :]]
    return pick(rng, ODD)


def spoil_json(rng: np.random.Generator, path: Path) -> None:
    if path.name == "run.json":  # with a seal that fits, as another version would write it
        change_record(path.parent, lambda record: record.update(_mutate_table(rng, record)))
    else:
        path.write_text(json.dumps(_mutate(rng, json.loads(path.read_text("utf-8")))))


def _mutate_table(rng: np.random.Generator, record: dict[str, Any]) -> dict[str, Any]:
    mutated = _mutate(rng, record)
    return mutated if isinstance(mutated, dict) else {"identity": mutated}


def spoil_toml(rng: np.random.Generator, path: Path) -> None:
    document = tomlkit.parse(path.read_text("utf-8")).unwrap()
    for _ in range(int(rng.integers(1, 3))):
        mutated = _without_none(_mutate(rng, document))
        document = mutated if isinstance(mutated, dict) else document
    try:
        path.write_text(tomlkit.dumps(document), "utf-8")
    except (ValueError, TypeError, AttributeError):  # what TOML cannot say is bytes instead
        spoil_bytes(rng, path)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value if part is not None]
    return value


def spoil_dataset(rng: np.random.Generator, path: Path) -> None:
    """Write a Parquet file that is whole and wrong: columns lacking, of other types, shorter."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    name = pick(rng, table.column_names)
    place = table.column_names.index(name)
    how = int(rng.integers(6))
    if how == 0:
        table = table.drop_columns([name])
    elif how == 1:
        table = table.set_column(place, name, pa.array(["x"] * len(table)))
    elif how == 2:
        table = table.slice(0, int(rng.integers(len(table))))
    elif how == 3:
        table = table.set_column(place, name, pa.nulls(len(table), table.column(place).type))
    else:
        known = dict(table.schema.metadata or {})
        key = pick(rng, sorted(known) or [b"x"])
        try:
            changed = json.dumps(_mutate(rng, json.loads(known.get(key, b"{}")))).encode()
        except ValueError:
            changed = rng.bytes(8)
        table = table.replace_schema_metadata({**known, key: changed} if how == 4 else None)
    pq.write_table(table, path)
