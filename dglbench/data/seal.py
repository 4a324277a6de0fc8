"""A seal over every byte of a Parquet file, kept inside the file.

Page checksums do not cover headers and the footer. The seal does: the sha256 of
the file with 64 zeros in the seal's own place.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PLACEHOLDER", "close", "holds"]

_KEY = b"dglbench_seal"
_OPEN = b"0" * 64
_READ_BYTES = 16_000_000

PLACEHOLDER: Mapping[bytes, bytes] = {_KEY: _OPEN}
"""Schema metadata to write the file with, before it is sealed."""


def close(path: Path) -> None:
    """Replace the placeholder of a finished file by its seal."""
    place = _place(path, _OPEN)
    if place is None:
        raise ValueError(f"{path} was not written with the seal's placeholder.")
    seal = _hash(path, place)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(seal)


def holds(path: Path, metadata: Mapping[bytes, bytes] | None) -> bool:
    """Say whether no byte has changed since the file was sealed."""
    seal = (metadata or {}).get(_KEY, b"")
    place = _place(path, seal) if len(seal) == len(_OPEN) else None
    return place is not None and _hash(path, place) == seal


def _place(path: Path, seal: bytes) -> int | None:
    """Find where in the footer the seal stands."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(end - 8, 0))
        footer = 8 + int.from_bytes(file.read(4), "little")
        if footer > end:
            return None
        file.seek(end - footer)
        within = file.read().rfind(seal)
    return None if within < 0 else end - footer + within


def _hash(path: Path, place: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(place))
        digest.update(_OPEN)
        file.seek(len(_OPEN), 1)
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest().encode()
