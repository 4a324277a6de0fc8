"""What a run writes is what is read, of this format and the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from dglbench.errors import RunError
from dglbench.runs import format1
from dglbench.runs.record import FINAL_STATES, RunRecord
from dglbench.runs.store import damage, read_record, run_folders

OLD = Path(__file__).parents[2] / "results" / "reference" / "paper" / "runs"


def test_runs_of_0_1_are_read_as_they_are():
    folders = list(run_folders(OLD))
    assert len(folders) == 80
    for folder in folders:
        record = read_record(folder)
        assert record.run_id == folder.name == record.identity.run_id, "ids are still recognised"
        assert record.identity.format == 1
        assert record.state == "done"
        assert damage(folder, record) is None


def test_notes_of_format_1_are_told_from_the_rest():
    folder = next(run_folders(OLD)).parent
    (qptl,) = folder.glob("knapsack-24-*-qptl-*")
    assert read_record(qptl).notes == {"qp_failures": 0}


def test_a_record_survives_its_own_document():
    for folder in list(run_folders(OLD))[:3]:
        record = read_record(folder)
        assert RunRecord.parse(record.document()) == record


def test_an_unknown_field_is_left_out_and_a_missing_one_filled_in():
    document = format1.read_document(next(run_folders(OLD)))
    document["status"]["mood"] = "good"
    del document["environment"]["load_1min"]
    record = RunRecord.parse(document)
    assert record.environment.load_1min is None
    assert record.state in FINAL_STATES


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda spec, status: status.unlink(), "it has no status.json"),
        (lambda spec, status: spec.write_text("[]"), "its spec.json is no JSON object"),
        (lambda spec, status: status.write_text("{"), "its status.json is no JSON"),
        (lambda spec, status: status.write_text('{"status": "asleep"}'), "unknown state 'asleep'"),
        (lambda spec, status: status.write_text('{"status": "done"}'), "without a selected epoch"),
    ],
)
def test_a_damaged_run_of_format_1_is_named(tmp_path, change, sentence):
    source = next(run_folders(OLD))
    for name in ("spec.json", "status.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    change(tmp_path / "spec.json", tmp_path / "status.json")
    with pytest.raises(RunError, match=sentence):
        read_record(tmp_path)
