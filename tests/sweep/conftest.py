"""Real sweeps of a tiny size, as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plugin_writer import write_plugin
from sweep_helpers import FAULTY, FAULTY_METHODS


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distribution with methods that misbehave."""
    folder = tmp_path_factory.mktemp("plugins")
    return write_plugin(folder, "faulty", FAULTY, {"methods": FAULTY_METHODS})


@pytest.fixture
def start(plugins: Path, tmp_path: Path) -> Any:
    """Start ``dglbench`` as a process of its own; what still runs at the end is killed."""
    begun: list[subprocess.Popen[str]] = []
    inherited = os.environ.get("PYTHONPATH", "")

    def start_process(
        *arguments: object,
        program: tuple[str, ...] = ("-m", "dglbench"),
        env: Mapping[str, object] | None = None,
    ) -> subprocess.Popen[str]:
        given = {key: str(value) for key, value in (env or {}).items()}
        path = os.pathsep.join(filter(None, [given.pop("PYTHONPATH", str(plugins)), inherited]))
        marks = {"DIES_ONCE": str(tmp_path / "died"), "HANGS": str(tmp_path / "hung")}
        extra = {"PYTHONPATH": path, **marks, **given}
        process = subprocess.Popen(
            [sys.executable, *program, *map(str, arguments)],
            env={**os.environ, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield start_process
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
