"""The tables a run writes: their columns and what they mean.

Row ``epoch = 0`` of every table is the state before training: in ``timing`` it
is the set-up (layer construction, label solves, first duals), in ``regret`` the
predictor the run started from. Seconds are training seconds; evaluation and
logging are never among them.
"""

import pyarrow as pa

__all__ = [
    "BOUND",
    "DECISIONS",
    "DIAGNOSTICS",
    "DUALS",
    "OWN_PHASES",
    "REGRET",
    "SELECTED",
    "TABLES",
    "THEOREM2",
    "TIMING",
]


def _schema(*fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, kind, nullable=False, metadata={"help": text})
            for name, kind, text in fields
        ]
    )


TIMING = _schema(
    ("epoch", pa.int32(), "0 is the set-up, then 1, 2, …; below 0 a lead-in"),
    (
        "loss",
        pa.float32(),  # its further digits tell nothing, and would be a tenth of a published log
        "mean training loss of the epoch, in the method's own units; NaN in row 0",
    ),
    ("predict_s", pa.float64(), "forward passes of the predictor"),
    ("solve_s", pa.float64(), "solves inside training steps; label solves in row 0"),
    ("refresh_s", pa.float64(), "solves that renew dual variables"),
    ("differentiate_s", pa.float64(), "differentiating through an optimisation layer"),
    ("backward_s", pa.float64(), "backward pass of the predictor and the optimiser step"),
    ("other_s", pa.float64(), "batching, the loss itself, layer construction"),
    ("epoch_s", pa.float64(), "the whole epoch; the sum of the six before"),
    ("elapsed_s", pa.float64(), "running sum of epoch_s, set-up included"),
    ("solves_label", pa.int64(), "instances solved with their true values"),
    ("solves_train", pa.int64(), "instances solved inside training steps"),
    ("solves_refresh", pa.int64(), "instances whose duals were renewed"),
)

REGRET = _schema(
    ("epoch", pa.int32(), "after this many epochs"),
    ("elapsed_s", pa.float64(), "training seconds spent by then, set-up included"),
    ("split", pa.string(), "val or test"),
    ("instances", pa.int32(), "how many instances of the split were judged"),
    (
        "relative_regret",
        pa.float64(),
        "mean of regret / |f*| over instances whose optimum is not near 0",
    ),
    ("pooled_regret", pa.float64(), "sum of regrets over sum of |f*|"),
    ("absolute_regret", pa.float64(), "mean over instances of the regret, in label units"),
    ("mse", pa.float64(), "mean squared error over predicted options, in label units"),
    (
        "optimum_gap",
        pa.float64(),
        "where f* is a bound, how far the best decisions found are from it, as a share of the sum "
        "of |f*|: at most this much of the pooled regret is due to the bound; 0 if every f* is an "
        "optimum",
    ),
)

DECISIONS = _schema(
    ("instance", pa.int64(), "row of the dataset; the test instances, at the selected epoch"),
    ("optimal_value", pa.float64(), "f*, the true value of the best decision, or a bound on it"),
    ("achieved_value", pa.float64(), "f, the true value of the decision taken"),
    ("regret", pa.float64(), "f* - f, or f - f* where the task minimises"),
    (
        "optimum_gap",
        pa.float64(),
        "how far the best decision found is from f*; above 0, f* and the regret are bounds",
    ),
    ("options", pa.list_(pa.uint32()), "which option was taken in each group, counted from 0"),
)

DUALS = _schema(
    ("epoch", pa.int32(), "at the end of this epoch; 0 is the set-up"),
    (
        "dual_gap",
        pa.float64(),
        "staleness: mean over instances of (dual value of the λ in use - optimum) / |optimum|",
    ),
    ("share_refreshed", pa.float64(), "share of train instances refreshed in this epoch"),
    ("share_broken", pa.float64(), "share whose argmax decision at the λ in use breaks A z ≤ b"),
)

BOUND = _schema(
    ("epoch", pa.int32(), "after this many epochs"),
    ("split", pa.string(), "val"),
    ("regret", pa.float64(), "mean regret, in scaled label units"),
    (
        "loss_gap",
        pa.float64(),
        "G times (plain loss at the predictions - plain loss at the labels)",
    ),
    ("margin_predicted", pa.float64(), "soft-to-hard term of the predictions (first lemma)"),
    ("margin_true", pa.float64(), "soft-to-hard term of the labels (first lemma)"),
    (
        "bound",
        pa.float64(),
        "loss_gap + margin_predicted + margin_true: Theorem 1's right-hand side",
    ),
    ("error_term", pa.float64(), "√(2G)·‖y - ŷ‖, first term of Theorem 2"),
    ("adjusted_gap", pa.float64(), "h†·(z† - z̃), h† = y - Aᵀλ at λ optimal for ŷ"),
    ("correction", pa.float64(), "‖y - ŷ‖·‖z* - z̃‖, which Theorem 2 puts into its O(τ)"),
    ("error_bound", pa.float64(), "error_term + adjusted_gap + correction: Theorem 2"),
    (
        "share_above_error_bound",
        pa.float64(),
        "share of instances whose regret is above it; 0 where the relaxation is integral",
    ),
)

THEOREM2 = _schema(
    ("instance", pa.int64(), "row of the dataset; validation instances, at the selected epoch"),
    ("regret", pa.float64(), "f* - f, or f - f* where the task minimises, in scaled label units"),
    ("error_term", pa.float64(), "√(2G)·‖y - ŷ‖"),
    ("adjusted_gap", pa.float64(), "h†·(z† - z̃), h† = y - Aᵀλ at λ optimal for ŷ"),
    (
        "correction",
        pa.float64(),
        "‖y - ŷ‖·‖z* - z̃‖; where the relaxation is integral, the three "
        "add up to no less than the regret",
    ),
)

OWN_PHASES = _schema(
    ("epoch", pa.int32(), "0 is the set-up, then 1, 2, …"),
    ("name", pa.string(), "what the method calls it"),
    (
        "seconds",
        pa.float64(),
        "from entering such a block to leaving it; among the six phases of `timing` already",
    ),
    ("count", pa.int64(), "what the method counted under this name; 0 if it only timed"),
)

TABLES = {
    "timing": TIMING,
    "regret": REGRET,
    "full_regret": REGRET,
    "decisions": DECISIONS,
    "duals": DUALS,
    "bound": BOUND,
    "theorem2": THEOREM2,
    "phases": OWN_PHASES,
}
"""File stem to schema. The last four are written only if the method has something to log,
``full_regret`` only if ``regret`` is of a subset."""

DIAGNOSTICS = ("duals", "bound", "theorem2")
"""The tables that `Method.diagnostics` returns rows for."""

SELECTED = ("theorem2",)
"""Those of them with one row per instance, kept of the selected epoch only."""
