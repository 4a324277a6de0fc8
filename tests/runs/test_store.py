"""What a run writes is what is read, in its folder and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from make_logs import make_run
from record_files import change_record, read_document

from dglbench.errors import RunError
from dglbench.runs.record import FINAL_STATES, RunOutput, RunRecord
from dglbench.runs.store import clean_partial, read_record, run_folders, write_run


def test_a_record_survives_its_own_document(tmp_path):
    record = read_record(make_run(tmp_path, epochs=3))
    assert RunRecord.parse(record.document()) == record


def test_an_unknown_field_is_left_out_and_a_missing_one_filled_in(tmp_path):
    document = read_document(make_run(tmp_path, epochs=3))
    document["status"]["mood"] = "good"
    document["identity"]["protocol"]["mood"] = "good"
    del document["environment"]["load_1min"]
    del document["identity"]["protocol"]["dtype"]
    record = RunRecord.parse(document)
    assert record.environment.load_1min is None
    assert record.identity.protocol.dtype == "float64"
    assert record.state in FINAL_STATES


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda record: record["status"].update(state="asleep"), "unknown state 'asleep'"),
        (lambda record: record.update(summary=None), "without a selected epoch"),
        (lambda record: record.pop("identity"), "its record lacks 'identity'"),
        (lambda record: record.pop("environment"), "its record cannot be read"),
    ],
)
def test_a_record_that_cannot_be_one_is_named(tmp_path, change, sentence):
    folder = make_run(tmp_path, epochs=3)
    change_record(folder, change)
    with pytest.raises(RunError, match=sentence):
        read_record(folder)


@pytest.mark.parametrize("name", ["../../escaped", "a/b", "..", ".hidden", "/absolute"])
def test_no_run_is_written_outside_the_folder(tmp_path, name):
    record = replace(read_record(make_run(tmp_path / "source", epochs=3)), run_id=name)
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    with pytest.raises(RunError, match="is not the name of a folder inside"):
        write_run(RunOutput(record), out)
    assert list(out.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "source"]


KILLED = """
import os, signal, sys
from pathlib import Path
from dglbench.runs.record import RunOutput
from dglbench.runs.store import read_record, write_run

out, name, moment = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rename, seen = Path.rename, []

def interrupted(self, target):
    seen.append(target)
    if len(seen) == moment:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)

Path.rename = interrupted
write_run(RunOutput(read_record(out / name)), out, replace=True)
"""


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_run_that_is_being_replaced_is_never_lost(tmp_path, moment):
    """Killed before each of the renames: either the old run or the new one is there."""
    folder = make_run(tmp_path, epochs=3)
    old = sorted(path.name for path in folder.iterdir())
    command = [sys.executable, "-c", KILLED, str(tmp_path), folder.name, str(moment)]
    killed = subprocess.run(command, check=False, timeout=60)
    assert killed.returncode == -9
    clean_partial(tmp_path)
    assert [path.name for path in run_folders(tmp_path)] == [folder.name]
    found = sorted(path.name for path in folder.iterdir())
    assert found == (old if moment < 3 else ["run.json"])
    clean_partial(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name], "nothing is left over"


def test_a_replacement_that_cannot_be_named_leaves_the_old_run(tmp_path, monkeypatch):
    folder = make_run(tmp_path, epochs=3)
    before = read_record(folder)
    rename = Path.rename

    def full(self, target):
        if Path(target) == folder and "_old-" not in self.name:
            raise OSError(28, os.strerror(28))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(RunError, match="could not be written"):
        write_run(RunOutput(before), tmp_path, replace=True)
    assert read_record(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
