"""A command-line flag for every field of the training protocol, made from the dataclass."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dglbench import options
from dglbench.training.spec import Protocol

__all__ = ["takes_protocol"]

_PANEL = "Training protocol"


def takes_protocol(run: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the protocol's flags; what was given of them arrives as ``protocol``."""
    own = inspect.signature(run, eval_str=True)
    kept = [param for param in own.parameters.values() if param.name != "protocol"]
    flags = [_flag(field.name) for field in dataclasses.fields(Protocol)]

    @functools.wraps(run)
    def with_flags(**values: Any) -> int:
        given = {flag.name: values.pop(flag.name) for flag in flags}
        return run(**values, protocol={k: v for k, v in given.items() if v is not None})

    with_flags.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*kept, *flags]
    )
    return with_flags


def _flag(name: str) -> inspect.Parameter:
    info = next(each for each in options.describe(Protocol) if each.name == name)
    kind = _plain_type(typing.get_type_hints(Protocol)[name])
    flag = "--" + name.replace("_", "-")
    declared = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
    shown = "none" if info.default is None else info.default
    if kind is bool:
        shown = flag[2:] if info.default else f"no-{flag[2:]}"
    help_ = f"{info.help[:1].upper()}{info.help[1:]}"
    if kind is str and info.kind.startswith("one of "):
        help_ += f": {info.kind.removeprefix('one of ')}"
    option = typer.Option(
        declared,
        help=f"{help_}.  [default: {shown}, or the task's]",
        rich_help_panel=_PANEL,
        show_default=False,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _plain_type(hint: Any) -> type:
    """Return the type that the command line converts to; text where the parser decides."""
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    found = next((part for part in parts if part in (bool, int, float)), str)
    return typing.cast(type, found)
