"""What a run was asked, and that a field added later does not change it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, make_dataclass, replace

import pytest

from dglbench.runs.protocol import Protocol
from dglbench.runs.record import FORMAT_VERSION, Identity, without_defaults


def identity(**changes) -> Identity:
    usual = Identity(
        task="matching",
        settings={"n": 4},
        seed=1,
        method="spo",
        options={"lr": 0.1},
        solver="batched",
        dual_rule="centre",
        protocol=Protocol(epochs=3, evaluate_every=1, warm_start_epochs=500),
        source="x",
    )
    return replace(usual, **changes)


@dataclass(frozen=True)
class LaterProtocol(Protocol):
    """A protocol with one more field."""

    schedule: str = "constant"


LaterIdentity = make_dataclass(
    "LaterIdentity", [("predictor", str, "linear")], bases=(Identity,), frozen=True
)


def test_a_field_added_later_changes_nothing_at_its_default():
    now = identity()
    protocol = LaterProtocol(**asdict(now.protocol))
    later = LaterIdentity(**{**vars(now), "protocol": protocol})
    assert (later.asked, later.run_id) == (now.asked, now.run_id)
    changed = replace(later, protocol=replace(protocol, schedule="cosine"))
    assert changed.asked != now.asked
    assert replace(later, predictor="mlp").asked != now.asked


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"threads": 2},
        {"train_seed": 1},
        {"data_digest": "0" * 12},
        {"lead_in": {"method": "dgl-none", "epochs": 2, "options": {}}},
        {"protocol": Protocol(epochs=4, evaluate_every=1, warm_start_epochs=500)},
        {"protocol": Protocol(epochs=3, evaluate_every=1, warm_start_epochs=500, dtype="float32")},
    ],
)
def test_what_departs_from_a_default_is_asked_for(change):
    assert identity(**change).asked != identity().asked


def test_the_code_and_the_format_name_a_run_and_are_not_asked_for():
    for change in ({"source": "y"}, {"format": FORMAT_VERSION - 1}):
        assert identity(**change).asked == identity().asked
        assert identity(**change).run_id != identity().run_id


def test_only_departures_are_hashed():
    assert without_defaults(identity(threads=2))["protocol"] == {
        "epochs": 3,
        "evaluate_every": 1,
        "warm_start_epochs": 500,
    }
    assert "train_seed" not in without_defaults(identity())
