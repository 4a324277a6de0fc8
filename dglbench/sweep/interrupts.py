"""Ctrl-C: once to finish cleanly, twice to stop now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Counts SIGINT (and SIGTERM); a context manager that restores the handlers.

    The first raises `KeyboardInterrupt` only where `raising` says that the code can
    be stopped there, else the driver sees it in `count`. The second raises wherever
    it finds the program, the third ends the process without asking.
    """

    def __init__(self) -> None:
        self.count = 0
        self._raising = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Allow the first Ctrl-C to raise inside the block."""
        self._raising = True
        try:
            if self.count:  # it came a moment before
                raise KeyboardInterrupt
            yield
        finally:
            self._raising = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count >= 2:
            for each in self._before:
                signal.signal(each, signal.SIG_DFL)
            raise KeyboardInterrupt
        if self._raising:
            self._raising = False
            raise KeyboardInterrupt
