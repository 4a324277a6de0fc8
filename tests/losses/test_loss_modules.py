"""Every loss as a module in somebody's own training: any rows, both precisions, saved, loaded."""

import io

import pytest
import torch

from dglbench import (
    LAVA,
    LODL,
    MSE,
    QPTL,
    CachedSPOPlus,
    CaVE,
    DualGuidedLoss,
    FenchelYoung,
    ProblemError,
    SmoothedSPOPlus,
    SPOPlus,
)

from .helpers import KNAPSACK, MATCHING, values

LOSSES = {
    "dgl-never": (DualGuidedLoss, {}),
    "dgl-2": (DualGuidedLoss, {"refresh": 2, "alpha": 0.1}),
    "dgl-auto": (DualGuidedLoss, {"refresh": "auto", "form": "plain"}),
    "dgl-step": (DualGuidedLoss, {"refresh": "step"}),
    "rdgl-newton": (DualGuidedLoss, {"refresh": "newton", "form": "reactive"}),
    "spo": (SPOPlus, {}),
    "spo-cached": (CachedSPOPlus, {"solve_ratio": 0.0}),
    "spo-smoothed": (SmoothedSPOPlus, {}),
    "fenchel-young": (FenchelYoung, {}),
    "qptl": (QPTL, {"layer": "dual-quadratic"}),
    "lava": (LAVA, {}),
    "cave": (CaVE, {}),
    "cave-plus": (CaVE, {"steps": 3, "inner": 0.2}),
    "lodl": (LODL, {"samples": 20}),
    "mse": (MSE, {}),
}
LABELS, PREDICTIONS = values(MATCHING, 8, 1), values(MATCHING, 8, 2)


def built(name):
    loss, options = LOSSES[name]
    return loss(MATCHING, **options)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_may_come_in_any_order_twice_or_new(name, dtype):
    criterion = built(name)
    criterion(PREDICTIONS[:5].to(dtype), LABELS[:5].to(dtype), torch.arange(5))
    at = [3, 0, 3, 6]
    predicted = PREDICTIONS[at].to(dtype).requires_grad_()
    loss = criterion(predicted, LABELS[at].to(dtype), at)
    loss.backward()
    assert loss.dtype == predicted.grad.dtype == dtype
    assert predicted.grad.isfinite().all()
    assert torch.equal(predicted.grad[0], predicted.grad[2])


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_saved_and_loaded_with_the_rest_of_a_model(name):
    first = torch.nn.ModuleDict({"predictor": torch.nn.Linear(2, 2), "criterion": built(name)})
    order = torch.arange(8).flip(0)
    first["criterion"](PREDICTIONS[order], LABELS[order], order)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    again = torch.nn.ModuleDict({"predictor": torch.nn.Linear(2, 2), "criterion": built(name)})
    again.load_state_dict(torch.load(file, weights_only=True))
    at = [5, 1, 2]
    after = [model["criterion"](PREDICTIONS[at], LABELS[at], at) for model in (first, again)]
    assert after[0].item() == pytest.approx(after[1].item(), rel=1e-9)
    if name != "lava":  # its vertices are found again
        assert again["criterion"].solves["label"] == 0


@pytest.mark.parametrize("name", ["dgl-never", "spo", "spo-cached", "lodl"])
def test_what_was_kept_for_another_problem_is_refused(name):
    criterion = built(name)
    criterion(PREDICTIONS, LABELS, range(8))
    loss, options = LOSSES[name]
    with pytest.raises(ProblemError, match="; load them into "):
        loss(KNAPSACK, **options).load_state_dict(criterion.state_dict())
