"""What a fit leaves beside its runs: the verdict as JSON, as text and as a picture, the model."""

from __future__ import annotations

import json
from pathlib import Path

from dglbench import atomic
from dglbench.fitting.picture import draw
from dglbench.fitting.verdict import Verdict
from dglbench.training.apply import VERDICT, TrainedPredictor

__all__ = ["next_steps", "write_files"]

_TEXT, _PICTURE, _MODEL = "verdict.md", "verdict.png", "model.pt2"


def write_files(out: Path, verdict: Verdict, model: TrainedPredictor) -> list[Path]:
    """Write them, each whole or not at all, and return their paths."""
    paths = [out / name for name in (VERDICT, _TEXT, _PICTURE)]
    text = json.dumps(verdict.document(), indent=2, ensure_ascii=False, allow_nan=False)
    atomic.write_text(paths[0], text + "\n")
    atomic.write_text(paths[1], _page(out, verdict))
    with atomic.atomic_path(paths[2]) as temporary:
        draw(verdict, temporary)
    network = out / _MODEL
    network.unlink(missing_ok=True)  # of an earlier choice
    model.export(network)
    return [*paths, network]


def next_steps(out: Path, verdict: Verdict) -> str:
    """Say what to do next; where the choice does not pay, with which accurate run as well."""
    steps = (
        f"next: dglbench apply {out} --data new.npz --out plan.csv decides about new instances; "
        f"dglbench report {out} compares all runs; the same command with more --minutes goes on."
    )
    if verdict.instead is None:
        return steps
    return (
        f"{steps} As training for decisions does not pay here, dglbench apply "
        f"{out / verdict.instead.record.run_id} --data new.npz --out plan.csv decides with the "
        "best accurate model instead."
    )


def _page(out: Path, verdict: Verdict) -> str:
    said = "\n\n".join(verdict.sentences())
    steps = next_steps(out, verdict)
    rows = "\n".join(
        f"| {each.role} | {each.name} | {100 * each.regret.value:.2f} % | "
        f"{100 * each.regret.low:.2f}–{100 * each.regret.high:.2f} % | {each.absolute:.4g} | "
        f"`{each.record.run_id}` |"
        for each in verdict.compared
    )
    return (
        f"# What dglbench fit found\n\n{said}\n\n![test regret]({_PICTURE})\n\n"
        "| role | what was trained | test regret | 95 % interval | per instance | run |\n"
        f"|---|---|---|---|---|---|\n{rows}\n\n"
        "All were chosen by validation regret alone; the test instances were looked at once. "
        "*per instance* is the mean regret in the unit of the labels.\n\n"
        f"{steps[0].upper()}{steps[1:]}\n"
    )
