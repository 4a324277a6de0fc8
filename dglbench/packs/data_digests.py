"""The content of every dataset that packed runs were trained on, as a digest."""

from __future__ import annotations

from collections.abc import Iterable

from dglbench.data.checks import make_dataset
from dglbench.data.dataset_file import dataset_digest
from dglbench.errors import DglbenchError
from dglbench.packs.layout import DataDigest, data_key
from dglbench.plugins import find_task
from dglbench.runs.record import Identity, digest

__all__ = ["digest_data"]


def digest_data(identities: Iterable[Identity]) -> tuple[DataDigest, ...]:
    """Make every dataset once and hash it; data that runs name by their content have it already."""
    found: dict[str, DataDigest] = {}
    failed: dict[str, str] = {}  # what fails for one seed is not tried for the others
    for identity in identities:
        key = data_key(identity)
        if key not in found:
            found[key] = _digest(identity, failed)
    return tuple(found.values())


def _digest(identity: Identity, failed: dict[str, str]) -> DataDigest:
    content, setting = identity.data_digest, digest([identity.task, identity.settings])
    problem = failed.get(setting)
    if content is None and problem is None:
        try:
            task = find_task(identity.task)
            settings = task.parse_settings(identity.settings)
            content = dataset_digest(make_dataset(task, settings, identity.seed))
        except DglbenchError as error:
            problem = failed[setting] = str(error)
    return DataDigest(
        identity.task, identity.settings, identity.seed, content, identity.data_digest, problem
    )
