"""Names in a sweep: however they were written, they are taken as they are registered."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dglbench import options
from dglbench.errors import DglbenchError, SweepError
from dglbench.plugins import find_method, find_setting
from dglbench.predictors.choice import find_predictor, predictor_text
from dglbench.sweep.request.request import Request
from dglbench.task import Task

__all__ = ["owner_hint", "with_known_names"]


def with_known_names(request: Request) -> Request:
    """Return the request with methods and settings named as registered: ``DGL-5`` is ``dgl-5``.

    A method or task that does not exist is refused here. What a table belongs to is
    left as written if it names nothing: its reader knows what may stand there.
    """
    return dataclasses.replace(
        request,
        methods=None if request.methods is None else tuple(map(_method, request.methods)),
        tasks=None if request.tasks is None else tuple(map(_setting, request.tasks)),
        predictor=_predictors(request.predictor),
        set=_owners(request.set, _setting),
        option=_owners(request.option, _method),
        setting=tuple(
            {
                **entry,
                **({} if "data" in entry else {"task": _setting(entry["task"])}),
                **({"predictor": _predictors(entry["predictor"])} if "predictor" in entry else {}),
                "option": _owners(entry.get("option", {}), _method),
                **{key: _owners(entry[key], _method) for key in ("space", "tuned") if key in entry},
            }
            for entry in request.setting
        ),
    )


def owner_hint(task: Task, given: Mapping[str, Any], settings: Iterable[str]) -> str:
    """Say which of the sweep's tasks has the setting that ``task`` lacks, if one does."""
    unknown = next((key for key in given if key not in _settings_of(task)), None)
    if unknown is None:
        return ""
    others = {find_setting(name)[0].name: find_setting(name)[0] for name in settings}
    owners = [name for name, other in others.items() if unknown in _settings_of(other)]
    if not owners:
        return ""
    return f" To set it for {owners[0]} alone, write --set {owners[0]}.{unknown}={given[unknown]}."


def _settings_of(task: Task) -> set[str]:
    return {info.name for info in options.describe(task.Settings)}


def _method(name: str) -> str:
    return find_method(name).name


def _predictors(texts: Iterable[str] | str | None) -> tuple[str, ...] | None:
    """Return predictors in canonical text, each once."""
    if texts is None:
        return None
    named = (texts,) if isinstance(texts, str) else texts
    return tuple(dict.fromkeys(predictor_text(find_predictor(text)) for text in named))


def _setting(name: str) -> str:
    task, size = find_setting(name)
    return f"{task.name}-{size['n']}" if size else task.name


def _owners(table: Mapping[str, Any], known: Callable[[str], str]) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for owner, value in table.items():
        try:
            name = known(owner)
        except DglbenchError:
            name = owner  # a setting or option for all, or nothing that is known here
        else:
            if not isinstance(value, Mapping):
                raise SweepError(
                    f"{owner} names a task or method, so what it is given must be a table of names "
                    f"and values, got {value!r}; write for example {owner} = {{ name = 1 }}."
                )
        renamed[name] = value
    return renamed
