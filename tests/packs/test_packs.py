"""A pack holds what the folders hold, and is read wherever they are."""

from __future__ import annotations

import dataclasses
import shutil

import polars as pl
import pytest
from make_logs import Options, make_folder, make_run
from record_files import change_record, flip_bit

import dglbench
from dglbench.errors import ReportError, RunError
from dglbench.packs.finding import find_runs
from dglbench.packs.layout import MANIFEST, TABLE_FILES, Manifest
from dglbench.packs.pack_files import read_files, write_files
from dglbench.packs.sources import recorded
from dglbench.packs.unpacking import unpack
from dglbench.packs.writing import pack
from dglbench.report import load
from dglbench.report.tables import TABLES as SHEETS
from dglbench.report.tables import build, render
from dglbench.runs.schemas import TABLES
from dglbench.runs.store import read_document

SETTINGS = [("matching", 10, 10), ("matching", 10, 25), ("knapsack", 24, 25)]
METHODS = ["two-stage", "spo", "qptl", "dgl-1", "dgl-5"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("logs"), METHODS, SETTINGS, epochs=6)
    make_run(folder, "spo", options=Options(lr=0.5), epochs=6)
    make_run(folder, "lodl", status={"state": "failed", "message": "no luck"})
    (folder / "sweep-0123456789.toml").write_text('methods = ["spo"]\n')
    (folder / "sweep-0123456789.json").write_text('{"search": "full", "groups": []}')
    return folder


@pytest.fixture(scope="module")
def packed(logs, tmp_path_factory):
    path = tmp_path_factory.mktemp("packs") / "all.dglpack"
    pack(find_runs([logs]).runs, path)
    return path


def whole(place):
    """All that is read of a place: documents of records, tables, sweeps' files."""
    runs = find_runs([place]).runs
    names = list(runs.records)
    documents = {name: {**runs.homes[name].document(name), "files": {}} for name in names}
    tables = {name: runs.tables(name, names, lists=True) for name in TABLES}
    return documents, tables, dict(runs.documents("*"))


def assert_same(one, two):
    assert one[0] == two[0]
    assert one[2] == two[2]
    for name in TABLES:
        assert one[1][name].counts == two[1][name].counts
        assert one[1][name].rows.equals(two[1][name].rows)


def test_nothing_is_lost_and_every_table_is_equal(logs, packed, tmp_path):
    assert_same(whole(logs), whole(packed))
    unpack(find_runs([packed]).runs, tmp_path / "again")
    assert_same(whole(logs), whole(tmp_path / "again"))
    reports = [load(place) for place in (logs, packed, tmp_path / "again")]
    for name in SHEETS:
        first, *others = (render(build(name, report), "csv") for report in reports)
        assert others == [first, first], name


def test_some_runs_are_read_in_the_order_asked_for(logs, packed):
    names = sorted(find_runs([logs]).runs.records)[::-2]
    one, two = (find_runs([place]).runs.tables("timing", names) for place in (logs, packed))
    assert list(one.counts.items()) == list(two.counts.items())
    assert one.rows.equals(two.rows)


def test_a_field_that_this_version_does_not_know_survives(tmp_path):
    folder = make_run(tmp_path / "runs", epochs=3)
    change_record(folder, lambda record: record["identity"].update(mood="good"))
    pack(find_runs([tmp_path / "runs"]).runs, tmp_path / "a.dglpack")
    unpack(find_runs([tmp_path / "a.dglpack"]).runs, tmp_path / "again")
    assert read_document(tmp_path / "again" / folder.name)["identity"]["mood"] == "good"


def test_equal_runs_make_equal_packs_in_both_forms(logs, packed, tmp_path):
    shutil.copytree(logs, tmp_path / "copy")
    pack(find_runs([tmp_path / "copy"]).runs, tmp_path / "one.dglpack", archive=True)
    pack(find_runs([packed]).runs, tmp_path / "two.dglpack", archive=True)
    assert (tmp_path / "one.dglpack").read_bytes() == (tmp_path / "two.dglpack").read_bytes()
    assert read_files(tmp_path / "one.dglpack") == read_files(packed)


def test_the_files_are_readable_without_dglbench(packed):
    runs = pl.read_parquet(packed / "runs.parquet")
    assert runs.filter(state="done")["test_regret"].is_not_null().all()
    curves = pl.read_parquet(packed / "curves.parquet").filter(table="regret", split="test")
    assert curves["relative_regret"].is_not_null().all()
    decisions = pl.read_parquet(packed / "decisions.parquet")
    assert decisions["run"].n_unique() == runs.filter(state="done").height


