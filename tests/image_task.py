"""A tiny image task: pick the k brightest of four tiles, from an image of them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from dglbench.layout import Kind, Link
from dglbench.problem import Problem
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec, split_sizes_to_rows


@dataclass(frozen=True)
class TilesSettings:
    n: Annotated[int, Ge(2)] = 2
    pixels: Annotated[int, Ge(2)] = 8
    train: Annotated[int, Ge(1)] = 48
    val: Annotated[int, Ge(1)] = 24
    test: Annotated[int, Ge(1)] = 24


class Tiles(Task):
    name: ClassVar[str] = "tiles"
    summary: ClassVar[str] = "the brightest of n × n tiles"
    sizes: ClassVar[tuple[int, ...]] = (2,)
    Settings: ClassVar[type] = TilesSettings
    rows: ClassVar[Kind | None] = "image"
    link: ClassVar[Link] = "softplus"

    def generate(self, settings, seed):
        sizes = (settings.train, settings.val, settings.test)
        n, pixels = settings.n, settings.pixels
        worth = stream(seed, "tiles", "worth").uniform(1, 5, (sum(sizes), n, n))
        shape = (sum(sizes), 3, n * pixels, n * pixels)
        images = stream(seed, "tiles", "images").normal(size=shape)
        images += np.kron(worth, np.ones((pixels, pixels)))[:, None]
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, {}),
            constants={},
            features=images,
            labels=worth.reshape(len(worth), -1),
            split=split_sizes_to_rows(sizes, np.arange(sum(sizes))),
        )

    def problem(self, settings, constants):
        return Problem.top_k(settings.n**2, 1)
