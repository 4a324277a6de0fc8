"""Seconds that others tell are left out, and come back as they were."""

import polars as pl
import pytest

from dglbench.packs.clocks import tell_clocks, without_clocks

PHASES = ("predict_s", "solve_s", "refresh_s", "differentiate_s", "backward_s", "other_s")


def timing():
    rows = {
        name: [0.1 * (at + 1) + 0.013 * row for row in range(6)] for at, name in enumerate(PHASES)
    }
    frame = pl.DataFrame({"run": [0, 0, 0, 1, 1, 1], "epoch": [0, 1, 2] * 2, **rows})
    total = frame[PHASES[0]]
    for name in PHASES[1:]:
        total = total + frame[name]
    frame = frame.with_columns(total.alias("epoch_s"))
    return frame.with_columns(pl.col("epoch_s").cum_sum().over("run").alias("elapsed_s"))


def judged():
    at = timing().select("run", "epoch", "elapsed_s")
    return pl.concat([at, at]).sort("run", "epoch", maintain_order=True)


@pytest.mark.parametrize(("table", "rows"), [("timing", timing()), ("regret", judged())])
def test_what_is_left_out_comes_back_to_the_last_bit(table, rows):
    left = without_clocks(table, rows, timing)
    assert set(left) == {"epoch_s", "elapsed_s"} & set(rows.columns)
    empty = rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in left)
    assert tell_clocks(table, empty, timing).equals(rows)


@pytest.mark.parametrize(("table", "rows"), [("timing", timing()), ("regret", judged())])
def test_a_clock_that_says_otherwise_is_kept(table, rows):
    column = pl.when(pl.int_range(pl.len()) == 4).then(9.0).otherwise(pl.col("elapsed_s"))
    changed = rows.with_columns(column.alias("elapsed_s"))
    assert "elapsed_s" not in without_clocks(table, changed, timing)
    assert tell_clocks(table, changed, timing).equals(changed)


def test_other_tables_are_left_alone():
    rows = pl.DataFrame({"run": [0], "epoch": [1], "elapsed_s": [1.0]})
    assert without_clocks("duals", rows, timing) == []
    assert tell_clocks("duals", rows, timing).equals(rows)
