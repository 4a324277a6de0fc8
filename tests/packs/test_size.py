"""A pack of the committed reference runs is small and quick to read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dglbench.packs import writing
from dglbench.packs.finding import find_runs
from dglbench.runs.schemas import TABLES

REFERENCE = Path(__file__).parents[2] / "results" / "reference" / "field" / "timed" / "field"


def seconds(place):
    """CPU seconds to read every record and every table."""
    began = time.process_time()
    runs = find_runs([place]).runs
    for name in TABLES:
        runs.tables(name, list(runs.records))
    return time.process_time() - began


@pytest.mark.slow
def test_six_hundred_runs_are_small_and_read_five_times_faster(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "digest_data", lambda identities: ())  # some need a download
    packed = writing.pack(find_runs([REFERENCE]).runs, tmp_path / "field.dglpack")
    assert packed.bytes < 8_000_000 * packed.runs / 600
    seconds(packed.path)  # what is imported once
    folders = min(seconds(REFERENCE) for _ in range(3))
    assert folders > 5 * min(seconds(packed.path) for _ in range(3))
