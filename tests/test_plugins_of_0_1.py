"""Plugins that were written for 0.1 still work: its README's two examples, as they stood."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from plugin_writer import write_plugin

OLD = Path(__file__).parent / "plugins_of_0_1"


def test_the_task_and_the_method_of_0_1_run(tmp_path):
    # Only the task's name differs: a bundled name cannot be taken over.
    task = (OLD / "offers.py").read_text().replace('"offers", "one', '"old-offers", "one')
    method = (OLD / "perturbed.py").read_text()
    root = write_plugin(
        tmp_path / "plugins",
        "examples",
        {"old_offers": task, "perturbed": method},
        {
            "tasks": {"old-offers": "old_offers:Offers"},
            "methods": {"perturbed": "perturbed:Perturbed"},
        },
    )
    words = ["train", "old-offers", "--n", "4", "--set", "train=8", "--set", "val=4", "--set",
             "test=4", "--set", "budget=4", "--epochs", "2", "--json"]  # fmt: skip
    for method_name in ("perturbed", "dgl-1", "spo"):
        done = subprocess.run(
            [sys.executable, "-m", "dglbench", *words, "--method", method_name],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        record = json.loads(done.stdout)
        assert record["status"]["state"] == "done"
        assert record["identity"]["data_digest"], "its data count by their content"