@pytest.mark.parametrize("name", [MANIFEST, *TABLE_FILES])
@pytest.mark.parametrize("archive", [False, True])
def test_a_flipped_bit_in_any_file_is_found_and_named(packed, tmp_path, name, archive):
    files = read_files(packed)
    content = bytearray(files[name])
    content[len(content) // 2] ^= 1
    path = tmp_path / "bad.dglpack"
    write_files(path, {**files, name: bytes(content)}, archive=archive, force=False)
    with pytest.raises(ReportError, match=f"bad.dglpack is damaged: its {name}"):
        load(path)


def test_half_a_pack_and_no_pack_are_one_sentence(packed, tmp_path):
    shutil.copytree(packed, tmp_path / "half.dglpack")
    (tmp_path / "half.dglpack" / "curves.parquet").unlink()
    with pytest.raises(ReportError, match=r"half.dglpack is no pack: it has no curves.parquet"):
        load(tmp_path / "half.dglpack")
    (tmp_path / "text.dglpack").write_text("hello")
    with pytest.raises(ReportError, match=r"text.dglpack cannot be read as a pack"):
        load(tmp_path / "text.dglpack")


@pytest.mark.parametrize("archive", [False, True])
def test_a_pack_is_written_whole_or_not_at_all(logs, tmp_path, monkeypatch, archive):
    path = tmp_path / "a.dglpack"
    pack(find_runs([logs]).runs, path, archive=archive)
    before = read_files(path)
    make_run(tmp_path / "more", "dgl-20", epochs=3)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dglbench.atomic.flush", full)
    with pytest.raises(RunError, match=r"could not be written: No space left on device"):
        pack(find_runs([tmp_path / "more"]).runs, path, archive=archive, force=True)
    assert read_files(path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dglpack", "more"]


def test_a_damaged_run_is_not_packed(tmp_path):
    folder = make_run(tmp_path / "runs", epochs=3)
    flip_bit(folder / "timing.parquet", 100)
    with pytest.raises(RunError, match=r"cannot be packed: its timing.parquet is damaged"):
        pack(find_runs([tmp_path / "runs"]).runs, tmp_path / "a.dglpack")
    assert not (tmp_path / "a.dglpack").exists()


def test_folders_and_packs_together_are_one_set(tmp_path):
    make_folder(tmp_path / "a", ["spo", "two-stage"], SETTINGS[:1], epochs=3)
    make_folder(tmp_path / "b", ["qptl", "spo"], SETTINGS[:1], epochs=3)
    make_folder(tmp_path / "all", ["qptl", "spo", "two-stage"], SETTINGS[:1], epochs=3)
    pack(find_runs([tmp_path / "a"]).runs, tmp_path / "a.dglpack")
    both = load(tmp_path / "a.dglpack", tmp_path / "b")
    assert len(both.runs) == 3, "spo is in both and counts once"
    assert both.methods == load(tmp_path / "all").methods
    for name in ("leaderboard", "pairwise"):
        assert build(name, both).records() == build(name, load(tmp_path / "all")).records()
    pack(find_runs([tmp_path / "a.dglpack", tmp_path / "b"]).runs, tmp_path / "ab.dglpack")
    assert len(load(tmp_path / "ab.dglpack").runs) == 3
    shutil.copytree(tmp_path / "b", tmp_path / "mixed")
    shutil.copytree(tmp_path / "a.dglpack", tmp_path / "mixed" / "a.dglpack")
    assert len(load(tmp_path / "mixed").runs) == 3, "packs in a folder belong to it"
    assert dglbench.load(tmp_path / "a.dglpack", tmp_path / "b").runs.height == 3


def test_one_run_with_two_results_is_an_error_that_names_both(tmp_path):
    make_run(tmp_path / "a", "spo", epochs=3)
    make_run(tmp_path / "b", "spo", epochs=3, regret_factor=0.5)
    pack(find_runs([tmp_path / "b"]).runs, tmp_path / "b.dglpack")
    with pytest.raises(ReportError, match=r"/a/matching.* and .*/b.dglpack/matching.* same run"):
        load(tmp_path / "a", tmp_path / "b.dglpack")


def test_one_run_measured_twice_counts_once(tmp_path, cli):
    folder = make_run(tmp_path / "a", "spo", epochs=3)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    change_record(tmp_path / "b" / folder.name, lambda record: record["status"].update(wall_s=99))
    runs = find_runs([tmp_path / "a", tmp_path / "b"]).runs
    assert list(runs.twice) == [folder.name]
    assert runs.place(folder.name) == folder
    told = cli("report", str(tmp_path / "a"), str(tmp_path / "b"), "--table", "runs").err
    assert "1 runs are in two places with other seconds" in told


def test_a_run_in_a_pack_can_be_repeated_and_not_applied(packed, tmp_path, cli):
    name = next(iter(find_runs([packed]).runs.records))
    assert recorded(packed / name).run_id == name
    outcome = cli("apply", str(packed / name), "--data", "new.npy")
    assert outcome.code == 2
    assert f"--like {packed / name}" in outcome.err
    assert "packs hold none" in outcome.err
    outcome = cli("train", "--like", str(packed))
    assert outcome.code == 2
    assert f"it holds {len(find_runs([packed]).runs.records)} runs" in outcome.err
    outcome = cli("train", "--like", str(packed / "nothing"))
    assert "holds no run nothing" in outcome.err


def test_a_newer_pack_is_refused_with_the_remedy(packed, tmp_path):
    shutil.copytree(packed, tmp_path / "new.dglpack")
    manifest = Manifest.parse(read_files(packed)[MANIFEST], "here")
    newer = dataclasses.replace(manifest, format=99)
    (tmp_path / "new.dglpack" / MANIFEST).write_bytes(newer.content())
    with pytest.raises(ReportError, match="pack format 99, this dglbench reads up to 1; upgrade"):
        load(tmp_path / "new.dglpack")


def test_the_commands_pack_and_unpack(logs, tmp_path, process):
    first = process("pack", str(logs), "--out", "one.dglpack", "--zip", "--json")
    assert first.code == 0, first.err
    assert f'"runs": {len(list(logs.glob("*/run.json")))}' in first.out
    assert "no digest of some data of matching: task matching has no option" in first.err, (
        "invented settings"
    )
    assert process("pack", str(logs), "--out", "one.dglpack").code == 2
    assert "must end in .dglpack" in process("pack", str(logs), "--out", "one.zip").err
    again = process("unpack", "one.dglpack", "--out", "again")
    assert again.code == 0, again.err
    assert_same(whole(logs), whole(tmp_path / "again"))
    assert "0 runs in again; " in process("unpack", "one.dglpack", "--out", "again").out
    (tmp_path / "again" / "sweep-0123456789.toml").write_text("other = 1\n")
    assert (
        "has another sweep-0123456789.toml"
        in process("unpack", "one.dglpack", "--out", "again").err
    )
