"""A wheel built from the tree, installed where there is no source: nothing stays behind."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*words, cwd, **environment):
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def others(folder):
    """All packages of this environment but dglbench: downloading them again shows nothing."""
    folder.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "dglbench" not in entry.name:
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.mark.slow
def test_an_installed_wheel_lists_every_task_and_method_and_trains(tmp_path):
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("dglbench-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=tmp_path)
    lent = {"PYTHONPATH": str(others(tmp_path / "lent")), "DGLBENCH_CACHE": str(tmp_path)}
    where = run(python, "-c", "import dglbench; print(dglbench.__file__)", cwd=tmp_path, **lent)
    assert where.startswith(str(tmp_path))
    command = ["-m", "dglbench", "list", "--json"]
    here = json.loads(run(sys.executable, *command, cwd=tmp_path))
    there = json.loads(run(python, *command, cwd=tmp_path, **lent))
    assert there == here
    small = ["--set", "train=8", "--set", "val=4", "--set", "test=4", "--epochs", "1"]
    for task in (task["name"] for task in there["tasks"]):
        words = ["-m", "dglbench", "train", task, "--method", "rdgl-newton", *small]
        run(python, *words, cwd=tmp_path, **lent)
