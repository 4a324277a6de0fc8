"""PyEPO and dglbench side by side on the SEMO knapsack-48, in one process, one thread.

    pip install -c constraints.txt '.[pyepo]'
    python benchmarks/peers.py [--quick] [--regrets] [--json FILE]

Every contender trains SPO+ from the same weights, on the same batches in the same order, with
the same Adam and rate. They take turns, one epoch each, so that slow drift of the machine hits
all alike; medians over turns are compared. Label solves are timed apart, regret is judged off
every clock and by one evaluator, ours. PyEPO is fed by slicing tensors, which is faster than
the DataLoader its users have. QPTL runs beside a bare cvxpylayers loop on the same batches.
Before that, both judge the same predictions on PyEPO's own data (`peer_regrets`); --regrets stops
there and needs no market data.
Exits with code 1 if a bar is missed, with 2 if PyEPO or the data is not there.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["TQDM_DISABLE"] = "1"  # PyEPO draws a bar for its label solves

import argparse
import copy
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from methods import BareLoop
from rich.console import Console
from rich.table import Table

from dglbench.errors import DglbenchError
from dglbench.losses.batch import Batch
from dglbench.plugins import find_task
from dglbench.runs.provenance import environment
from dglbench.statistics import bootstrap_interval
from dglbench.streams import stream
from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import Evaluation, load_data
from dglbench.training.learner import Learner
from dglbench.training.warm_start import load_or_train

try:
    from peer_regrets import SAME, RegretRow, compare_regrets
    from pyepo.data.dataset import optDataset
    from pyepo.func import SPOPlus
    from pyepo.model.ort import knapsackModel
except ImportError:
    print("PyEPO is not installed: pip install -c constraints.txt '.[pyepo]'", file=sys.stderr)
    raise SystemExit(2) from None

SEED = 25
SETTINGS = {"n": 48, "source": "semo"}
CACHED = 0.1
"""Share of the steps at which PyEPO solves when it caches; the others choose from its pool."""
SAME_LOSS = 1e-4
"""PyEPO keeps solutions in single precision, so losses of about 10 agree to about 1e-6."""
SAME_REGRET = 0.02
REFERENCE = "PyEPO GLOP"


class Ours:
    """A method of dglbench, trained by dglbench's own epoch."""

    def __init__(self, method: str, solver: str, **options: Any) -> None:
        task = find_task("knapsack")
        spec = single_run(
            "knapsack", method, settings=SETTINGS, seed=SEED, options=options, solver=solver
        )
        loaded = load_data(spec.data)
        self.evaluator = loaded.evaluator
        warm = load_or_train(spec.predictor, task, loaded.dataset, spec.protocol, None)
        self.learner = Learner(spec, loaded.dataset, warm)
        self.predictor = self.learner.predictor
        self.learner.set_up()  # builds what is built once
        again = self.learner.set_up()
        self.label_s = again if method == "spo" else None  # QPTL needs no labels solved
        self.seconds: list[float] = []

    def turn(self) -> None:
        """Train one epoch on the clock."""
        _, seconds = self.learner.epoch()
        self.seconds.append(seconds)


class Peer:
    """SPO+ by PyEPO in a plain loop, as its documentation has it."""

    def __init__(self, twin: Ours, solver: str, solve_ratio: float = 1.0) -> None:
        run = twin.learner
        problem = run.dataset.problem
        self.mean_of_turns = solve_ratio < 1  # at random, some epochs solve more than others
        self.features, self.scale = run.features, run.scale
        self.costs = run.labels[:, :, 0].contiguous()  # the value of *take*; *leave* is worth 0
        self.model = knapsackModel(problem.A[:, :, 0], problem.b, solver=solver)
        self.model.setObj(self.costs[0])
        self.model.solve()
        started = time.perf_counter()
        labelled = optDataset(self.model, self.features, self.costs)
        self.label_s = time.perf_counter() - started
        self.solutions, self.optima = labelled.sols.double(), labelled.objs.double()
        self.loss = SPOPlus(self.model, solve_ratio=solve_ratio, dataset=labelled)
        # PyEPO leaves this unseeded; it decides at which steps a cached loss solves.
        self.loss._branch_rng = np.random.RandomState(SEED)
        self.predictor = copy.deepcopy(run.predictor)
        self.optimiser = torch.optim.Adam(
            self.predictor.parameters(), lr=run.spec.options.lr, fused=True
        )
        self.draws = stream(SEED, "batches")
        self.batch_size = run.spec.protocol.batch_size
        self.seconds: list[float] = []

    def turn(self) -> None:
        """Train one epoch on the clock."""
        order = torch.from_numpy(self.draws.permutation(len(self.costs)))
        started = time.perf_counter()
        for rows in torch.split(order, self.batch_size):
            predictions = self.predictor(self.features[rows])[:, :, 0] / self.scale
            loss = self.loss(predictions, self.costs[rows], self.solutions[rows], self.optima[rows])
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
        self.seconds.append(time.perf_counter() - started)


