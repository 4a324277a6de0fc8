"""Reading runs that dglbench 0.1 wrote: ``spec.json`` and ``status.json``, without checksums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["SPEC", "STATUS", "read_document"]

SPEC, STATUS = "spec.json", "status.json"

_STATUS_FIELDS = ("message", "traceback", "started", "finished", "wall_s")
_SUMMARY_FIELDS = (
    "epochs_run",
    "train_s",
    "solves",
    "instances",
    "groups",
    "options",
    "label_scale",
    "setup_s",
    "warm_start",
    "selected",
)


def read_document(folder: Path) -> dict[str, Any]:
    """Return a run's two files as today's document; OSError or ValueError if they do not serve."""
    spec, status = _load(folder / SPEC), _load(folder / STATUS)
    known = {*_STATUS_FIELDS, *_SUMMARY_FIELDS, "status", "selected_epoch"}
    has_summary = all(name in status for name in ("epochs_run", "train_s", "solves", "instances"))
    return {
        "run_id": spec["run_id"],
        "identity": spec["identity"],
        "environment": spec.get("environment") or {},
        "status": {"state": status["status"], **_part(status, _STATUS_FIELDS)},
        "summary": _part(status, _SUMMARY_FIELDS) if has_summary else None,
        # A method's notes stood among the rest.
        "notes": {name: value for name, value in status.items() if name not in known},
    }


def _load(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise OSError(f"it has no {path.name}") from error
    except ValueError as error:
        raise ValueError(f"its {path.name} is no JSON") from error
    if not isinstance(document, dict):
        raise ValueError(f"its {path.name} is no JSON object")
    needed = ("run_id", "identity") if path.name == SPEC else ("status",)
    for name in needed:
        if name not in document:
            raise ValueError(f"its {path.name} lacks {name!r}")
    return document


def _part(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document}
