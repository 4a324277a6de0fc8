"""Rooms import one another in one direction, as pyproject.toml draws it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent


def test_imports_go_one_way(monkeypatch):
    monkeypatch.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = lint_imports(no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, said.getvalue()
