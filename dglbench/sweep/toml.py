"""Writing TOML: the few kinds of value a sweep is made of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["dumps"]


def dumps(document: Mapping[str, Any]) -> str:
    """Return a document as TOML; tables and arrays of tables come after plain values."""
    lines: list[str] = []
    _table(document, (), lines)
    return "\n".join(lines).strip() + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    for key, value in table.items():
        if not _is_block(value):
            lines.append(f"{_key(key)} = {_value(value)}")
    for key, value in table.items():
        inner = (*path, key)
        name = ".".join(_key(part) for part in inner)
        if isinstance(value, Mapping):
            if not value or not all(isinstance(part, Mapping) for part in value.values()):
                lines += ["", f"[{name}]"]
            _table(value, inner, lines)
        elif _is_block(value):
            for entry in value:
                lines += ["", f"[[{name}]]"]
                _table(entry, inner, lines)


def _is_block(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return _is_list(value) and bool(value) and all(isinstance(part, Mapping) for part in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _value(value: Any) -> str:
    if _is_list(value):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if value is None:
        return '"none"'  # TOML has no null; options read this word as one
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    # JSON's escapes are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
