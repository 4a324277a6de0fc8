"""The picture of a verdict: the test regret of what was compared, with its intervals."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from dglbench.fitting.verdict import Verdict

__all__ = ["draw"]

_WIDTH_IN, _ROW_IN, _REST_IN = 5.2, 0.36, 0.85


def draw(verdict: Verdict, path: Path) -> None:
    """Save the picture."""
    import plotnine as p9
    import polars as pl

    from dglbench.report.style.theme import look, percent

    rows: dict[str, list[Any]] = {"what": [], "value": [], "low": [], "high": [], "chosen": []}
    for each in verdict.compared:
        chosen = each.record is verdict.chosen.record
        rows["what"].append(f"{each.role}\n{each.name}" if each.role != each.name else each.role)
        rows["value"].append(each.regret.value)
        rows["low"].append(each.regret.low)
        rows["high"].append(each.regret.high)
        rows["chosen"].append("chosen by validation" if chosen else "not chosen")
    frame = pl.DataFrame(rows).with_columns(
        pl.col("what").cast(pl.Enum(list(dict.fromkeys(reversed(rows["what"])))))
    )
    height = _REST_IN + _ROW_IN * len(frame)
    figure = (
        p9.ggplot(frame.to_pandas(), p9.aes(y="what", x="value", color="chosen", fill="chosen"))
        + p9.geom_segment(p9.aes(x="low", xend="high", yend="what"), size=0.9)
        + p9.geom_point(size=2.4)
        + p9.scale_color_manual({"chosen by validation": "#1B5E9E", "not chosen": "#6A6A6A"})
        + p9.scale_fill_manual({"chosen by validation": "#1B5E9E", "not chosen": "white"})
        + p9.scale_x_continuous(labels=percent)
        + p9.expand_limits(x=0)
        + p9.labs(x=f"regret on {verdict.test_instances} test instances, with 95 % intervals", y="")
        + look(_WIDTH_IN, height, axis_text_y=p9.element_text(ha="right", ma="right"))
    )
    with warnings.catch_warnings():
        # plotnine speaks to pandas in ways that newer versions of pandas advise against.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        figure.save(path, format="png", dpi=200, verbose=False)
