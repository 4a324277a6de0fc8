"""Options as frozen dataclasses: parsed from text, checked, described and saved verbatim.

A task's settings and a method's options are plain dataclasses whose fields are
annotated with their range and a sentence for the user::

    n: Annotated[int, Ge(1), Doc("individuals per instance")] = 50

`parse` turns text such as ``n=50`` into such an object or says what is allowed.
"""

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import annotated_types as at
from typing_extensions import Doc

from dglbench.errors import OptionError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "LATER",
    "Bounds",
    "OptionInfo",
    "as_dict",
    "bounds",
    "describe",
    "parse",
    "parse_assignments",
    "spell_out_ranges",
    "split_spec",
]

T = TypeVar("T")

_RANGE_SIGNS = {at.Gt: (">", "gt"), at.Ge: ("≥", "ge"), at.Lt: ("<", "lt"), at.Le: ("≤", "le")}


_LONGEST_RANGE = 10_000

LATER: Final = "later"
"""Marks an option that was added later; it is left out at its default so that old run names
stay valid."""


class OptionInfo(NamedTuple):
    """One option as the user sees it."""

    name: str
    kind: str
    allowed: str
    default: Any
    help: str


class Bounds(NamedTuple):
    """The numbers that an option's annotation allows."""

    lowest: float
    """The smallest number allowed; minus infinity if there is none."""
    highest: float
    above: float | None
    """The number it must be above, if it must be above one."""


def bounds(hint: Any) -> Bounds:
    """Read the annotation of one option."""
    _, metadata = _strip(hint)
    found = {
        type(item): float(getattr(item, _RANGE_SIGNS[type(item)][1]))
        for item in metadata
        if type(item) in _RANGE_SIGNS
    }
    return Bounds(found.get(at.Ge, -math.inf), found.get(at.Le, math.inf), found.get(at.Gt))


def describe(cls: type[Any]) -> list[OptionInfo]:
    """List the options of a dataclass in the order they are declared."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return [_describe_field(field, hints[field.name]) for field in dataclasses.fields(cls)]


def parse(cls: type[T], given: Mapping[str, Any], *, owner: str) -> T:
    """Build a ``cls`` from values or their text, or say which one is wrong and what is allowed.

    ``owner`` names what the options belong to, such as ``"task matching"``.
    """
    from pydantic import ValidationError

    known = {info.name: info for info in describe(cls)}
    for name in given:
        if name not in known:
            raise OptionError(
                f"{owner} has no option '{name}'; it has {_listing(known) or 'none'}."
            )
    hints = typing.get_type_hints(cls, include_extras=True)
    values = {name: _from_text(value, hints[name]) for name, value in given.items()}
    try:
        adapter: TypeAdapter[T] = _adapter(cls)  # type: ignore[arg-type]  # classes are hashable
        return adapter.validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = first["loc"][0] if first["loc"] else None
        if where is None or str(where) not in known:  # a rule across fields, in __post_init__
            raise OptionError(f"{owner}: {first['msg'].removeprefix('Value error, ')}") from error
        info = known[str(where)]
        raise OptionError(
            f"{owner}: {info.name} must be {info.allowed}, got {given[info.name]!r}."
        ) from error


def split_spec(text: str) -> tuple[str, list[str]]:
    """Split ``name:word,word`` into the name and its words: a predictor's or a lead-in's."""
    name, _, rest = text.partition(":")
    return name.strip(), [word.strip() for word in rest.split(",")] if rest.strip() else []


def parse_assignments(
    assignments: Iterable[str], what: str = "--set", example: str = "slack=0.2"
) -> dict[str, str]:
    """Split ``key=value`` words, as given to ``--set``."""
    pairs: dict[str, str] = {}
    for word in assignments:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise OptionError(f"{what} takes key=value, got '{word}'; write for example {example}.")
        pairs[key.strip().replace("-", "_")] = value.strip()
    return pairs


def spell_out_ranges(words: str) -> list[str]:
    """Split ``10,25`` and read ``1-3`` among them as 1, 2, 3; anything else is left as it is."""
    numbers: list[str] = []
    for word in (part.strip() for part in words.split(",")):
        ends = re.fullmatch(r"(\d{1,9})\s*-\s*(\d{1,9})", word, re.ASCII)
        if ends is None:
            numbers += [word] if word else []
            continue
        first, last = int(ends[1]), int(ends[2])
        if not first <= last < first + _LONGEST_RANGE:
            raise OptionError(
                f"the range {word} must go up and hold at most {_LONGEST_RANGE:,} numbers; write "
                "for example 1-3."
            )
        numbers += map(str, range(first, last + 1))
    return numbers


def as_dict(options: Any) -> dict[str, Any]:
    """Return the options as JSON-ready values, without `LATER` ones at their default."""
    later = _later(type(options))  # type: ignore[arg-type]  # classes are hashable
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field in dataclasses.fields(options)
        for value in [getattr(options, field.name)]
        if field.name not in later or value != field.default
    }


@functools.cache
def _later(cls: type[Any]) -> frozenset[str]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return frozenset(name for name, hint in hints.items() if LATER in _strip(hint)[1])


@functools.cache  # building one costs milliseconds, and a grid parses thousands of times
def _adapter(cls: type[Any]) -> "TypeAdapter[Any]":
    from pydantic import ConfigDict, TypeAdapter, with_config

    return TypeAdapter(with_config(ConfigDict(allow_inf_nan=False))(cls))


def _listing(known: Mapping[str, OptionInfo]) -> str:
    return ", ".join(known)


def _describe_field(field: dataclasses.Field[Any], hint: Any) -> OptionInfo:
    base, metadata = _strip(hint)
    doc = next((item.documentation for item in metadata if isinstance(item, Doc)), "")
    default = None if field.default is dataclasses.MISSING else field.default
    kind = _kind(base)
    ranges = [
        f"{sign} {getattr(item, attribute):g}"
        for item in metadata
        for cls, (sign, attribute) in _RANGE_SIGNS.items()
        if type(item) is cls
    ]
    allowed = " and ".join([f"{kind} {ranges[0]}", *ranges[1:]]) if ranges else kind
    return OptionInfo(field.name, kind, allowed, default, doc)


def _strip(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if typing.get_origin(hint) is typing.Annotated:
        base, *metadata = typing.get_args(hint)
        return base, tuple(metadata)
    return hint, ()


def _kind(base: Any) -> str:
    origin = typing.get_origin(base)
    if origin is Literal:
        return "one of " + ", ".join(str(value) for value in typing.get_args(base))
    if origin in (types.UnionType, typing.Union):
        inner = [_kind(part) for part in typing.get_args(base) if part is not type(None)]
        return " or ".join([*inner, "none"])
    if origin is tuple:
        return f"a comma-separated list, each {_kind(_strip(typing.get_args(base)[0])[0])}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(base, str(base))


def _from_text(value: Any, hint: Any) -> Any:
    """Read text the way a user writes it; anything else is passed on for validation."""
    base, _ = _strip(hint)
    parts = (
        typing.get_args(base) if typing.get_origin(base) in (types.UnionType, typing.Union) else ()
    )
    if isinstance(value, str) and type(None) in parts and value.lower() in {"none", ""}:
        return None
    takes_list = any(typing.get_origin(part) is tuple for part in (base, *parts))
    if takes_list and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if takes_list and isinstance(value, (list, tuple)):
        return tuple(value)
    return value
