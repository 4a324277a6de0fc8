"""The picture of a verdict: the test regret of what was compared, with its intervals."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from dglbench.fitting.verdict import Verdict

__all__ = ["draw"]

_WIDTH_IN, _ROW_IN, _REST_IN = 5.6, 0.4, 1.15
_FAR = 3.0
"""A regret so many times that of the best two is no longer drawn to scale."""


def draw(verdict: Verdict, path: Path) -> None:
    """Save the picture."""
    import plotnine as p9
    import polars as pl

    from dglbench.report.style.theme import look, percent
    from dglbench.words import percent as said_percent

    compared = sorted(verdict.compared, key=lambda each: each.regret.value)
    edge = _FAR * max(each.regret.high for each in compared[:2])
    rows: dict[str, list[Any]] = {
        name: [] for name in ("what", "value", "low", "high", "said", "chosen")
    }
    for each in compared:
        chosen = each.record is verdict.chosen.record
        far = each.regret.value > edge
        rows["what"].append(f"{each.role}\n{each.name}" if each.role != each.name else each.role)
        rows["value"].append(edge if far else each.regret.value)
        rows["low"].append(edge if far else each.regret.low)
        rows["high"].append(edge if far else min(each.regret.high, edge))
        rows["said"].append(f"{said_percent(each.regret.value)}{' →' * far}")
        rows["chosen"].append("chosen by validation" if chosen else "not chosen")
    frame = pl.DataFrame(rows).with_columns(
        pl.col("what").cast(pl.Enum(list(dict.fromkeys(reversed(rows["what"])))))
    )
    worse = "more they cost" if verdict.minimise else "less they are worth"
    figure = (
        p9.ggplot(frame.to_pandas(), p9.aes(y="what", x="value", color="chosen", fill="chosen"))
        + p9.geom_segment(p9.aes(x="low", xend="high", yend="what"), size=0.9)
        + p9.geom_point(size=2.4)
        + p9.geom_text(p9.aes(label="said"), nudge_y=0.3, size=7.5, show_legend=False, ha="center")
        + p9.scale_color_manual({"chosen by validation": "#1B5E9E", "not chosen": "#6A6A6A"})
        + p9.scale_fill_manual({"chosen by validation": "#1B5E9E", "not chosen": "white"})
        + p9.scale_x_continuous(labels=percent, expand=(0.03, 0, 0.14, 0))
        + p9.expand_limits(x=0)
        + p9.labs(
            title=verdict.headline,
            x=f"regret: how much {worse} than the best decisions in hindsight\n"
            f"({verdict.test_instances} test instances, with 95 % intervals)",
            y="",
        )
        + look(
            _WIDTH_IN,
            _REST_IN + _ROW_IN * len(frame),
            axis_text_y=p9.element_text(ha="right", ma="right"),
            plot_title=p9.element_text(size=9, ha="left"),
        )
    )
    with warnings.catch_warnings():
        # plotnine speaks to pandas in ways that newer versions of pandas advise against.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        figure.save(path, format="png", dpi=200, verbose=False)
