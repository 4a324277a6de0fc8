"""The anytime score of every method: one point per setting, and the mean."""

from __future__ import annotations

from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.profiles import anytime_means, anytime_scores
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import method_order, style
from dglbench.report.style.theme import Figure, lines, look, method_scales, to_table

__all__ = ["FIGURE", "data"]


def data(report: Report) -> pl.DataFrame:
    """Return the score of every method in every setting."""
    scores, _ = anytime_scores(report)
    if not scores:
        raise ReportError(
            "anytime needs a setting with two methods or more that were timed under equal "
            "conditions and gained on the warm start; `dglbench sweep --preset quick "
            f"--out {report.folder}` makes some."
        )
    return pl.DataFrame(
        [
            {"setting": label, "method": method, "score": score}
            for label, found in scores.items()
            for method, score in sorted(found.items(), key=lambda item: method_order(item[0]))
        ]
    )


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw one row per method, the lowest mean on top; means over other settings stand below."""
    frame = data(report)
    scores, _ = anytime_scores(report)
    found = anytime_means(report, scores)
    means = pl.DataFrame({"method": list(found), "score": [mean.score for mean in found.values()]})
    names = {
        method: style(method).label + ("" if mean.shared else f" ({mean.settings})")
        for method, mean in reversed(found.items())
    }
    width = layout.inches(1)
    shared = max((mean.settings for mean in found.values() if mean.shared), default=0)
    note = (
        f"means over {shared} of {len(scores)} settings; below, methods that lack some of these, "
        "over as many as they have"
    )
    notes = lines([note], width - 0.5) if not all(mean.shared for mean in found.values()) else []
    frame, means = (
        part.with_columns(name=pl.col("method").replace_strict(names)) for part in (frame, means)
    )
    table, middle = (to_table(part, name=names.values()) for part in (frame, means))
    # A method that was for a while below the lowest final regret can score less than 0.
    low = min(0.0, float(table["score"].min())) - 0.02
    return (
        p9.ggplot(table, p9.aes("score", "name", color="method"))
        + p9.geom_point(size=1.1, alpha=0.4, stroke=0)
        + p9.geom_point(p9.aes(shape="method"), middle, size=2.4, stroke=0.3)
        + p9.scale_x_continuous(limits=(low, 1.02), breaks=[0, 0.25, 0.5, 0.75, 1], expand=(0, 0))
        + method_scales(table["method"])
        + p9.labs(x="anytime score (0 best at once, 1 warm start)", y="",
                  caption="\n".join(notes) or None)
        + look(
            width, 0.75 + 0.19 * len(names) + 0.11 * len(notes),
            panel_grid_major_y=p9.element_blank(),
            axis_text_y=p9.element_text(color="#222222"),
        )
    )  # fmt: skip


FIGURE = Figure(
    name="anytime",
    title="Anytime score",
    caption=(
        "Mean over log training time of the test regret held so far, scaled so that 0 is the "
        "setting's lowest regret from the first epoch on and 1 the warm start until the end. A "
        "small point is a setting, the marker the mean over settings; lower is better. Where "
        "methods were not run in the same settings, the means are over those that most share."
    ),
    draw=draw,
    data=data,
)
