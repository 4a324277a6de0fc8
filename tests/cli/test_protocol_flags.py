"""Every field of the training protocol is a flag, without being written twice."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from dglbench.cli import protocol_flags, sweep, train
from dglbench.training.spec import Protocol


@pytest.mark.parametrize("verb", [train, sweep])
def test_both_verbs_have_a_flag_for_every_field(verb):
    names = set(inspect.signature(verb.run).parameters)
    assert {field.name for field in dataclasses.fields(Protocol)} <= names
    assert "protocol" not in names


def test_a_new_field_is_a_flag_and_arrives_as_given(monkeypatch):
    grown = dataclasses.make_dataclass(
        "Grown", [("gentle", bool, False)], bases=(Protocol,), frozen=True
    )
    monkeypatch.setattr(protocol_flags, "Protocol", grown)

    def verb(out: str = "x", *, protocol: dict) -> int:
        assert protocol == {"gentle": True, "epochs": 3}
        return 7

    flagged = protocol_flags.takes_protocol(verb)
    assert inspect.signature(flagged).parameters["gentle"].default is None
    given = dict.fromkeys(field.name for field in dataclasses.fields(grown))
    assert flagged(out="y", **{**given, "gentle": True, "epochs": 3}) == 7


def test_a_verb_parses_them(cli, tmp_path):
    words = ("--set", "train=6", "--set", "val=4", "--set", "test=4", "--json")
    run = cli("train", "matching", "--n", "3", "--method", "two-stage", "--epochs", "2",
              "--warm-start-patience", "3", *words)  # fmt: skip
    assert run.code == 0, run.err
    assert '"warm_start_patience": 3' in run.out
    wrong = cli("sweep", "--tasks", "matching-3", "--methods", "two-stage", "--dtype", "float16")
    assert "dtype must be one of float64, float32" in wrong.err
