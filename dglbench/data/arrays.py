"""Read a user's arrays from where they are kept: ``.npz``, ``.npy``, a folder, Parquet."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import DatasetError

__all__ = ["Arrays", "read_arrays"]

_NAMES = {
    "features": ("features", "x"),
    "labels": ("labels", "y", "values"),
    "A": ("a", "weights"),
    "b": ("b", "capacity", "capacities"),
    "equality": ("equality",),
    "sense": ("sense",),
    "mask": ("mask",),
    "split": ("split",),
    "groups": ("groups",),
    "group_names": ("group_names", "item_names"),
    "option_names": ("option_names",),
    "row_names": ("row_names",),
}
"""What each array is called; in upper or lower case: A and a are the same, X and x too."""

_NUMBERS = ("features", "labels", "A", "b", "equality", "mask")
_CALLED = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
# A table may give a column to each feature and each label: feature_age, label_3.
_WIDE = {"features": r"(?:features?|x)[_. ](.+)", "labels": r"(?:labels?|y|values?)[_. ](.+)"}


class Arrays(NamedTuple):
    """What was found, by the names that are used here, and what was not understood."""

    found: dict[str, npt.NDArray[Any]]
    left_out: list[str]


def read_arrays(sources: Iterable[Path], unnamed: str | None = None) -> Arrays:
    """Read every source; one array may come from one of them only.

    ``unnamed`` is the array in an .npy file whose name is not that of any array.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    came_from: dict[str, Path] = {}
    left_out: list[str] = []
    for source in sources:
        for given, array in _read(source):
            name = _CALLED.get(given.lower(), unnamed if source.suffix == ".npy" else None)
            if name is None:
                left_out.append(given)
            elif name in found:
                where = f"in {source}" if came_from[name] == source else (
                    f"in {came_from[name]} and in {source}"
                )  # fmt: skip
                raise DatasetError(
                    f"{name} is given twice, {where} (it may be called "
                    f"{', '.join(_NAMES[name])}); leave one out."
                )
            else:
                _check_kind(name, array, source)
                found[name], came_from[name] = array, source
    return Arrays(found, left_out)


def _check_kind(name: str, array: npt.NDArray[Any], source: Path) -> None:
    """Refuse texts, complex numbers and objects where plain numbers are wanted."""
    numbers = name in _NUMBERS or (name == "groups" and array.ndim == 0)
    if numbers and array.dtype.kind not in "biuf":
        raise DatasetError(f"{name} in {source} are of type {array.dtype}; wanted numbers.")


def _read(source: Path) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    if source.is_dir():
        files = sorted(path for path in source.iterdir() if path.suffix in (".npy", ".npz"))
        if not files:
            raise DatasetError(
                f"the folder {source} holds no .npy file; wanted features.npy, labels.npy, A.npy "
                "and b.npy."
            )
        for file in files:
            yield from _read(file)
    elif not source.is_file():
        raise DatasetError(
            f"there is no file {source}; give an .npz file, a folder of .npy files or a Parquet "
            "file."
        )
    elif source.suffix == ".npy":
        with _opened(source) as array:
            yield source.stem, array
    elif source.suffix == ".npz":
        yield from _archive(source)
    elif source.suffix in (".parquet", ".pq"):
        yield from _table(source)
    else:
        raise DatasetError(
            f"{source} is not an .npz, .npy or .parquet file; save the arrays with "
            "numpy.savez('mine.npz', features=…, labels=…, A=…, b=…)."
        )


# What numpy and zipfile raise on damaged files; encrypted or newer archives are the last two.
_UNREADABLE = (
    OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error,
    RuntimeError, NotImplementedError,
)  # fmt: skip


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Yield what numpy reads from a file, and close the file even if it is damaged."""
    with path.open("rb") as file:
        try:
            read = np.load(file, allow_pickle=False)
        except _UNREADABLE as error:
            raise DatasetError(
                f"{path} cannot be read as numpy arrays ({_brief(error)}); it is damaged, or not "
                "a numpy file."
            ) from error
        yield read


def _archive(path: Path) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    with _opened(path) as archive:
        if not hasattr(archive, "files"):
            raise DatasetError(f"{path} is not an .npz archive; write it with numpy.savez.")
        if {"indptr", "indices", "format"} <= set(archive.files):  # scipy.sparse.save_npz
            from scipy.sparse import load_npz

            yield path.stem, load_npz(path).toarray()
            return
        for name in archive.files:
            try:
                yield name, archive[name]
            except _UNREADABLE as error:
                raise DatasetError(
                    f"{name} in {path} cannot be read ({_brief(error)}); save plain arrays of "
                    "numbers, no objects."
                ) from error


def _table(path: Path) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path} cannot be read as Parquet ({_brief(error)}).") from error
    if b"dglbench" in (table.schema.metadata or {}):
        raise DatasetError(f"{path} is a dglbench dataset already; give it to train with --data.")
    wide: dict[str, list[str]] = {name: [] for name in _WIDE}
    for column in table.column_names:
        kind = next(
            (n for n, pattern in _WIDE.items() if re.fullmatch(pattern, column, re.IGNORECASE)),
            None,
        )
        if kind and column.lower() not in _CALLED:
            wide[kind].append(column)
        else:
            yield column, _column(path, table.column(column), column)
    for name, columns in wide.items():
        if columns:
            parts = [_column(path, table.column(column), column) for column in columns]
            yield name, np.stack(parts, axis=1)


def _column(path: Path, column: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of numbers, texts or nested lists of one length as an array."""
    try:
        return np.array(column.to_pylist())
    except ValueError as error:
        raise DatasetError(
            f"the column {name} of {path} holds lists of different lengths; pad them and say with "
            "mask which options exist."
        ) from error


def _brief(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
