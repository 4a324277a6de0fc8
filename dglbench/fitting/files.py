"""What a fit leaves beside its runs: the verdict as JSON, as text and as a picture, the model."""

from __future__ import annotations

import json
from pathlib import Path

from dglbench import atomic
from dglbench.fitting.picture import draw
from dglbench.fitting.verdict import Verdict
from dglbench.training.apply import VERDICT, TrainedPredictor

__all__ = ["looks", "next_steps", "write_model", "write_verdict"]

_LOOKS = (
    "the test instances were looked at once. ",
    "the test instances were looked at for earlier verdicts of this folder too. ",
)
_WORDS = (
    "least-squares, boosted-trees and two-stage train a model to predict well; rdgl-newton, "
    "rdgl-5, spo and qptl-dual train it for the decisions. linear is a line, mlp a small network. "
    "A fresh start is one from random weights, a warm start one from a model that was trained to "
    "predict well."
)
_TEXT, _PICTURE, _MODEL = "verdict.md", "verdict.png", "model.pt2"


def write_model(out: Path, verdict: Verdict, model: TrainedPredictor) -> list[Path]:
    """Write the picture and the model, and return their paths."""
    picture, network = out / _PICTURE, out / _MODEL
    with atomic.atomic_path(picture) as temporary:
        draw(verdict, temporary)
    network.unlink(missing_ok=True)  # of an earlier choice
    model.export(network)
    return [picture, network]


def looks(out: Path, verdict: Verdict) -> int:
    """Count the verdicts of a folder that looked at the test instances, this one included.

    The same verdict again, of the same runs, is no other look.
    """
    try:
        before = json.loads((out / VERDICT).read_text("utf-8"))
        seen, runs = int(before["looks_at_test"]), before["runs"]
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    return seen if runs == verdict.runs else seen + 1


def write_verdict(out: Path, verdict: Verdict) -> list[Path]:
    """Write the verdict as JSON and as text, each whole or not at all, and return their paths."""
    paths = [out / VERDICT, out / _TEXT]
    text = json.dumps(verdict.document(), indent=2, ensure_ascii=False, allow_nan=False)
    atomic.write_text(paths[0], text + "\n")
    atomic.write_text(paths[1], _page(out, verdict))
    return paths


def next_steps(out: Path, verdict: Verdict, mark: str = "") -> str:
    """Say what to do next; where the choice does not pay, with which accurate run as well.

    ``mark`` stands on both sides of a command.
    """

    def apply(folder: Path) -> str:
        return f"{mark}dglbench apply {folder} --data new.npz --out plan.csv{mark}"

    steps = (
        f"next: {apply(out)} decides about new instances; {mark}dglbench report {out}{mark} "
        "compares all runs; the same command with more --minutes goes on."
    )
    if verdict.instead is None:
        return steps
    return (
        f"{steps} As training for decisions does not pay here, "
        f"{apply(out / verdict.instead.record.run_id)} decides with the best accurate model "
        "instead."
    )


def _page(out: Path, verdict: Verdict) -> str:
    said = "\n\n".join(verdict.sentences())
    steps = next_steps(out, verdict, "`")
    data = verdict.chosen.record.identity.setting
    rows = "\n".join(
        f"| {each.role} | {each.name} | {100 * each.regret.value:.2f} % | "
        f"{100 * each.regret.low:.2f}–{100 * each.regret.high:.2f} % | {each.absolute:.4g} | "
        f"`{each.record.run_id}` |"
        for each in verdict.compared
    )
    return (
        f"# What dglbench fit found on {data}\n\n{said}\n\n![test regret]({_PICTURE})\n\n"
        "| role | what was trained | test regret | 95 % interval | per instance | run |\n"
        f"|---|---|---|---|---|---|\n{rows}\n\n"
        f"All were chosen by validation regret alone; {_LOOKS[verdict.looks > 1]}"
        "*per instance* is the mean regret in the unit of the labels.\n\n"
        f"{_WORDS}\n\n"
        f"{steps[0].upper()}{steps[1:]}\n"
    )
