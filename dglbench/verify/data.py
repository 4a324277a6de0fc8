"""Whether the runs were made on the data they name: all of them made again, digests compared."""

from __future__ import annotations

from dglbench.data.dataset_file import dataset_digest
from dglbench.data.loading import load_dataset
from dglbench.errors import DglbenchError
from dglbench.packs.layout import DataDigest, data_key
from dglbench.plugins import find_task
from dglbench.runs.record import digest
from dglbench.task import Dataset, TaskSpec
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_data"]


def check_data(subject: Subject) -> tuple[Verdict, dict[str, Dataset]]:
    """Make every dataset again; those that could be made, by `data_key`."""
    problems: list[str] = []
    made: dict[str, Dataset] = {}
    known = {data_key(data): data for data in subject.pack.manifest.data}
    for name, record in subject.records.items():
        if data_key(record.identity) not in known:
            problems.append(f"{name}: the manifest does not name its data")
    failed: dict[str, str] = {}  # what fails for one seed is not tried for the others
    for key, data in known.items():
        setting = digest([data.task, data.settings])
        where = f"{data.task}, seed {data.seed}"
        try:
            if setting in failed:
                problems.append(f"the data of {where} cannot be made, for the same reason")
                continue
            dataset = _made(data)
            content = data.identified_by or dataset_digest(dataset)
        except DglbenchError as error:
            problems.append(f"the data of {where} cannot be made: {error}")
            failed[setting] = str(error)
            continue
        made[key] = dataset
        if data.digest is None:
            problems.append(f"the data of {where} have no digest in the pack: {data.problem}")
        elif content != data.digest:
            problems.append(
                f"the data of {where} are not those of the runs: their digest is {content[:12]}, "
                f"the pack says {data.digest[:12]} (a generator that changed, or a processor with "
                "other last bits)"
            )
    good = f"{len(made)} datasets were made again, to the last bit"
    return judged("data", good, problems), made


def _made(data: DataDigest) -> Dataset:
    """Make the data; those that are identified by their content are refused if it differs."""
    settings = find_task(data.task).parse_settings(data.settings)
    return load_dataset(TaskSpec(data.task, settings, data.seed), data.identified_by)
