"""Which code computes a run: the import closure of the classes involved, hashed.

A class brings its own module, the modules of its parents, and whatever these
import, at the top or inside functions, from packages that the closure already
belongs to: dglbench's own and the plugin's. Other libraries count by their versions
instead (`dglbench.runs.provenance`).

Files are parsed with `ast`, which CPython 3.11 allows in one thread at a time ("AST
constructor recursion depth mismatch"). Importing torch parses too: a process that imports it in
another thread waits for that thread first, as Dask workers do
(`dglbench.sweep.executors.dask_job`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from dglbench.runs.provenance import LIBRARIES

__all__ = ["closure", "source_hash"]

_OURS = ("dglbench", "dglbench_tasks")
# It re-exports names and computes nothing: following it would tie every run to every module.
_DOORS = ("dglbench",)


@functools.cache  # a grid asks thousands of times, and loaded code does not change
def source_hash(*roots: type | str) -> str:
    """Hash the code behind classes, or behind modules given by name."""
    digest = hashlib.sha256()
    for name, path in sorted(closure(*roots).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def closure(*roots: type | str) -> dict[str, Path]:
    """Return the modules behind classes or modules, by name, with their files."""
    waiting = [module for root in roots for module in _root_modules(root)]
    homes = {module.partition(".")[0] for module in waiting} | {*_OURS}
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        if name in found or name in _DOORS or name.partition(".")[0] not in homes:
            continue
        path = _file(name)
        if path is None:
            continue
        found[name] = path
        imported = list(_imports(name, path))
        if "." not in name and path.name != "__init__.py":
            # A plugin that is one file may have helpers beside it.
            homes |= {n for n in imported if "." not in n and (path.parent / f"{n}.py").is_file()}
        parent = name.rpartition(".")[0]
        waiting += imported + ([parent] if parent else [])
    return found


def _root_modules(root: type | str) -> list[str]:
    if isinstance(root, str):
        return [root]
    modules = [parent.__module__ for parent in root.__mro__]
    apart = {*sys.stdlib_module_names, *LIBRARIES} - {*_OURS}
    return [module for module in modules if module.partition(".")[0] not in apart]


@functools.cache
def _imports(name: str, path: Path) -> tuple[str, ...]:
    """Return every module that a module may import, and every name that may be one."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: dict[str, None] = {}
    for node in _executed(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            found |= {base: None, **{f"{base}.{alias.name}": None for alias in node.names}}
            found |= dict.fromkeys(_behind_door(base, alias.name) for alias in node.names)
    return tuple(name for name in found if name)


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a module without what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _executed(node)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _behind_door(base: str, name: str) -> str:
    """Return where a public name of dglbench is defined."""
    if base not in _DOORS:
        return ""
    return str(getattr(sys.modules[base], "PUBLIC", {}).get(name, ""))


def _file(name: str) -> Path | None:
    """Find a module's file without importing it; None if there is no such module."""
    top, *rest = name.split(".")
    loaded = sys.modules.get(top)
    file = getattr(loaded, "__file__", None)
    if file is None:
        beside = [Path(entry or ".") / f"{top}.py" for entry in sys.path]
        return next((path for path in beside if path.is_file()), None) if not rest else None
    if not rest:
        return Path(file)
    place = Path(file).parent.joinpath(*rest)
    for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if path.is_file():
            return path
    return None
