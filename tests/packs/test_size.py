"""A pack takes a fraction of the room that its runs take as folders."""

from __future__ import annotations

from pathlib import Path

import pytest

PACK = Path(__file__).parents[2] / "results" / "reference" / "tuned.dglpack"


@pytest.mark.slow
def test_a_pack_takes_an_eighth_of_the_room_of_its_runs(cli, tmp_path):
    done = cli("unpack", str(PACK), "--out", "runs", "--quiet")
    assert done.code == 0, done.err
    room = sum(path.stat().st_size for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert PACK.stat().st_size < room / 8
