"""What a fit leaves beside its runs: the verdict as JSON, as text and as a picture, the model."""

from __future__ import annotations

import json
from pathlib import Path

from dglbench import atomic
from dglbench.fitting.picture import draw
from dglbench.fitting.verdict import Verdict
from dglbench.training.apply import VERDICT, TrainedPredictor

__all__ = ["next_steps", "write_model", "write_verdict"]

_TEXT, _PICTURE, _MODEL = "verdict.md", "verdict.png", "model.pt2"


def write_model(out: Path, verdict: Verdict, model: TrainedPredictor) -> list[Path]:
    """Write the picture and the model, and return their paths."""
    picture, network = out / _PICTURE, out / _MODEL
    with atomic.atomic_path(picture) as temporary:
        draw(verdict, temporary)
    network.unlink(missing_ok=True)  # of an earlier choice
    model.export(network)
    return [picture, network]


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
        "All were chosen by validation regret alone; the test instances were looked at once. "
        "*per instance* is the mean regret in the unit of the labels.\n\n"
        f"{steps[0].upper()}{steps[1:]}\n"
    )