@dataclass(frozen=True)
class Row:
    """One contender: its times, and where its training ended."""

    contender: str
    label_s: float | None
    epoch_s: float
    fastest_s: float
    times_reference: float
    """The reference's epoch over this one: above 1 is faster than the reference."""
    pooled_regret: float
    """Σ regret / Σ |z*| on test after the last epoch."""


@dataclass(frozen=True)
class Bar:
    """Something that has to hold."""

    what: str
    reached: str
    asked: str
    met: bool


def loss_difference(ours: Ours, peer: Peer) -> dict[str, float]:
    """Return how far apart loss and gradient are on the first batch, both being batch means.

    PyEPO's knapsack has modelSense MAXIMIZE, for which its SPO+ has the signs of ours.
    """
    run = ours.learner
    rows = torch.arange(run.spec.protocol.batch_size)
    values = (run.predictor(run.features[rows]) / run.scale).detach().requires_grad_()
    our_loss = run.method.loss(Batch(rows, values, run.labels[rows]))
    (our_gradient,) = torch.autograd.grad(our_loss, values)
    ours_is = float(our_loss.detach())
    taken = values.detach()[:, :, 0].clone().requires_grad_()
    each = SPOPlus(peer.model, reduction="none")(
        taken, peer.costs[rows], peer.solutions[rows], peer.optima[rows]
    )
    (their_gradient,) = torch.autograd.grad(each.mean(), taken)
    # Ours also moves *leave*, by the opposite; the predictor holds that at 0.
    gradient = (our_gradient[:, :, 0] - their_gradient).abs().max()
    return {
        "loss": ours_is,
        "loss_difference": abs(ours_is - float(each.detach().mean())),
        "gradient_difference": float(gradient),
    }


def take_turns(contenders: dict[str, Any], turns: int) -> None:
    for _ in range(turns):
        for contender in contenders.values():
            contender.turn()


def outcome_of(contender: Any, judge: Any) -> Evaluation:
    return judge.judge(judge.predict(contender.predictor))


def per_epoch(contender: Any) -> float:
    mean = getattr(contender, "mean_of_turns", False)
    return (statistics.mean if mean else statistics.median)(contender.seconds)


def row_of(name: str, contender: Any, reference: Any, judge: Any) -> Row:
    spent = per_epoch(contender)
    return Row(
        contender=name,
        label_s=getattr(contender, "label_s", None),
        epoch_s=spent,
        fastest_s=min(contender.seconds),
        times_reference=per_epoch(reference) / spent,
        pooled_regret=outcome_of(contender, judge).metrics()["pooled_regret"],
    )


def regret_bar(name: str, ours: Evaluation, theirs: Evaluation) -> Bar:
    """Equal within noise: less than 2 % apart, or a paired bootstrap interval that holds 0."""
    size = np.abs(theirs.optimal).mean()
    low, high = (end / size for end in bootstrap_interval(ours.regret - theirs.regret))
    gap = (ours.regret.mean() - theirs.regret.mean()) / size
    relative = abs(gap) / max(float(theirs.regret.mean() / size), 1e-12)
    return Bar(
        f"final regret: {name} − {REFERENCE}",
        f"{gap:+.2e} ({relative:.2%}), 95 % in [{low:+.2e}, {high:+.2e}]",
        f"under {SAME_REGRET:.0%}, or 0 in the interval",
        bool(relative < SAME_REGRET or low <= 0 <= high),
    )


def speed_bar(name: str, reached: float, at_least: float) -> Bar:
    return Bar(
        f"SPO+ epoch: {name} against {REFERENCE}",
        f"{reached:.2f}× faster",
        f"at least {at_least:g}×",
        reached >= at_least,
    )


def judgement_bar(row: RegretRow) -> Bar:
    return Bar(
        f"regret of the same predictions, {row.setting}, {row.decisions}",
        f"{row.theirs:.7f}, ours differs by {row.difference:.1e}",
        f"{SAME:g}",
        row.difference <= SAME,
    )


