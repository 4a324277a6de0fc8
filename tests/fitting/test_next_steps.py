"""What a fit names at its end as the next commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_logs import make_run

from dglbench.fitting.files import next_steps
from dglbench.fitting.statistics import Instances, compare
from dglbench.fitting.verdict import Finalist, Verdict
from dglbench.runs.store import read_record

INSTANCES = Instances(np.full(60, 200.0))
REGRET = np.random.default_rng(0).uniform(0, 4, 60)


def verdict(out: Path, chosen: str, accurate: float | None) -> Verdict:
    """Say what a fit finds whose best accurate run has so much more regret than the other side."""
    roles = {"best accurate": "two-stage", "best decision-focused": "spo"}
    found = {
        role: Finalist(role, read_record(make_run(out, name)), INSTANCES.estimate(REGRET), 2.0)
        for role, name in roles.items()
        if accurate is not None or role != "best accurate"
    }
    return Verdict(
        chosen=found[chosen],
        accurate=found.get("best accurate"),
        focused=found["best decision-focused"],
        baselines=(),
        comparison=None if accurate is None else compare(REGRET + accurate, REGRET, INSTANCES),
        sureness=None,
        calibration=None,
        expected=None,
        realised=None,
        judged_by="relative",
        runs=2,
        test_instances=60,
    )


def test_where_the_choice_does_not_pay_the_accurate_run_is_named_too(tmp_path: Path) -> None:
    found = verdict(tmp_path, "best decision-focused", -0.1)
    assert found.pays is False
    assert found.accurate is not None
    said = next_steps(tmp_path, found)
    assert said.startswith(f"next: dglbench apply {tmp_path} --data new.npz")
    assert said.endswith(
        " As training for decisions does not pay here, dglbench apply "
        f"{tmp_path / found.accurate.record.run_id} --data new.npz --out plan.csv decides with "
        "the best accurate model instead."
    )


@pytest.mark.parametrize(
    ("chosen", "accurate"),
    [
        ("best accurate", -0.1),  # it is the choice already
        ("best decision-focused", 3.0),  # pays
        ("best decision-focused", None),  # nothing to compare with
    ],
)
def test_else_nothing_but_the_choice(chosen: str, accurate: float | None, tmp_path: Path) -> None:
    said = next_steps(tmp_path, verdict(tmp_path, chosen, accurate))
    assert "instead" not in said
    assert said.endswith("goes on.")
