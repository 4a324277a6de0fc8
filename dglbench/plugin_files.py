"""Tasks, methods, solvers and layers from one local file, without packaging (``--plugin``).

A file is loaded as a module of its own name with a prefix, so that it can shadow
nothing, and may import helpers from its own folder. Remote workers are sent its
text and that of its helpers.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from dglbench import plugins
from dglbench.errors import PluginError

__all__ = ["ShippedFile", "load_plugins", "load_shipped", "located", "shipped_files"]

_PREFIX = "plugin_file_"
_loaded: dict[str, Path] = {}
"""Module name to the file it was loaded from."""
_kept: list[tempfile.TemporaryDirectory[str]] = []
"""Where shipped files lie, for as long as this process may read them."""
_folders: set[Path] = set()
"""Where plugin files were loaded from."""


@dataclass(frozen=True)
class ShippedFile:
    """A plugin's file and its helpers, as they are sent to workers."""

    name: str
    texts: tuple[tuple[str, bytes], ...]
    """File names and contents, the plugin's own among them."""


def load_plugins(paths: Iterable[Path]) -> None:
    """Register what the files define; a file that is given twice counts once."""
    chosen: dict[str, Path] = {}
    for path in paths:
        other = chosen.setdefault(path.name, path)
        if other.resolve() != path.resolve():
            raise PluginError(
                f"--plugin {other} and {path} have the same file name; rename one of them."
            )
    for path in chosen.values():
        _load(path)


def located(names: Iterable[str], beside: Path) -> list[Path]:
    """Find files that a ``--config`` file names: beside it, or from here."""
    return [beside / name if (beside / name).is_file() else Path(name) for name in names]


def shipped_files() -> tuple[ShippedFile, ...]:
    """Return what remote workers need to load the files that were loaded here."""
    from dglbench.runs.code_hash import closure

    files = []
    for module, path in _loaded.items():
        near = {found for found in closure(module).values() if found.parent == path.parent}
        texts = tuple((each.name, each.read_bytes()) for each in sorted({path, *near}))
        files.append(ShippedFile(path.name, texts))
    return tuple(files)


def load_shipped(files: Iterable[ShippedFile]) -> None:
    """Load files that were sent here."""
    for file in files:
        folder = tempfile.TemporaryDirectory(prefix="dglbench-plugin-")
        _kept.append(folder)
        for name, text in file.texts:
            (Path(folder.name) / name).write_bytes(text)
            _forget_helper(Path(name).stem)
        _load(Path(folder.name) / file.name)


def _forget_helper(name: str) -> None:
    """Have a helper of an earlier version imported anew; any other module of that name stays."""
    came_from = getattr(sys.modules.get(name), "__file__", None)
    if came_from is not None and (folder := Path(came_from).resolve().parent) in _folders:
        del sys.modules[name]
        sys.path[:] = [entry for entry in sys.path if entry != str(folder)]


def _load(path: Path) -> None:
    if path.suffix != ".py" or not path.is_file():
        what = "is not a .py file" if path.exists() else "does not exist"
        raise PluginError(f"--plugin {path} {what}; give one Python file with a task or method.")
    name = _PREFIX + re.sub(r"\W", "_", path.stem)
    resolved = path.resolve()
    if _loaded.get(name) == resolved:
        return
    module = _executed(name, resolved, path)
    try:
        found = plugins.register(module, origin=path.name)
    except Exception:
        sys.modules.pop(name, None)
        raise
    if not found:
        raise PluginError(
            f"--plugin {path} defines no task, method, solver or layer{_why_none(module)}."
        )
    _loaded[name] = resolved


def _executed(name: str, resolved: Path, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise PluginError(f"--plugin {path} cannot be loaded as Python.")
    _folders.add(resolved.parent)
    if str(resolved.parent) not in sys.path:
        sys.path.append(str(resolved.parent))  # last: its helpers shadow nothing
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file may raise anything
        sys.modules.pop(name, None)
        line = _line(error, resolved)
        text = " ".join(str(getattr(error, "msg", error)).split())[:200]
        where = f", line {line}" if line else ""
        raise PluginError(
            f"--plugin {path} does not load ({type(error).__name__}{where}: {text}); fix it."
        ) from error
    return module


def _line(error: Exception, path: Path) -> int | None:
    """Return the last line of the file that an error passed through."""
    if isinstance(error, SyntaxError):
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _why_none(module: ModuleType) -> str:
    """Name the methods that a class which almost is a plugin lacks."""
    for cls in vars(module).values():
        lacking = sorted(getattr(cls, "__abstractmethods__", ()))
        if isinstance(cls, type) and cls.__module__ == module.__name__ and lacking:
            names = ", ".join(f"{name}()" for name in lacking)
            return f": its class {cls.__name__} lacks {names}"
    return "; a plugin is a subclass of dglbench.task.Task, dglbench.methods.Method or the like"
