"""``dglbench generate``: files, tables, pictures, and refusals."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dglbench.cli.generate import default_path
from dglbench.data.dataset_file import dataset_digest, read_dataset, write_dataset
from dglbench.task import TaskSpec
from dglbench_tasks.matching import MatchingSettings

SMALL = ("--set", "train=5", "--set", "val=3", "--set", "test=2")


def test_writes_a_file_and_a_table_worth_reading(cli, tmp_path):
    outcome = cli("generate", "matching", "--n", "6", "--seed", "7", *SMALL)
    assert outcome.code == 0
    path = tmp_path / "data" / "matching-6-train=5-val=3-test=2-s7.parquet"
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    dataset = read_dataset(path)
    assert dataset.labels.shape == (10, 6, 3)
    for text in (
        "train",
        "median",
        "optimal value",
        "6 groups of 3 options, 3 global rows",
        "global rows that bind",
        "fractional LP optimum",
        "integrality gap",
        "duals not unique",
        str(path.relative_to(tmp_path)),
    ):
        assert text in outcome.out


def test_the_same_command_twice_gives_the_same_bytes(process, tmp_path):
    words = ("generate", "knapsack", "--n", "6", *SMALL, "--json")
    first = process(*words, "--out", "a.parquet")
    assert (first.code, first.err) == (0, "")
    assert process(*words, "--out", "b.parquet").code == 0
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    document = json.loads(first.out)
    assert document["bytes"] == (tmp_path / "a.parquet").stat().st_size
    assert document["digest"] == dataset_digest(read_dataset(tmp_path / "a.parquet"))


def test_json_tells_what_the_table_tells(cli):
    document = json.loads(cli("generate", "knapsack", "--n", "8", *SMALL, "--json").out)
    summary = document["summary"]
    assert summary["instances"] == 10
    assert {name: part["instances"] for name, part in summary["labels"].items()} == {
        "train": 5,
        "val": 3,
        "test": 2,
        "all": 10,
    }
    every = summary["labels"]["all"]
    order = [every[name] for name in ("min", "q05", "q25", "median", "q75", "q95", "max")]
    assert order == sorted(order)
    assert 0 <= summary["gap_mean"] <= summary["gap_max"]
    assert summary["rows_binding"] == 1
    assert document["constants"]["capacity"] > 0
    assert document["settings"]["n"] == 8
    assert document["existed"] is False


def test_an_identical_file_is_left_alone(cli, tmp_path):
    words = ("generate", "matching", "--n", "6", *SMALL, "--out", "d.parquet")
    assert cli(*words).code == 0
    before = (tmp_path / "d.parquet").stat()
    again = cli(*words, "--json")
    assert again.code == 0
    assert "d.parquet holds this dataset already" in again.err
    assert json.loads(again.out)["existed"] is True
    assert (tmp_path / "d.parquet").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("there", ["other data", "a damaged file", "no dataset at all"])
def test_other_content_is_overwritten_only_by_force(there, cli, tmp_path, small_data):
    path = tmp_path / "d.parquet"
    write_dataset(small_data(seed=8), path)
    if there == "a damaged file":
        write_dataset(small_data(), path)
        path.write_bytes(path.read_bytes()[:-1])
    elif there == "no dataset at all":
        path.write_text("dear diary")
    before = path.read_bytes()
    words = ("generate", "matching", "--n", "6", "--seed", "7", *SMALL, "--out", "d.parquet")
    refused = cli(*words)
    assert refused.code == 2
    assert refused.err == (
        "error: d.parquet exists and holds something else; overwrite it with --force or choose "
        "another --out.\n"
    )
    assert path.read_bytes() == before
    assert cli(*words, "--force").code == 0
    assert dataset_digest(read_dataset(path)) == dataset_digest(small_data())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["matchin"], "there is no task 'matchin'.* Did you mean 'matching'?"),
        (["matching", "--n", "0"], "n must be a whole number ≥ 1, got 0"),
        (["matching", "--n", "-3"], "n must be a whole number ≥ 1, got -3"),
        (["matching", "--n", "3", "--set", "n=4"], "n is given twice"),
        (["matching", "--seed", "-1"], "seed must be a whole number ≥ 0, got -1"),
        (["matching", "--set", "slack"], "--set takes key=value, got 'slack'"),
        (["matching", "--set", "slak=1"], "no option 'slak'; it has n, locations"),
        (["matching", "--set", "slack=a lot"], "slack must be a number ≥ 0, got 'a lot'"),
        (["matching", "--set", "capacities=1,1,1"], "hold all 50 individuals"),
        (["matching", "--out", "folder"], "folder is a folder"),
        (["matching", "--n", "2", "--out", "file/x.parquet"], "is a file, not a folder"),
        (["matching", "--plot", "x.gif"], "ends in .png, .svg, .pdf, got 'x.gif'"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(words, says, cli, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    outcome = cli("generate", *words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert says.partition(".*")[0] in outcome.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.parametrize(
    ("task", "file", "starts"),
    [
        ("matching", "m.png", b"\x89PNG"),
        ("knapsack", "k.svg", b"<?xml"),
        ("knapsack", "k.PDF", b"%PDF"),
    ],
)
def test_plots_in_three_formats(task, file, starts, small_data, tmp_path):
    from dglbench.data.plot import plot_dataset
    from dglbench.plugins import find_task

    plot_dataset(find_task(task), small_data(task, n=16), tmp_path / file)
    assert (tmp_path / file).read_bytes().startswith(starts)
    assert len(list(tmp_path.iterdir())) == 1


def test_default_names_tell_what_is_not_default():
    settings = MatchingSettings(n=5, locations=2, slack=0.25, capacities=(3, 4))
    path = default_path(TaskSpec("matching", settings, 3))
    assert str(path) == "data/matching-5-locations=2-slack=0.25-capacities=3+4-s3.parquet"
    assert str(default_path(TaskSpec("matching", MatchingSettings(), 25))) == (
        "data/matching-50-s25.parquet"
    )


@pytest.mark.slow
def test_large_data_needs_little_memory(tmp_path):
    script = textwrap.dedent("""
        import resource
        from dglbench.cli import main
        words = "generate matching --n 1000 --set locations=20 --out large.parquet".split()
        code = main(words)
        print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "over 100 of 1000 instances" in done.stdout
    code, peak_kilobytes = map(int, done.stdout.splitlines()[-1].split())
    assert code == 0
    assert peak_kilobytes < 2_000_000
    assert np.isfinite(read_dataset(tmp_path / "large.parquet").labels).all()
