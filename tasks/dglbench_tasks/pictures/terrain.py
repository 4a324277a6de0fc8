"""The map as the predictor sees it, what its tiles cost, and the cheapest path on both."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.data.plot import look, what_is_shown
from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.ways import Way, overlaid

__all__ = ["comparison", "path", "picture"]

_NUMBERED = 14  # tiles on a side up to which every tile has room for its cost
_QUALITY = 60  # of a map in a comparison, in per cent


def path(dataset: Dataset, shown: Shown) -> list[int]:
    """Return the tiles that the path visits, in order."""
    structure: Any = dataset.problem.structure
    taken = structure.edges[shown.decision.ravel()[structure.option_of] > 0.5]
    onward = dict(taken.tolist())
    tiles = [structure.source]
    while tiles[-1] != structure.sink:
        tiles.append(onward[tiles[-1]])
    return tiles


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw the image with the path on the left, the costs with the path on the right."""
    n = dataset.spec.settings.n
    row, column = np.divmod(np.array(path(dataset, shown)), n)
    way = pd.DataFrame({"x": column + 0.5, "y": row + 0.5})
    ends = way.iloc[[0, -1]]
    theme = look(9.6, 5.2, panel_grid=p9.element_blank(), axis_text=p9.element_blank())

    def drawn(layer: Any, colour: str) -> Any:
        return (
            p9.ggplot(way, p9.aes("x", "y"))
            + layer
            + p9.geom_path(colour="white", size=max(1.2, 34 / n))
            + p9.geom_path(colour=colour, size=max(0.6, 17 / n))
            + p9.geom_point(data=ends, colour=colour, size=max(1.4, 34 / n))
            + p9.scale_x_continuous(expand=(0, 0))
            + p9.scale_y_reverse(expand=(0, 0))
            + p9.coord_fixed()
            + theme
            + p9.theme(axis_title=p9.element_blank())
        )

    pixels = p9.geom_tile(
        p9.aes("x", "y", fill="colour"), _pixels(dataset.features[shown.row], n), inherit_aes=False
    )
    costs = _costs(shown.labels, n)
    tiles = p9.geom_tile(p9.aes("x", "y", fill="cost"), costs, inherit_aes=False)
    map_ = drawn(pixels, "#C8102E") + p9.scale_fill_identity()
    map_ += p9.labs(
        title=what_is_shown(dataset),
        subtitle=f"the cheapest path visits {len(way)} tiles and costs {shown.optimum:.4g}",
    )
    priced = drawn(tiles, "#C8102E") + p9.scale_fill_cmap("viridis", name="cost")
    if n <= _NUMBERED:
        numbers = costs.assign(
            label=costs["cost"].map("{:.2g}".format),
            ink=np.where(costs["cost"] > 0.6 * costs["cost"].max(), "#222222", "white"),
        )
        priced += p9.geom_text(
            p9.aes("x", "y", label="label", colour="ink"), numbers, size=6, inherit_aes=False
        )
        priced += p9.scale_colour_identity()
    return map_ | priced


def comparison(dataset: Dataset, best: Shown, taken: Shown) -> str:
    """Draw the map with the cheapest path, and on top of it the path that was taken."""
    n = dataset.spec.settings.n
    ways: list[Way] = []
    for shown in (best, taken):
        row, column = np.divmod(np.array(path(dataset, shown)), n)
        ways.append([(x + 0.5, y + 0.5) for x, y in zip(column, row, strict=True)])
    jpeg = base64.b64encode(_jpeg(dataset.features[best.row])).decode()
    image = (
        f'<image width="{n}" height="{n}" preserveAspectRatio="none" '
        f'href="data:image/jpeg;base64,{jpeg}"/>'
    )
    return overlaid((0, 0, n, n), image, *ways)


def _jpeg(image: Any) -> bytes:
    """Compress what the predictor sees: noise makes a map ten times as long without loss."""
    import matplotlib.image

    content = io.BytesIO()
    pixels = np.asarray(image, dtype=np.float64).transpose(1, 2, 0)
    matplotlib.image.imsave(content, pixels, format="jpg", pil_kwargs={"quality": _QUALITY})
    return content.getvalue()


def _pixels(image: Any, n: int) -> pd.DataFrame:
    """Return every pixel's place, in tiles, and its colour."""
    channels, height, width = image.shape
    steps = np.rint(np.asarray(image) * 255).astype(int).reshape(channels, -1)
    row, column = np.divmod(np.arange(height * width), width)
    return pd.DataFrame(
        {
            "x": (column + 0.5) * n / width,
            "y": (row + 0.5) * n / height,
            "colour": [f"#{r:02X}{g:02X}{b:02X}" for r, g, b in steps.T.tolist()],
        }
    )


def _costs(labels: Any, n: int) -> pd.DataFrame:
    row, column = np.divmod(np.arange(n * n), n)
    return pd.DataFrame({"x": column + 0.5, "y": row + 0.5, "cost": labels})
