"""The report: figures, tables and claims drawn from logs alone.

Reads Parquet and JSON, never torch or a solver, so it works on a laptop that
holds nothing but a copy of ``results/``.

- `loading` reads folders of runs, `model` says what a run and a comparison are;
- `statistics` computes, `tables`, `figures`, `claims` and `page` show;
- `style` holds what they share, `names` lists what there is, `request` checks what was asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dglbench.report.loading import Report, load

__all__ = ["Report", "load"]


def __getattr__(name: str) -> Any:
    """Import on first use: the command line's help needs the names alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dglbench.report import loading

    return getattr(loading, name)