def show(title: str, rows: list[Row], reference: str, console: Console) -> None:
    table = Table(title=title)
    table.add_column("contender", no_wrap=True)
    for name in ("labels, s", "s/epoch", "fastest", f"× {reference}", "pooled regret"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.contender,
            "–" if row.label_s is None else f"{row.label_s:.4f}",
            f"{row.epoch_s:.4f}",
            f"{row.fastest_s:.4f}",
            f"{row.times_reference:.2f}",
            f"{row.pooled_regret:.5f}",
        )
    console.print(table)


def compare(turns: int, qptl_turns: int, console: Console) -> tuple[dict[str, Any], list[Bar]]:
    ours = Ours("spo", "ortools")
    judge = ours.evaluator.splits["test"]
    start = outcome_of(ours, judge).metrics()["pooled_regret"]
    spo: dict[str, Any] = {
        REFERENCE: Peer(ours, "glop"),
        f"PyEPO GLOP, cached {CACHED:g}": Peer(ours, "glop", CACHED),
        "PyEPO SCIP": Peer(ours, "scip"),
        f"PyEPO SCIP, cached {CACHED:g}": Peer(ours, "scip", CACHED),
        "dglbench ortools": ours,
        "dglbench batched": Ours("spo", "batched"),
        "dglbench ortools, integer": Ours("spo", "ortools", oracle="decide"),
        "dglbench batched, integer": Ours("spo", "batched", oracle="decide"),
    }
    same = loss_difference(ours, spo[REFERENCE])
    console.print(
        f"SPO+ loss of the first batch {same['loss']:.6f}; PyEPO differs by at most "
        f"{same['loss_difference']:.1e}, its gradient by {same['gradient_difference']:.1e}."
    )
    take_turns(spo, turns)
    rows = [row_of(name, one, spo[REFERENCE], judge) for name, one in spo.items()]
    console.print(f"Pooled regret at the start: {start:.5f}; {turns} epochs from there.")
    show("SPO+, SEMO knapsack-48, one thread", rows, REFERENCE, console)

    layer = Ours("qptl", "batched")
    bare = BareLoop(layer)
    qptl = {"bare cvxpylayers loop": bare, "dglbench qptl": layer}
    take_turns(qptl, qptl_turns)
    qptl_rows = [row_of(name, one, bare, judge) for name, one in qptl.items()]
    show(f"QPTL, {qptl_turns} epochs", qptl_rows, "bare", console)

    found = {row.contender: row for row in rows}
    theirs = outcome_of(spo[REFERENCE], judge)
    differs = max(same["loss_difference"], same["gradient_difference"])
    bars = [
        Bar("same loss and gradient", f"{differs:.1e}", f"{SAME_LOSS:g}", differs <= SAME_LOSS),
        speed_bar("ortools", found["dglbench ortools"].times_reference, 1.0),
        speed_bar("batched", found["dglbench batched"].times_reference, 8.0),
        *(
            regret_bar(name, outcome_of(spo[f"dglbench {name}"], judge), theirs)
            for name in ("ortools", "batched")
        ),
    ]
    document = {
        "setting": {**SETTINGS, "capacity": float(ours.learner.dataset.problem.b[0]), "seed": SEED},
        "epochs": turns,
        "qptl_epochs": qptl_turns,
        "lr": ours.learner.spec.options.lr,
        "batch_size": ours.learner.spec.protocol.batch_size,
        "pyepo": version("pyepo"),
        "environment": environment(1, 1),
        "start_pooled_regret": start,
        "same": same,
        "spo": [asdict(row) for row in rows],
        "qptl": [asdict(row) for row in qptl_rows],
    }
    return document, bars


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--regrets", action="store_true", help="judge predictions, and stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    arguments = parser.parse_args()
    turns, qptl_turns = (5, 1) if arguments.quick else (40, 3)
    torch.set_num_threads(1)
    console = Console()
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        console.print(f"The machine is busy (load {load:.1f} on {cores} cores): trust no ratio.")
    judged = compare_regrets(console, 50 if arguments.quick else 200)
    document: dict[str, Any] = {"regrets": [asdict(row) for row in judged]}
    bars = [judgement_bar(row) for row in judged]
    try:
        if not arguments.regrets:
            trained, further = compare(turns, qptl_turns, console)
            bars += further
            document |= {**trained, "load_average": load}
        document["bars"] = [asdict(bar) for bar in bars]
    except DglbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    table = Table(title="Bars")
    for name in ("what", "reached", "asked", ""):
        table.add_column(name)
    for bar in bars:
        table.add_row(bar.what, bar.reached, bar.asked, "met" if bar.met else "MISSED")
    console.print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
