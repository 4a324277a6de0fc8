"""Where a run came from: the code, the machine and how busy it was."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["environment", "source_hash"]

_PACKAGE = Path(__file__).parents[1]

# The files that decide what a run computes. The command line, the report and
# the sweep's plumbing are left out: changing them leaves every regret as it was.
_CORE = (
    "options.py",
    "problem.py",
    "problem_checks.py",
    "streams.py",
    "structure/*.py",
    "task.py",
    "value_map.py",
    "layers/*.py",
    "methods/base.py",
    "methods/diagnostics.py",
    "runs/schemas.py",
    "solvers/*.py",
    "training/*.py",
)

_LIBRARIES = ("dglbench", "numpy", "torch", "ortools", "cvxpy", "cvxpylayers", "diffcp", "scipy")


@functools.cache  # a grid asks thousands of times, and a process runs the code it has loaded
def source_hash(*objects: type) -> str:
    """Hash the core and the packages' modules that define ``objects`` (a task, a method)."""
    files = [path for pattern in _CORE for path in sorted(_PACKAGE.glob(pattern))]
    files += [path for thing in objects for path in _module_files(thing)]
    digest = hashlib.sha256()
    for path in dict.fromkeys(files):
        digest.update(path.name.encode() + b"\0" + _content(path) + b"\0")
    return digest.hexdigest()[:12]


def environment(threads: int, concurrency: int) -> dict[str, Any]:
    """Describe versions, machine and load; nothing here decides a regret."""
    return {
        **_static_environment(),
        "threads": threads,
        "concurrency": concurrency,
        "load_1min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


@functools.cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


def _module_files(thing: type) -> list[Path]:
    """Return the module's file, and its siblings when a plugin package holds helpers beside it."""
    file = getattr(sys.modules[thing.__module__], "__file__", None)
    if file is None:
        return []
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return [path]
    in_package = (path.parent / "__init__.py").is_file()
    return sorted(path.parent.glob("*.py")) if in_package else [path]


@functools.cache
def _static_environment() -> dict[str, Any]:
    import psutil

    cpu, cores = _cpu_model(), psutil.cpu_count(logical=True)
    memory = round(psutil.virtual_memory().total / 2**30)
    fingerprint = hashlib.sha256(
        f"{platform.node()}|{cpu}|{cores}|{memory}|{platform.platform()}".encode()
    ).hexdigest()[:12]
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu,
        "cores": cores,
        "memory_gib": memory,
        "machine": fingerprint,
        "versions": {name: _version(name) for name in _LIBRARIES},
        **_git_state(),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git_state() -> dict[str, Any]:
    """Return the revision of the source tree dglbench runs from, if it is one."""
    try:
        revision = _git("rev-parse", "HEAD")
        dirty = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {"git_revision": None, "git_dirty": None}
    return {"git_revision": revision, "git_dirty": dirty}


def _git(*arguments: str) -> str:
    if not (_PACKAGE.parent / ".git").exists():
        raise OSError("not a source tree")
    answer = subprocess.run(
        ["git", *arguments],
        cwd=_PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return answer.stdout.strip()
