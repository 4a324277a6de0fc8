"""The bytes of a pack: a folder of four files, or one zip file with them inside."""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from dglbench import atomic
from dglbench.errors import RunError
from dglbench.packs.layout import MANIFEST, RUNS, SUFFIX, TABLE_FILES

__all__ = ["is_pack", "packs_in", "read_files", "write_files"]

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # equal runs make equal packs


def is_pack(path: Path) -> bool:
    """Say whether a path is a pack, whole or not."""
    try:
        if path.is_dir():
            names = (MANIFEST,) if path.suffix == SUFFIX else (MANIFEST, RUNS)
            return all((path / name).is_file() for name in names)
        file = path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
    return file and (path.suffix == SUFFIX or zipfile.is_zipfile(path))


def packs_in(folder: Path) -> Iterator[Path]:
    """Yield the packs that lie in a folder, in name order."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if not path.name.startswith(".") and is_pack(path):
            yield path


def read_files(path: Path) -> dict[str, bytes]:
    """Read the four files, or say which cannot be read."""
    name = MANIFEST
    found: dict[str, bytes] = {}
    try:
        if path.is_dir():
            for name in (MANIFEST, *TABLE_FILES):
                found[name] = (path / name).read_bytes()
            return found
        with zipfile.ZipFile(path) as archive:
            for name in (MANIFEST, *TABLE_FILES):
                found[name] = archive.read(name)
        return found
    except (FileNotFoundError, KeyError) as error:
        what = f"it has no {name}" if path.exists() else "there is no such file"
        raise RunError(
            f"{path} is no pack: {what}; `dglbench pack RESULTS --out {path.stem}{SUFFIX}` "
            "makes one."
        ) from error
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise RunError(f"{path} cannot be read as a pack ({error}); get it again.") from error


def write_files(path: Path, files: Mapping[str, bytes], *, archive: bool, force: bool) -> None:
    """Write a pack whole or not at all."""
    if path.exists() and not force:
        raise RunError(f"{path} exists; overwrite it with --force or choose another --out.")
    if path.exists() and not is_pack(path):
        raise RunError(f"{path} is no pack and is left as it is; choose another --out.")
    try:
        if archive:
            _write_archive(path, files)
        else:
            _write_folder(path, files)
    except OSError as error:
        raise RunError(
            f"{path} could not be written: {error.strerror or error}; free some space or choose "
            "another --out."
        ) from error


def _write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    with atomic.atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as out:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.external_attr = 0o644 << 16
            out.writestr(entry, content)  # stored: Parquet is compressed already


def _write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    mark = atomic.owner_mark()
    partial, aside = (path.with_name(f".{path.name}.{mark}.{kind}") for kind in ("new", "old"))
    try:
        partial.mkdir(parents=True)
        for name, content in files.items():
            (partial / name).write_bytes(content)
            atomic.flush(partial / name)
        atomic.flush(partial)  # its entries, before the folder gets its name
        if path.exists():
            path.rename(aside)
        partial.rename(path)
        atomic.flush(path.parent)
    finally:
        if aside.exists() and not path.exists():
            aside.rename(path)
        for left in (partial, aside):
            shutil.rmtree(left, ignore_errors=True)
            with contextlib.suppress(OSError):
                left.unlink()  # what was replaced may have been one file
