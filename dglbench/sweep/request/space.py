"""What a search may try for an option: a list of values, or a range of numbers.

In TOML::

    lr = [0.01, 0.1, 1.0]                                # these values
    tau = { low = 0.003, high = 10 }                     # any number, evenly on a log scale
    ratio = { low = 0.0, high = 1.0, scale = "linear" }  # any number, evenly
    alpha = { low = 0.01, high = 1.0, also = [0.0] }     # or one of these

``full`` takes lists, the tasks' tables ``[search]``. ``random`` and ``optuna`` take both: their
ranges are those of ``ranges.toml`` here, below those of a task's table ``[range]``; an option that
neither names has the range of its annotation, if that tells one (`declared_range`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from dglbench import options
from dglbench.errors import OptionError, SweepError

__all__ = ["Axis", "Range", "axis_document", "default_ranges", "on_edge", "read_axis"]

# A chosen number this close to an end of its range, as a share of the range, sits on the edge.
_EDGE = 0.05
# A positive number that nobody gave a range is searched this far below and above its default.
_SPREAD = 30.0


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, and some values beside them."""

    low: float
    high: float
    scale: Literal["log", "linear"] = "log"
    also: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low:g} and {self.high:g}.")
        if self.scale == "log" and self.low <= 0:
            raise ValueError('low must be above 0; write scale = "linear" for a range from 0.')

    def position(self, value: float) -> float:
        """Say how far from low to high a value lies, from 0 to 1."""
        if self.scale == "log":
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def rounded(self, value: float) -> float:
        """Return the value with three digits, enough for any rate, and within the range."""
        return min(max(float(f"{value:.3g}"), self.low), self.high)


Axis = Sequence[Any] | Range


def read_axis(cls: type[Any], method: str, key: str, written: Any) -> Axis:
    """Check what TOML says of one option of a method."""
    owner = f"the search space of {method}"
    if isinstance(written, Mapping):
        if not {"low", "high"} <= set(written):
            raise SweepError(f"{owner}: the range of {key} needs low and high, got {written!r}.")
        try:
            axis = options.parse(Range, written, owner=f"{owner}: {key}")
        except OptionError as error:
            raise SweepError(str(error)) from error
        for value in (axis.low, axis.high, *axis.also):
            _typed(cls, method, key, value)
        return axis
    if not isinstance(written, (list, tuple)) or not written:
        raise SweepError(
            f"{owner} needs a list of values for {key}, or a range such as "
            f"{{ low = 0.01, high = 1.0 }}; got {written!r}."
        )
    return list(dict.fromkeys(_typed(cls, method, key, value) for value in written))


def axis_document(axis: Axis) -> Any:
    """Write an axis as it is read."""
    if not isinstance(axis, Range):
        return list(axis)
    also = {"also": list(axis.also)} if axis.also else {}
    return {"low": axis.low, "high": axis.high, "scale": axis.scale, **also}


def default_ranges(cls: type[Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``random`` and ``optuna`` search of a method's options, as written in TOML.

    ``task`` is the task's table ``[range]``.
    """
    shared = _shared()
    written = {**shared["range"], **task}
    hints = typing.get_type_hints(cls, include_extras=True)
    found = {}
    for field in dataclasses.fields(cls):
        said = written.get(field.name)
        if said is None and field.name not in shared["keep"]:
            said = declared_range(hints[field.name], field.default)
        if said is not None:
            found[field.name] = said
    return found


def declared_range(hint: Any, default: Any) -> Any:
    """Read a range from an option's annotation, None if it tells none.

    A number above 0 is searched from a thirtieth of its default to thirty times that, as far as
    it is allowed. Anything else keeps its value: words often choose what a run costs.
    """
    bounds = options.bounds(hint)
    if not isinstance(default, float) or default <= 0 or bounds.above != 0:
        return None
    high = min(default * _SPREAD, bounds.highest)
    return {"low": float(f"{default / _SPREAD:.3g}"), "high": float(f"{high:.3g}")}


def on_edge(cls: type[Any], key: str, axis: Axis, value: Any) -> str | None:
    """Say where a chosen value sits on the edge of what was searched, None if it does not.

    An end that the option itself does not go beyond, such as 0 for a weight, is no edge.
    """
    numbers = [axis.low, axis.high] if isinstance(axis, Range) else list(axis)
    if not all(type(number) in (int, float) for number in [*numbers, value]) or len(numbers) < 2:
        return None
    if isinstance(axis, Range):
        if value in axis.also:
            return None
        position = axis.position(value)
    else:
        position = 0.0 if value == min(axis) else 1.0 if value == max(axis) else 0.5
    if _EDGE < position < 1 - _EDGE:
        return None
    hint = typing.get_type_hints(cls, include_extras=True)[key]
    bounds = options.bounds(hint)
    low, high = min(numbers), max(numbers)
    if position <= _EDGE:
        return None if low <= bounds.lowest else f"{key} {value:g}, lower end of {low:g} … {high:g}"
    return None if high >= bounds.highest else f"{key} {value:g}, upper end of {low:g} … {high:g}"


@functools.cache
def _shared() -> dict[str, Any]:
    text = resources.files("dglbench.sweep.request").joinpath("ranges.toml").read_text("utf-8")
    return tomllib.loads(text)


_known: dict[tuple[type, str, str], Any] = {}


def _typed(cls: type[Any], method: str, key: str, value: Any) -> Any:
    """Check a value to search; the same few are met in every setting, so keep them."""
    if (cls, key, repr(value)) not in _known:
        parsed = options.parse(cls, {key: value}, owner=f"method {method}")
        _known[cls, key, repr(value)] = getattr(parsed, key)
    return _known[cls, key, repr(value)]
