"""Numbers in readable form, the same on the terminal, in tables and in figures."""

from __future__ import annotations

import math

__all__ = [
    "percent",
    "ratio",
    "rough_seconds",
    "seconds",
    "short_number",
    "short_seconds",
    "size",
]


def seconds(value: float) -> str:
    """Write a measured time with three digits that matter; number and unit stay on one line."""
    if value < 0.0009995:
        return f"{value * 1e6:#.3g}\u00a0µs".replace(".\u00a0", "\u00a0")
    if value < 0.09995:
        return f"{value * 1e3:#.3g}\u00a0ms".replace(".\u00a0", "\u00a0")
    if value < 99.95:
        return f"{value:#.3g}\u00a0s"
    return _minutes(value)


def rough_seconds(value: float) -> str:
    """Write an estimated time, no finer than an estimate can be."""
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return _minutes(value)


def short_seconds(value: float) -> str:
    """Write a time as the tick of an axis: 1 ms, 0.1 s, 10 s, 2k s."""
    if value < 0.00095:
        return f"{value * 1e6:.3g} µs"
    if value < 0.95:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{short_number(value)} s"


def short_number(value: float) -> str:
    """Write a count short: 400, 4k, 1.2M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{suffix}"
    return f"{value:g}"


def percent(value: float, digits: int = 2) -> str:
    """Write a share as per cent; a number and its unit stay on one line."""
    return f"{100 * value:z.{digits}f}\u00a0%" if math.isfinite(value) else "—"


def ratio(value: float) -> str:
    """Write how many times: two digits that matter."""
    if value >= 9.95:
        return f"{float(f'{value:.2g}'):,.0f}×"
    return f"{value:.1f}×" if value >= 0.95 else f"{value:#.2g}×"


def size(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):  # noqa: B007 - the last unit is used below
        if amount < 1000:
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def _minutes(value: float) -> str:
    """Minutes and seconds, or from an hour on hours and minutes."""
    if round(value) < 3600:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s"
    hours, rest = divmod(round(value / 60), 60)
    return f"{hours:,} h {rest} min"
