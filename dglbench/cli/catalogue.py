"""What ``dglbench list`` tells, kept between calls so that no plugin is imported to tell it again.

What was collected is kept in the user's cache folder with all it depends on: the folders that
Python imports from (to install or remove a distribution touches one), and the size and time of
every file that was imported or read for it. While those are the same, so is the answer. A
catalogue with a broken plugin is not kept: what mends it may lie anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
import zlib
from pathlib import Path
from typing import Any

__all__ = ["KINDS", "catalogue"]

KINDS = ("tasks", "solvers", "layers", "methods")
_FORMAT = 1


def catalogue() -> dict[str, Any]:
    """Return everything that can be asked for as a JSON-ready document."""
    if _registered_here():
        return _collect()
    path, places = _path(), [_FORMAT, sys.version, _stamps(sys.path)]
    kept = _read(path)
    if kept is not None and kept["places"] == places and kept["files"] == _stamps(kept["files"]):
        document: dict[str, Any] = kept["document"]
        return document
    document = _collect()
    if not any(entry["error"] for kind in KINDS for entry in document[kind]):
        _write(path, {"places": places, "files": _stamps(_sources()), "document": document})
    return document


def _registered_here() -> bool:
    """Whether this process has plugins that no distribution brings; without them, no import."""
    module = sys.modules.get("dglbench.plugins")
    return module is not None and module.any_registered()


def _stamps(paths: Any) -> dict[str, list[int]]:
    """Size and time of each file or folder; of one that is not there, nothing."""
    stamps = {}
    for path in paths:
        with contextlib.suppress(OSError):
            status = Path(path).stat()
            stamps[str(path)] = [status.st_size, status.st_mtime_ns]
    return stamps


def _sources() -> list[str]:
    """Every file imported so far, but Python's own, and the paper's settings beside tasks."""
    from dglbench import plugins

    files = {
        file
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None)) and not file.startswith(_own_library())
    }
    for plugin in plugins.plugins(plugins.TASKS):
        beside = sys.modules.get(getattr(plugin.target, "__module__", ""))
        if beside is not None and beside.__file__:
            files |= {str(path) for path in Path(beside.__file__).parent.glob("*.toml")}
    return sorted(files)


def _own_library() -> str:
    return sysconfig.get_path("stdlib") + os.sep


def _path() -> Path:
    """A file for each place that Python is installed in."""
    given = os.environ.get("DGLBENCH_CACHE")
    if not given:
        from platformdirs import user_cache_dir

        given = user_cache_dir("dglbench")
    return Path(given) / f"catalogue-{zlib.crc32(sys.prefix.encode()):08x}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text("utf-8"))
        return kept if {"places", "files", "document"} <= kept.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _write(path: Path, kept: dict[str, Any]) -> None:
    from dglbench import atomic

    with contextlib.suppress(OSError, TypeError):  # not kept: the next call collects again
        atomic.write_text(path, json.dumps(kept))


def _collect() -> dict[str, Any]:
    """Import every plugin, though nothing heavy, and ask it."""
    from dglbench import __version__
    from dglbench.cli import description
    from dglbench.plugins import LAYERS, METHODS, SOLVERS, TASKS, plugins

    return {
        "version": __version__,
        "tasks": [description.describe(plugin, "Settings") for plugin in plugins(TASKS)],
        "solvers": [description.describe(plugin) for plugin in plugins(SOLVERS)],
        "layers": [description.describe(plugin) for plugin in plugins(LAYERS)],
        "methods": description.mark_paper_options(
            [description.describe(plugin, "Options") for plugin in plugins(METHODS)]
        ),
    }
