"""Whether files can be written where the user asked, checked before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from dglbench.errors import RunError

__all__ = ["check_file", "check_folder", "make_folder"]


def check_folder(folder: Path, flag: str = "--out") -> None:
    """Refuse a folder that is a file, lies below one, or cannot be written to; create nothing."""
    try:
        place = next(path for path in (folder, *folder.absolute().parents) if _exists(path))
        if not place.is_dir():
            raise RunError(f"{place} is a file, not a folder; choose another {flag}.")
        if not os.access(place, os.W_OK | os.X_OK):
            raise RunError(
                f"{place} cannot be written to: permission denied; choose another {flag}."
            )
    except (OSError, ValueError) as error:
        raise _cannot(folder, error, flag) from error


def make_folder(folder: Path, flag: str = "--out") -> None:
    """Make a folder and its parents, with the same message if that fails."""
    check_folder(folder, flag)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _cannot(folder, error, flag) from error


def check_file(path: Path, flag: str = "--out") -> None:
    """Refuse a file that is a folder or whose folder cannot be written to."""
    try:
        if path.is_dir():
            raise RunError(f"{path} is a folder; give {flag} a file name.")
        os.lstat(path)  # fails if the name is too long for the file system
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise _cannot(path, error, flag) from error
    check_folder(path.parent, flag)


def _exists(path: Path) -> bool:
    # os.path.lexists would report a name that is too long as absent.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _cannot(path: Path, error: Exception, flag: str) -> RunError:
    reason = getattr(error, "strerror", None) or str(error)
    return RunError(f"{path} cannot be written to: {reason}; choose another {flag}.")
