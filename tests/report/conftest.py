from pathlib import Path

import pytest
from make_logs import make_folder

from dglbench.report import Report, load


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight methods on two tasks, two sizes and two seeds; short runs."""
    settings = [("matching", n, seed) for n in (10, 50) for seed in (10, 25)]
    out = tmp_path_factory.mktemp("logs")
    return make_folder(out, settings=[*settings, ("knapsack", 24, 25)], epochs=12)


@pytest.fixture(scope="session")
def report(logs: Path) -> Report:
    return load(logs)
