"""Files that others released: a copy of one's own, or downloaded once, its sha256 checked."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from dglbench.errors import DatasetError, DownloadError

__all__ = ["Released", "located"]

TIMEOUT_S = 30


class Released(NamedTuple):
    """A file that is not part of dglbench."""

    title: str
    """What it is called in messages."""
    variable: str
    """The environment variable that names a copy of one's own."""
    file_name: str
    """What it is called in the cache (``DGLBENCH_CACHE``, or the system's cache folder)."""
    sha256: str
    urls: tuple[str, ...]
    """Where it stands, tried in this order; the hash decides what is accepted."""
    instead: str
    """What to do without it, as the end of a sentence."""


def located(file: Released) -> Path:
    """Return a checked copy of the file, downloading it first if there is none yet."""
    own = os.environ.get(file.variable)
    return _checked(Path(own), file) if own else _fetched(file)


def _checked(path: Path, file: Released) -> Path:
    """Refuse a user's own copy that is not the released file."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DatasetError(
            f"{file.variable} names '{path}', which cannot be read "
            f"({error.strerror}); point it at a copy of {file.urls[0]} or unset it to download one."
        ) from error
    if found != file.sha256:
        raise DatasetError(
            f"{file.variable} names '{path}', which is not the released file: its sha256 is "
            f"{found}, not {file.sha256}; fetch {file.urls[0]} again or unset the variable to "
            "download it."
        )
    return path


def _fetched(file: Released) -> Path:
    """Return the cached copy, downloading it if need be."""
    import pooch

    cache = Path(os.environ.get("DGLBENCH_CACHE") or pooch.os_cache("dglbench"))
    failures = []
    for url in file.urls:
        try:
            # pooch writes under a temporary name and renames only after the hash matched.
            return Path(
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{file.sha256}",
                    fname=file.file_name,
                    path=cache,
                    downloader=pooch.HTTPDownloader(timeout=TIMEOUT_S),
                )
            )
        except (OSError, ValueError) as error:  # requests' errors are OSErrors
            failures.append(error)
            response = getattr(error, "response", None)
            if response is not None:
                response.close()  # pooch leaves the socket of a refused request open
    raise DownloadError(
        f"{file.title} could not be downloaded to '{cache}' ({_reason(failures[0])}); fetch "
        f"{file.urls[0]} (sha256 {file.sha256}) where there is a network and set {file.variable} "
        f"to that copy, or {file.instead}."
    ) from failures[0]


def _reason(error: Exception) -> str:
    """Say in a few words why a download failed."""
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return "what arrived has another sha256"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the server answered {status}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"the connection failed: {type(error).__name__}"
