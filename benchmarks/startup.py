"""Measure the CPU seconds of commands that only show something (goal: 0.4 s each).

    python benchmarks/startup.py

Each is a process of its own; the least of a few tries is printed beside what Python and numpy
take alone. That these commands import nothing heavy is tested in tests/cli/test_cli_app.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

COMMANDS = {
    "import numpy": ("-c", "import numpy"),
    "dglbench --help": ("-m", "dglbench", "--help"),
    "dglbench list": ("-m", "dglbench", "list"),
    "dglbench list --methods": ("-m", "dglbench", "list", "--methods"),
}
TRIES = 5


def cpu_seconds(*words: str) -> float:
    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    for name, words in COMMANDS.items():
        least = min(cpu_seconds(*words) for _ in range(TRIES))
        print(f"{name:<24} {least:.2f} s CPU")


if __name__ == "__main__":
    main()
