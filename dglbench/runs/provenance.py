"""Where a run was made: libraries, machine and load."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from dglbench.runs.record import Environment, RunRecord

__all__ = [
    "EXTRAS",
    "LIBRARIES",
    "busy",
    "current_load",
    "environment",
    "extras",
    "libraries",
    "upgrades",
]

_PACKAGE = Path(__file__).parents[1]

LIBRARIES = ("numpy", "torch", "ortools", "cvxpy", "cvxpylayers", "diffcp", "scipy")
"""Libraries that compute for us: seconds and last bits depend on their versions."""

EXTRAS = ("pyepo",)
"""Libraries that only the methods of an extra use; such a method notes the version it used."""

_MARGIN = 0.5  # a load average is a noisy count


def environment(threads: int, concurrency: int) -> Environment:
    """Describe versions, machine and load."""
    return Environment(
        **_static_environment(),
        threads=threads,
        concurrency=concurrency,
        load_1min=current_load(),
    )


def current_load() -> float | None:
    """Return the load of the last minute, None if the system does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def busy(load: float | None, jobs: int) -> str | None:
    """Return a warning if the machine has more to do than the ``jobs`` threads being timed."""
    if load is None or load <= jobs + _MARGIN:
        return None
    return (
        f"the machine is busy (load {load:g}, expected {jobs}): seconds measured now are longer "
        "than on an idle machine; regrets are not affected."
    )


def libraries(environment: Environment) -> dict[str, str]:
    """Return the versions that runs must share to be compared, Python's included."""
    known = {"python": environment.python, **environment.versions}
    return {name: str(known[name]) for name in ("python", *LIBRARIES) if known.get(name)}


def extras(record: RunRecord) -> dict[str, str]:
    """Return the versions of `EXTRAS` that a run used; most runs use none."""
    return {name: str(record.notes[name]) for name in EXTRAS if record.notes.get(name)}


def upgrades(record: RunRecord) -> list[str]:
    """List the libraries whose version here differs from the run's."""
    then = {**libraries(record.environment), **extras(record)}
    now = {**libraries(environment_here()), **{n: v for n in EXTRAS if (v := _version(n))}}
    return [
        f"{name} {then[name]} (now {now[name]})"
        for name in then
        if name in now and then[name] != now[name]
    ]


@functools.cache
def environment_here() -> Environment:
    """Describe this process while nothing runs."""
    return environment(threads=1, concurrency=1)


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
        "versions": {name: _version(name) for name in ("dglbench", *LIBRARIES)},
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
